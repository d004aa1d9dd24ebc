"""A company's background work at a glance: what waits, what runs, and what came of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from pipeline.background.catalog import COMPANY_TYPES, company_types
from pipeline.background.page_data import Lately, done_lately, paused_for, running_tasks
from pipeline.background.start import TaskRequest, start
from pipeline.background.tasks import tasks_of
from pipeline.domain.permissions import Action
from pipeline.pages.access import Member, current_member, for_members, member_who_sent, require
from pipeline.pages.background import requests
from pipeline.pages.background.forms import SleepForm
from pipeline.pages.background.task_rows import LATE, moves_soon, rows_of
from pipeline.pages.live_page import live_page
from pipeline.pages.paging import id_in, url_with
from pipeline.selectors.paging import Page
from pipeline.wording.task_words import TASK_STATUS_WORDS
from tasks.models import Task
from tasks.models.statuses import Status
from tasks.stats import site

TASKS_SHOWN = 20
RUNNING_SHOWN = 10
FAST_SECONDS, SLOW_SECONDS = 2, 30
"""How often the page asks for news: while something runs or waits, and otherwise."""


@dataclass(frozen=True, slots=True)
class Glance:
    """How a company's background work is at one moment. `running` has one task more than shown."""

    counts: dict[str, int]
    oldest_seconds: float | None
    running: list[Task]
    lately: Lately
    workers: int
    page: Page[Task]
    paused: set[str]

    @property
    def is_moving(self) -> bool:
        """Whether something may change at any moment."""
        if self.oldest_seconds is not None and self.oldest_seconds < LATE.total_seconds():
            return True
        return any(moves_soon(task, self.lately.now) for task in (*self.running, *self.page.rows))

    @property
    def tag(self) -> str:
        """What is shown, in short: another one whenever something of it is another."""
        step = FAST_SECONDS if self.is_moving else SLOW_SECONDS * 2
        now = int(self.lately.now.timestamp()) // step
        rows = [_state(task) for task in (*self.running, *self.page.rows)]
        paused = sorted(self.paused)
        return f"{paused}{self.counts}{self.lately[:2]}{self.workers}{rows}{self.page.more}{now}"


def _state(task: Task) -> tuple[object, ...]:
    return task.id, task.status, task.attempt, task.run_after, task.progress, len(task.errors)


@require_http_methods(["GET", "POST"])
@for_members()
def work(request: HttpRequest) -> HttpResponse:
    """The company's tasks; and a form that starts one which only sleeps, to see how it goes."""
    if request.method == "POST":
        return _start_sleeping(request)
    member = require(current_member(request), Action.READ_COMPANY)
    return _show(request, member, SleepForm(initial={"seconds": 20}))


def _start_sleeping(request: HttpRequest) -> HttpResponse:
    member = require(member_who_sent(request), Action.MANAGE_TASKS)
    form = SleepForm(request.POST)
    if form.is_valid() and requests.attempt(form, lambda: _start(member, form)):
        _tell_started(request, member)
        return redirect("work")
    return _show(request, member, form, status=422)


def _tell_started(request: HttpRequest, member: Member) -> None:
    if "demo.sleep" in paused_for(member.company.id):
        told = "A task that sleeps was ordered. It waits: this kind of work is paused under Types."
        messages.warning(request, told)
        return
    told = "A task that sleeps was started: it runs as soon as a worker is free. Watch it here."
    messages.success(request, told)


def _start(member: Member, form: SleepForm) -> object:
    order = TaskRequest("demo.sleep", form.payload())
    producer = requests.actor_of(member)
    return start(company_id=member.company.id, producer=producer, requests=[order])


def _show(
    request: HttpRequest, member: Member, form: SleepForm, *, status: int = 200
) -> HttpResponse:
    glance = _glance(request, member.company.id)
    response = live_page(
        request,
        "background/overview.html",
        "background/_overview.html",
        build=lambda: _context(request, member, glance) | {"form": form},
        tag=glance.tag,
    )
    if status != 200:
        response.status_code = status
    return response


def _glance(request: HttpRequest, company_id: UUID) -> Glance:
    ages = site.own_oldest_age_seconds(company_id)
    return Glance(
        counts={str(status): count for status, count in site.own_counts(company_id).items()},
        oldest_seconds=max(ages.values(), default=None),
        running=running_tasks(company_id, limit=RUNNING_SHOWN + 1),
        lately=done_lately(company_id),
        workers=site.workers_alive(),
        paused=paused_for(company_id),
        page=tasks_of(
            company_id,
            status=_status(request),
            type_key=_type(request),
            after=id_in(request, "after"),
            limit=TASKS_SHOWN,
        ),
    )


def _status(request: HttpRequest) -> str | None:
    status = request.GET.get("status", "")
    return status if status in Status.values else None


def _type(request: HttpRequest) -> str | None:
    key = request.GET.get("type", "")
    return key if key in COMPANY_TYPES else None


def _context(request: HttpRequest, member: Member, glance: Glance) -> dict[str, Any]:
    shown = glance.running[:RUNNING_SHOWN]
    tasks = [*shown, *glance.page.rows]
    rows = rows_of(member.company.id, tasks, glance.lately.now, paused=glance.paused)
    last = glance.page.rows[-1] if glance.page.rows else None
    return {
        "member": member,
        "tab": "work",
        "waiting": glance.counts.get(Status.PENDING, 0),
        "running_count": sum(glance.counts.get(each, 0) for each in ("RUNNING", "CANCELLING")),
        "dead": glance.counts.get(Status.DEAD, 0),
        "glance": glance,
        "now": glance.lately.now,
        "poll_seconds": FAST_SECONDS if glance.is_moving else SLOW_SECONDS,
        "running": rows[: len(shown)],
        "more_run": len(glance.running) > len(shown),
        "rows": rows[len(shown) :],
        "status": _status(request) or "",
        "statuses": [(status, words.label) for status, words in TASK_STATUS_WORDS.items()],
        "type": _type(request) or "",
        "types": company_types(),
        "filtered": bool(_status(request) or _type(request)),
        "next_url": url_with(request, after=last.id) if glance.page.more and last else "",
        "first_url": url_with(request, after=None) if "after" in request.GET else "",
    }
