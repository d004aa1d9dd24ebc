"""Overview of a company's background work: waiting, running and finished tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from pipeline.background.catalog import (
    COMPANY_TYPES,
    catalogued_company_types,
    paused_catalogued_types,
)
from pipeline.background.start import TaskRequest, start_tasks
from pipeline.background.tasks import (
    RecentlyDone,
    count_recently_done_tasks,
    running_tasks,
    tasks_of,
)
from pipeline.domain.permissions import Action
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    member_of_sent_form,
    require_access,
)
from pipeline.pages.background.forms import SleepTaskForm
from pipeline.pages.background.run_charts import run_charts
from pipeline.pages.background.task_actions import actor_of_task_action, attempt_task_action
from pipeline.pages.background.task_rows import (
    LATE,
    fold_equal_task_rows,
    task_row_changes_soon,
    task_rows_of,
)
from pipeline.pages.live_page import live_page
from pipeline.pages.page_urls import page_id_in_url, page_url_with
from pipeline.selectors.page import Page
from pipeline.wording.task_words import TASK_STATUS_WORDS
from tasks.models import Task
from tasks.models.statuses import Status
from tasks.stats.owner import owner_oldest_age_seconds, owner_recent_runs, owner_task_counts
from tasks.stats.site import site_workers_alive

TASKS_SHOWN = 20
RUNNING_SHOWN = 10
FILTERS = ("status", "type", "q")  # parameters of the list
MOST_LETTERS = 256  # of a search, as of an idempotency key
POLL_SECONDS = 2  # tasks announce nothing, so that a page must ask whether one has come
CALM_SECONDS = 60  # while nothing runs or waits, only its relative times change


@dataclass(frozen=True, slots=True)
class OverviewSnapshot:
    """A company's background work at one moment. `running` may hold one task more than shown."""

    counts: dict[str, int]
    oldest_seconds: float | None
    running: list[Task]
    recent: RecentlyDone
    workers: int
    page: Page[Task]
    paused: set[str]

    @property
    def is_moving(self) -> bool:
        """Tell whether something may change at any moment."""
        if self.oldest_seconds is not None and self.oldest_seconds < LATE.total_seconds():
            return True
        return any(
            task_row_changes_soon(task, self.recent.now)
            for task in (*self.running, *self.page.rows)
        )

    @property
    def tag(self) -> str:
        """Return the cache tag; it changes whenever anything on the page changes."""
        step = POLL_SECONDS if self.is_moving else CALM_SECONDS
        now = int(self.recent.now.timestamp()) // step
        rows = [
            (task.id, task.status, task.attempt, task.run_after, task.progress, len(task.errors))
            for task in (*self.running, *self.page.rows)
        ]
        paused = sorted(self.paused)
        return f"{paused}{self.counts}{self.recent[:2]}{self.workers}{rows}{self.page.more}{now}"


@require_http_methods(["GET", "POST"])
@for_members()
def overview(request: HttpRequest) -> HttpResponse:
    """List the company's tasks; start a test task on POST."""
    if request.method == "POST":
        return _start_from_overview(request)
    member = require_access(current_member(request), Action.READ_COMPANY)
    return _overview_page(request, member, SleepTaskForm(initial={"seconds": 20}))


def _start_from_overview(request: HttpRequest) -> HttpResponse:
    member = require_access(member_of_sent_form(request), Action.MANAGE_TASKS)
    form = SleepTaskForm(request.POST)

    def start_overview_task() -> object:
        return start_tasks(
            company_id=member.company.id,
            producer=actor_of_task_action(member),
            requests=[TaskRequest("demo.sleep", form.payload())],
        )

    if not form.is_valid() or not attempt_task_action(form, start_overview_task):
        return _overview_page(request, member, form, status=422)
    if "demo.sleep" in paused_catalogued_types(member.company.id):
        waits = "Test task created. It waits because its type is paused under Types."
        messages.warning(request, waits)
    else:
        started = "Test task created. It starts as soon as a worker is free."
        messages.success(request, started)
    return redirect("work")


def _overview_page(
    request: HttpRequest, member: Member, form: SleepTaskForm, *, status: int = 200
) -> HttpResponse:
    company_id = member.company.id
    chosen = filter_of_tasks(request.GET)
    snapshot = OverviewSnapshot(
        counts={str(each): count for each, count in owner_task_counts(company_id).items()},
        oldest_seconds=max(owner_oldest_age_seconds(company_id).values(), default=None),
        running=running_tasks(company_id, limit=RUNNING_SHOWN + 1),
        recent=count_recently_done_tasks(company_id),
        workers=site_workers_alive(),
        paused=paused_catalogued_types(company_id),
        page=tasks_of(
            company_id,
            **chosen,
            after=page_id_in_url(request, "after"),
            limit=TASKS_SHOWN,
        ),
    )
    response = live_page(
        request,
        "background/overview.html",
        "background/_overview.html",
        build=lambda: _overview_context(request, member, snapshot) | {"form": form},
        tag=snapshot.tag,
    )
    if status != 200:
        response.status_code = status
    return response


class TaskFilter(TypedDict):
    """Filter of a list of tasks."""

    status: str | None
    type_key: str | None
    search: str


def filter_of_tasks(given: QueryDict) -> TaskFilter:
    """Return the filter in a URL or a form, each part empty unless valid."""
    status, key = given.get("status"), given.get("type")
    return {
        "status": status if status in Status.values else None,
        "type_key": key if key in COMPANY_TYPES else None,
        "search": given.get("q", "").replace("\0", "").strip()[:MOST_LETTERS],
    }


def _overview_context(
    request: HttpRequest, member: Member, snapshot: OverviewSnapshot
) -> dict[str, Any]:
    shown = snapshot.running[:RUNNING_SHOWN]
    tasks = [*shown, *snapshot.page.rows]
    rows = task_rows_of(member.company.id, tasks, snapshot.recent.now, paused=snapshot.paused)
    last = snapshot.page.rows[-1] if snapshot.page.more else None
    chosen = filter_of_tasks(request.GET)
    return {
        "member": member,
        "tab": "work",
        "waiting": snapshot.counts.get(Status.PENDING, 0),
        "running_count": sum(snapshot.counts.get(each, 0) for each in ("RUNNING", "CANCELLING")),
        "dead": snapshot.counts.get(Status.DEAD, 0),
        "snapshot": snapshot,
        "now": snapshot.recent.now,
        "poll_seconds": POLL_SECONDS,
        "charts": run_charts(owner_recent_runs(member.company.id)),
        "running": rows[: len(shown)],
        "more_run": len(snapshot.running) > len(shown),
        "rows": fold_equal_task_rows(rows[len(shown) :]),
        "status": chosen["status"] or "",
        "search": chosen["search"],
        "statuses": [(each, words.label) for each, words in TASK_STATUS_WORDS.items()],
        "type": chosen["type_key"] or "",
        "types": catalogued_company_types(),
        "demo_is_on": settings.DEMO_TASKS,
        "filtered": any(chosen.values()),
        "cancel_query": urlencode({n: v for n, v in request.GET.items() if n in FILTERS}),
        "next_url": page_url_with(request, after=last.id) if snapshot.page.more and last else "",
        "first_url": page_url_with(request, after=None) if "after" in request.GET else "",
    }
