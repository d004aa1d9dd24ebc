"""Run of a what-if: start, reads, comparison and task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from statistics import median
from typing import Annotated, Any, TypedDict, Unpack
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from jobs.models import Job
from jobs.policies import policy_limits
from pipeline.database import instants
from pipeline.domain.errors import JobNotFound
from pipeline.domain.states import EventType, Status
from pipeline.figures import idle_seats
from pipeline.figures.idle_seats import MissedOffer
from pipeline.figures.whatif.simulation import (
    Change,
    LoggedEvent,
    Simulation,
    TooLong,
)
from pipeline.line.event_log import LogEntry
from pipeline.line.removed_logs import removal_time
from pipeline.models import Event, LastWhatIf
from pipeline.selectors.jobs import read_job
from pipeline.work.start import TaskRequest, WorkError, start_tasks
from tasks.context import Context
from tasks.errors import Discard, Fatal
from tasks.models import Status as TaskStatus
from tasks.models import Task
from tasks.registry import task_type
from tasks.signature import JsonSchema

KEY = "line.what_if"
# A longer log is not replayed.
MOST_EVENTS = 20_000
MOST_DAYS = 3_650


def read_what_if_log(job_id: UUID) -> list[LoggedEvent]:
    """Return a job's log, oldest first, in one query."""
    rows = Event.objects.filter(job_id=job_id).order_by("seq").values_list(*LoggedEvent._fields)
    return [LoggedEvent(*row) for row in rows]


def read_last_what_if_task(company_id: UUID, job_id: UUID) -> Task | None:
    """Return a job's last what-if that a page has started or that has begun, in one query.

    Returns None if there was none, or if it was so long ago that its task has been removed. A run
    that the API has planned for later is shown once it begins.
    """
    last = LastWhatIf.objects.filter(job_id=job_id).values("task_id")
    found = Task.objects.filter(id__in=last, owner_id=company_id, type__key=KEY)
    return found.select_related("type").first()


# Start of a what-if from a page: one at a time for each job.


MOVING = (TaskStatus.PENDING, TaskStatus.RUNNING, TaskStatus.CANCELLING)


class WhatIfUnderWay(WorkError):
    """A run of this job's past has been started and has not ended."""

    def __init__(self) -> None:
        super().__init__(
            _("A run is under way. Start the next one when it has finished, or cancel it.")
        )


@transaction.atomic
def start_what_if(*, job: Job, rules: dict[str, Any], producer: str) -> None:
    """Start a run of a job's past under other rules, in the background.

    The row of the job's last run is locked, so that only one of two simultaneous clicks starts a
    run. Raises WhatIfUnderWay, and the errors of `start_tasks`.
    """
    LastWhatIf.objects.get_or_create(job_id=job.id)
    last = LastWhatIf.objects.select_for_update(no_key=True).get(job_id=job.id)
    task = read_last_what_if_task(job.company_id, job.id)
    if task is not None and task.status in MOVING:
        raise WhatIfUnderWay
    [made] = start_tasks(
        company_id=job.company_id,
        producer=producer,
        requests=[TaskRequest(KEY, {"job_id": str(job.id)} | rules)],
    )
    last.task_id = made.id
    last.save()


# Comparison of what happened in a line with what would have happened under other rules. Its one
# assumption is `ASSUMPTION`. The order never reads this.


ASSUMPTION = gettext_lazy(
    "People answer or pass as long after an offer as they did, those who missed one would have"
    " missed it with more time too, reviews last as long as they did, and the same people apply."
)
# Windows of the sweep, in seconds.
WINDOWS = (3_600, 14_400, 43_200, 86_400, 172_800, 259_200, 604_800)
# Smaller differences are not counted: offers of the log end when a worker comes, a little late.
NOTABLE = timedelta(minutes=1)
# When people got their first seat, by application.
FirstSeats = dict[UUID, datetime]


class NotReproducible(Exception):
    """The rules do not lead to this log, so other rules cannot be tried on it."""

    def __str__(self) -> str:
        return gettext_noop(
            "This log holds something that cannot be run again, such as an undone import or"
            " reserved seats, so other rules cannot be tried on it."
        )


class Cancelled(Exception):
    """The comparison was cancelled."""


def compare_rules(
    log: Sequence[LoggedEvent],
    change: Change,
    end: datetime,
    *,
    tell: Callable[[int, int], None],
    is_cancelled: Callable[[], bool],
) -> dict[str, Any]:
    """Return the actual outcome, the outcome under changed rules, and one run for each window.

    The runs are simulated. All values are JSON values: times in seconds, None without data.
    Raises NotReproducible, TooLong, Cancelled.
    """
    if any(row.event == EventType.RESERVE_CHANGED for row in log):
        raise NotReproducible  # the log does not say who is of the group
    happened = Simulation(log)
    happened.run(end)
    logged = [_comparable_row(row) for row in log if row.at <= end]
    if [_comparable_row(row) for row in happened.events] != logged:
        raise NotReproducible
    steps = len(WINDOWS) + 2
    tell(1, steps)

    def try_rules(policy: dict[str, Any], done: int) -> tuple[dict[str, Any], FirstSeats]:
        """Run the past again, and return no more of it: a run takes much memory."""
        if is_cancelled():
            raise Cancelled
        tried = Simulation(log, Change(change.since, policy, change.capacity))
        tried.run(end)
        tell(done, steps)
        return _compared_figures(tried, change.since, end), _first_seats(tried.events)

    what_if, first_seats = try_rules(change.policy, 2)
    earlier, later = _compare_first_seats(
        _first_seats(happened.events), first_seats, change.since, end
    )
    windows = []
    for number, seconds in enumerate(WINDOWS, 3):
        rules = change.policy | {"acknowledgment_window_seconds": seconds}
        windows.append({"window_seconds": seconds} | try_rules(rules, number)[0])
    return {
        "start": change.since.isoformat(),
        "end": end.isoformat(),
        "happened": _compared_figures(happened, change.since, end),
        "what_if": what_if,
        "earlier": earlier,
        "later": later,
        "windows": windows,
    }


def _comparable_row(row: LoggedEvent | LogEntry) -> tuple[Any, ...]:
    if row.application_id is None:
        return row.seq, row.at, None, None, None, None
    place = row.data.get("ticket"), row.data.get("tie")
    return row.seq, row.at, row.application_id, row.to_status, *place


def _compared_figures(run: Simulation, start: datetime, end: datetime) -> dict[str, Any]:
    offered_at: dict[UUID, datetime] = {}
    misses = []
    for event in run.events:
        if event.application_id is None:
            continue
        if event.to_status == Status.PENDING_ACKNOWLEDGMENT:
            if event.event != EventType.DEADLINE_EXTENDED:
                offered_at[event.application_id] = event.at
        elif event.event in (EventType.DECAYED, EventType.LAPSED):
            if since := offered_at.pop(event.application_id, None):
                misses.append(MissedOffer(since, event.at))
        elif event.event == EventType.ACKNOWLEDGED:
            offered_at.pop(event.application_id, None)
    (ledger,) = idle_seats.fold(run.states, misses, [start, end])
    applied = {e.application_id: e.at for e in run.events if e.event == EventType.APPLIED}
    first = {who: at for who, at in _first_seats(run.events).items() if start <= at}
    waits = [(at - applied[who]).total_seconds() for who, at in first.items()]
    return {
        "seat_seconds": ledger.seconds(),
        "median_wait_seconds": median(waits) if waits else None,
        "offered": len(first),
        "misses": sum(start <= miss.missed_at for miss in misses),
    }


def _first_seats(events: Sequence[LogEntry]) -> FirstSeats:
    found: FirstSeats = {}
    for event in events:
        if event.application_id and event.to_status and Status(event.to_status).holds_seat:
            found.setdefault(event.application_id, event.at)
    return found


def _compare_first_seats(
    was: FirstSeats, would: FirstSeats, start: datetime, end: datetime
) -> tuple[int, int]:
    """Count the people who would have got a first seat earlier, and later or not at all."""
    never = end + 2 * NOTABLE
    changes = [
        would.get(who, never) - was.get(who, never)
        for who in was.keys() | would.keys()
        if max(was.get(who, never), would.get(who, never)) >= start
    ]
    return sum(each <= -NOTABLE for each in changes), sum(each >= NOTABLE for each in changes)


# Task that replays a job's log under other rules, started by hand.


def _limits(name: str) -> JsonSchema:
    low, high = policy_limits(name)
    return JsonSchema(minimum=low, maximum=high)


class Rules(TypedDict, total=False):
    """Rules that differ from the job's own."""

    acknowledgment_window_seconds: Annotated[int, _limits("acknowledgment_window_seconds")]
    penalty_places: Annotated[int, _limits("penalty_places")]
    max_decays: Annotated[int | None, _limits("max_decays")]
    cooldown_seconds: Annotated[int, _limits("cooldown_seconds")]


@task_type(key=KEY, queue="files", timeout_seconds=600, max_attempts=2, cap=1)
def answer_what_if(
    context: Context,
    owner_id: UUID,
    job_id: UUID,
    days: Annotated[int, JsonSchema(minimum=1, maximum=MOST_DAYS)] | None = None,
    capacity: Annotated[int, JsonSchema(minimum=1, maximum=10_000)] | None = None,
    **rules: Unpack[Rules],
) -> dict[str, Any] | None:
    """Compare the last `days` of a job, by default all, with the outcome under other rules.

    Rules and seats that are not given stay as they were.
    """
    try:
        job = read_job(job_id)
    except JobNotFound as error:
        raise Fatal(str(error)) from None
    if job.company_id != owner_id:
        raise Fatal(str(JobNotFound()))
    if why := _what_if_task_refusal(job):
        raise Discard(why)
    LastWhatIf.objects.update_or_create(job_id=job.id, defaults={"task_id": context.task_id})
    end = max(job.last_event_at, instants.now(ahead_seconds=job.clock_offset_seconds))
    since = job.created_at
    if days:
        since = max(since, end - timedelta(days=days))
    try:
        return compare_rules(
            read_what_if_log(job.id),
            Change(since, dict(rules), capacity),
            end,
            # Translators: what is counted, like "3 of 7, runs."
            tell=partial(context.progress, note=gettext_noop("runs")),
            is_cancelled=lambda: context.cancelled,
        )
    except Cancelled:
        return None
    except (NotReproducible, TooLong) as error:
        raise Discard(str(error)) from None


def _what_if_task_refusal(job: Job) -> str:
    if job.draw_at is not None:
        return gettext_noop(
            "A job whose order is drawn by lot cannot be run again under other rules."
        )
    if removal_time(job):
        return gettext_noop(
            "The log of this job is in the archive. Whoever runs the site can put it back."
        )
    if job.seq > MOST_EVENTS:
        words = _("The log has more than %(count)s events, too many for a what-if.")
        return words % {"count": f"{MOST_EVENTS:,}"}
    return ""
