"""Overview of a company's background work: waiting, running and finished tasks, by a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy
from django.views.decorators.http import require_http_methods

from pipeline.domain.permissions import Action
from pipeline.pages import page_urls
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.charts import Chart, ChartTick, build_bars, count_ticks
from pipeline.pages.forms import PlainForm
from pipeline.pages.live_page import live_page
from pipeline.pages.work.actions import attempt_task, member_actor
from pipeline.pages.work.descriptions import (
    ENDINGS,
    LATE,
    build_task_rows,
    fold_equal_task_rows,
    task_row_changes_soon,
)
from pipeline.selectors.pages import Page
from pipeline.wording.english import short_duration
from pipeline.wording.language import number as in_digits
from pipeline.wording.task_words import TASK_STATUS_WORDS
from pipeline.work.catalog import COMPANY_TYPES, catalogued_company_types, paused_catalogued_types
from pipeline.work.start import TaskRequest, start_tasks
from pipeline.work.tasks import (
    MOST_CANCELLED,
    RecentlyDone,
    count_recently_done_tasks,
    find_cancellable,
    read_running_tasks,
    read_task_page,
)
from tasks import control, stats
from tasks.models import Status, Task
from tasks.stats import RecentRuns, owner_oldest_age_seconds, owner_recent_runs, site_workers_alive

LONGEST_SLEEP = 300


class SleepTaskForm(PlainForm):
    """Form for a test task that sleeps."""

    seconds = forms.IntegerField(
        label=gettext_lazy("Seconds to sleep"), min_value=0, max_value=LONGEST_SLEEP, initial=20
    )
    then = forms.ChoiceField(
        label=pgettext_lazy("label", "Then"), choices=list(ENDINGS.items()), initial="done"
    )

    def payload(self) -> dict[str, Any]:
        """Return the task's payload. The form must be valid."""
        seconds, then = self.cleaned_data["seconds"], self.cleaned_data["then"]
        return {"seconds": seconds} if then == "done" else {"seconds": seconds, "then": then}


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
def show(request: HttpRequest) -> HttpResponse:
    """List the company's tasks; start a test task on POST."""
    if request.method == "POST":
        return _start_new(request)
    member = require_permission(current_member(request), Action.READ_COMPANY)
    return _overview_page(request, member, SleepTaskForm(initial={"seconds": 20}))


def _start_new(request: HttpRequest) -> HttpResponse:
    member = require_permission(form_member(request), Action.MANAGE_TASKS)
    form = SleepTaskForm(request.POST)

    def start_overview_task() -> object:
        return start_tasks(
            company_id=member.company.id,
            producer=member_actor(member),
            requests=[TaskRequest("demo.sleep", form.payload())],
        )

    if not form.is_valid() or not attempt_task(form, start_overview_task):
        return _overview_page(request, member, form, status=422)
    if "demo.sleep" in paused_catalogued_types(member.company.id):
        waits = _("Test task created. It waits because its type is paused under Types.")
        messages.warning(request, waits)
    else:
        started = _("Test task created. It starts as soon as a worker is free.")
        messages.success(request, started)
    return redirect("work")


def _overview_page(
    request: HttpRequest, member: Member, form: SleepTaskForm, *, status: int = 200
) -> HttpResponse:
    company_id = member.company.id
    chosen = parse_filter(request.GET)
    snapshot = OverviewSnapshot(
        counts={str(each): count for each, count in stats.owner_counts(company_id).items()},
        oldest_seconds=max(owner_oldest_age_seconds(company_id).values(), default=None),
        running=read_running_tasks(company_id, limit=RUNNING_SHOWN + 1),
        recent=count_recently_done_tasks(company_id),
        workers=site_workers_alive(),
        paused=paused_catalogued_types(company_id),
        page=read_task_page(
            company_id,
            **chosen,
            after=page_urls.read_id(request, "after"),
            limit=TASKS_SHOWN,
        ),
    )
    response = live_page(
        request,
        "work/overview.html",
        "work/_overview.html",
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


def parse_filter(given: QueryDict) -> TaskFilter:
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
    rows = build_task_rows(member.company.id, tasks, snapshot.recent.now, paused=snapshot.paused)
    last = snapshot.page.rows[-1] if snapshot.page.more else None
    chosen = parse_filter(request.GET)
    return {
        "member": member,
        "tab": "work",
        "waiting": snapshot.counts.get(Status.PENDING, 0),
        "running_count": sum(snapshot.counts.get(each, 0) for each in ("RUNNING", "CANCELLING")),
        "dead": snapshot.counts.get(Status.DEAD, 0),
        "snapshot": snapshot,
        "now": snapshot.recent.now,
        "poll_seconds": POLL_SECONDS,
        "charts": draw_run_charts(owner_recent_runs(member.company.id)),
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
        "next_url": page_urls.change_query(request, after=last.id)
        if snapshot.page.more and last
        else "",
        "first_url": page_urls.change_query(request, after=None) if "after" in request.GET else "",
    }


# Charts of a company's tasks of the last hour: throughput, failures and waiting time.


class RunChart(NamedTuple):
    """Chart with the rows of the table behind it."""

    chart: Chart
    column: str
    rows: list[tuple[str, str]]


def draw_run_charts(runs: Sequence[RecentRuns]) -> list[RunChart]:
    """Return the three charts, or none if nothing has ended within the hour."""
    if not any(each.succeeded or each.failed for each in runs):
        return []
    waits = [round(each.waited or 0) for each in runs]
    done, failed = [each.succeeded for each in runs], [each.failed for each in runs]
    return [
        _draw_runs(runs, "throughput", _("Tasks done"), done, _in_last_hour(sum(done))),
        _draw_runs(runs, "failures", _("Failed tasks"), failed, _in_last_hour(sum(failed))),
        _draw_runs(
            runs,
            "latency",
            _("Wait before the start, in seconds"),
            waits,
            _("Medians; the longest is %(duration)s.") % {"duration": short_duration(max(waits))},
        ),
    ]


def _in_last_hour(number: int) -> str:
    words = ngettext("%(count)s in the last hour.", "%(count)s in the last hour.", number)
    return words % {"count": in_digits(number)}


def _bar_label(ident: str, time: str, number: int) -> str:
    given = {"time": time, "count": in_digits(number)}
    if ident == "latency":
        # Translators: a time of day, and a number of seconds.
        return _("%(time)s: %(count)s s") % given
    return ngettext("%(time)s: %(count)s task", "%(time)s: %(count)s tasks", number) % given


def _draw_runs(
    runs: Sequence[RecentRuns], ident: str, title: str, numbers: list[int], says: str
) -> RunChart:
    top, y = count_ticks(max(numbers))
    times = [f"{timezone.localtime(each.start):%H:%M}" for each in runs]
    labels = [_bar_label(ident, *each) for each in zip(times, numbers, strict=True)]
    kind = "miss" if ident == "failures" else ""
    chart = Chart(
        ident=f"runs-{ident}",
        title=title,
        description=says,
        x_title=pgettext("axis", "Time"),
        y_title=pgettext("axis", "Seconds") if ident == "latency" else pgettext("axis", "Tasks"),
        x=[ChartTick(n / len(runs), time) for n, time in enumerate(times) if n % 4 == 0],
        y=y,
        bars=build_bars(numbers, labels, top, kind=kind),
    )
    return RunChart(chart, title, [(t, in_digits(n)) for t, n in zip(times, numbers, strict=True)])


# Cancelling all of a company's tasks that match the filter.


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_TASKS)
def cancel_matching(request: HttpRequest) -> HttpResponse:
    """Ask before cancelling the waiting and running tasks that match; on POST, cancel them.

    Tasks that were created after the question are left alone.
    """
    member = require_permission(form_member(request), Action.MANAGE_TASKS)
    company_id = member.company.id
    if request.method == "POST":
        try:
            newest = UUID(request.POST.get("newest", ""))
        except ValueError:
            raise Http404 from None
        ids = find_cancellable(company_id, **parse_filter(request.POST), newest=newest)
        cancelled = _cancel_batches(ids, member)
        done = ngettext("%(count)d task cancelled.", "%(count)d tasks cancelled.", cancelled)
        messages.success(request, done % {"count": cancelled})
        return redirect("work")
    ids = find_cancellable(company_id, **parse_filter(request.GET), newest=None)
    context = {
        "member": member,
        "count": len(ids),
        "has_more": len(ids) == MOST_CANCELLED,
        "newest": ids[0] if ids else "",
        "query": request.GET.urlencode(),
        "filters": [(name, request.GET[name]) for name in FILTERS if request.GET.get(name)],
    }
    return render(request, "work/cancel_matching.html", context)


def _cancel_batches(ids: list[UUID], member: Member) -> int:
    """Cancel tasks, each batch in a transaction, and return how many were still to be cancelled."""
    actor, size = member_actor(member), control.MOST_AT_ONCE
    return sum(
        control.cancel_many(ids[n : n + size], actor=actor, owner_id=member.company.id)
        for n in range(0, len(ids), size)
    )
