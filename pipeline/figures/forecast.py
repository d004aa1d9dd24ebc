"""Forecasts of waiting times from the log, and how often they came true.

Pure.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Count, F, Q
from django.db.models.functions import Now

from jobs.models import Job, JobStatus
from pipeline.database import instants
from pipeline.domain.states import EventType, Status
from pipeline.models import Application, Event, ForecastStatement, JobForecast
from pipeline.selectors.applications import find_position
from tasks.registry import task_type
from tasks.scheduling import schedules


class Wait(NamedTuple):
    """A wait of some seconds. It ended with an offer, or was still running when last seen."""

    seconds: int
    is_over: bool


def survival_quantiles(waits: Collection[Wait], shares: Collection[float]) -> list[int | None]:
    """Return the seconds within which each share of people is offered a seat.

    A wait that was cut off (the person left, or is still waiting) counts for as long as it was
    seen, so it makes the others' shares larger, never smaller. Without it, the average would cover
    only those who got a seat. A share that the curve does not reach is None.
    """
    offered = Counter(wait.seconds for wait in waits if wait.is_over)
    ended = Counter(wait.seconds for wait in waits)
    at_risk, surviving = len(waits), 1.0
    curve: list[tuple[int, float]] = []
    for seconds in sorted(ended):
        if offered[seconds]:
            surviving *= 1 - offered[seconds] / at_risk
            curve.append((seconds, 1 - surviving))
        at_risk -= ended[seconds]
    reached = (
        next((seconds for seconds, share in curve if share >= wanted - 1e-9), None)
        for wanted in shares
    )
    return list(reached)


# Waits of the people who stood at a position of a line in the past, from its log. Pure.


# The number of past moments at which it looks at who stood at a position.
MOMENTS = 400
# A forecast needs at least this many different people who stood there and were then offered a
# seat.
FEWEST_OFFERS = 20
# The positions for which a forecast is made. One in between is interpolated.
POSITIONS = (*range(1, 21), *range(25, 100, 5), *range(100, 501, 25))
SHARES = (0.5, 0.8)


class WaitEvent(NamedTuple):
    """Event of one application, as far as its wait is concerned. `at` is in seconds."""

    at: float
    application_id: UUID
    # The place in the order while they wait and are verified; None otherwise.
    place: tuple[int, int] | None
    is_offer: bool
    # They asked for a later turn: from here on, they wait by choice.
    is_deferral: bool = False


class Forecast(NamedTuple):
    """Seconds within which half, and four fifths, of the people at a position are offered a seat.

    `offers` is the evidence: how many different people at that position were.
    """

    half: int
    most: int
    offers: int


@dataclass(slots=True)
class _Waitlist:
    order: list[tuple[tuple[int, int], UUID]] = field(default_factory=list)
    places: dict[UUID, tuple[int, int]] = field(default_factory=dict)

    def move_person(self, event: WaitEvent) -> None:
        old = self.places.pop(event.application_id, None)
        if old is not None:
            del self.order[bisect_left(self.order, (old, event.application_id))]
        if event.place is not None:
            self.places[event.application_id] = event.place
            insort(self.order, (event.place, event.application_id))


def estimate_waits(
    events: Sequence[WaitEvent], *, start: float, now: float, positions: Iterable[int] = POSITIONS
) -> dict[int, Forecast]:
    """Return the forecast for each position for which there is enough evidence.

    At evenly spread moments since `start`, it looks at who stood at the position, and how long
    they then waited for an offer. Of people who left, deferred or are still waiting, only part of
    the wait was seen.
    """
    # When each application stopped waiting, in order, and whether it was for an offer.
    ends: dict[UUID, list[tuple[float, bool]]] = {}
    for event in events:
        if event.place is None or event.is_deferral:
            ends.setdefault(event.application_id, []).append((event.at, event.is_offer))
    found = {}
    for position, moments in _waiting_people(events, start, now, list(positions)).items():
        waits, offered = [], set()
        for at, application_id in moments:
            later = (each for each in ends.get(application_id, ()) if each[0] > at)
            end, is_offer = next(later, (now, False))
            waits.append(Wait(round(end - at), is_offer))
            if is_offer:
                offered.add(application_id)
        half, most = survival_quantiles(waits, SHARES)
        if half is not None and most is not None and len(offered) >= FEWEST_OFFERS:
            found[position] = Forecast(half, most, len(offered))
    return found


def interpolate_wait(known: Mapping[int, Forecast], position: int) -> Forecast | None:
    """Return the forecast for a position, interpolated between the nearest two of POSITIONS."""
    if position in known:
        return known[position]
    below = max((each for each in POSITIONS if each < position), default=None)
    above = min((each for each in POSITIONS if each > position), default=None)
    if below is None or above is None or below not in known or above not in known:
        return None
    part = (position - below) / (above - below)
    low, high = known[below], known[above]
    return Forecast(
        round(low.half + part * (high.half - low.half)),
        round(low.most + part * (high.most - low.most)),
        min(low.offers, high.offers),
    )


def find_least_wait(known: Mapping[int, Forecast], position: int) -> int | None:
    """Return the seconds in which half of the people at the last known place before are offered.

    Whoever stands at a position further back probably waits longer.
    """
    nearest = max((each for each in known if each < position), default=None)
    return None if nearest is None else known[nearest].half


def _waiting_people(
    events: Sequence[WaitEvent], start: float, now: float, positions: list[int]
) -> dict[int, list[tuple[float, UUID]]]:
    seen: dict[int, list[tuple[float, UUID]]] = {position: [] for position in positions}
    line, taken = _Waitlist(), 0
    for number in range(MOMENTS):
        moment = start + (now - start) * (number + 0.5) / MOMENTS
        while taken < len(events) and events[taken].at <= moment:
            line.move_person(events[taken])
            taken += 1
        for position in positions:
            if position <= len(line.order):
                seen[position].append((moment, line.order[position - 1][1]))
    return seen


# Forecasts of the jobs' lines as stored by the scheduler, and how often they came true.


# The history on which a forecast is based.
LONGEST_HISTORY = timedelta(days=180)
MOST_EVENTS = 50_000
# How many lines one run of the scheduler covers; those that waited longest come first.
JOBS_AT_ONCE = 200
# How many waiting people of a line get a statement on one day.
STATEMENTS_A_DAY = 20
# How many of a job's last statements the share of true ones is based on, and the fewest.
COUNTED, FEWEST_COUNTED = 200, 20
KEPT = timedelta(days=365)
# An older forecast is not shown: the line may have changed by now.
OLDEST_SHOWN = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Prospect:
    """Forecast of one person's wait, and how often such forecasts of the job came true.

    `share` is a percentage of the last `counted` statements; None if there are too few.
    """

    forecast: Forecast
    counted: int
    share: int | None


class Outlook(NamedTuple):
    """Knowledge of a wait: the prospect, or else seconds that it probably exceeds."""

    prospect: Prospect | None = None
    least_seconds: int | None = None


def read_prospects(positions: Mapping[UUID, int | None]) -> dict[UUID, Prospect]:
    """Return the prospect at a position of each job, in one query; without evidence there is none.

    Only open jobs can have a prospect: the caller leaves out the others. Old forecasts are
    ignored.
    """
    found = {}
    for row in _fresh_rows(positions):
        position = positions[row.job_id]
        prospect = position and _find_prospect(row, position)
        if prospect:
            found[row.job_id] = prospect
    return found


def read_outlook(job_id: UUID, position: int) -> Outlook:
    """Return what is known of the wait at a position of an open job, in one query."""
    for row in _fresh_rows([job_id]):
        prospect = _find_prospect(row, position)
        least = None if prospect else find_least_wait(_known_positions(row), position)
        return Outlook(prospect, least)
    return Outlook()


def _fresh_rows(job_ids: Iterable[UUID]) -> Iterable[JobForecast]:
    """Return the forecasts that can be shown: none where seats are reserved for a group.

    How long someone waits there depends on whether they belong to it, which nobody else may learn.
    """
    fresh = JobForecast.objects.filter(job_id__in=job_ids, made_at__gt=Now() - OLDEST_SHOWN)
    return fresh.filter(job_id__in=Job.objects.filter(reserved_seats=0).values("id"))


def _find_prospect(row: JobForecast, position: int) -> Prospect | None:
    forecast = interpolate_wait(_known_positions(row), position)
    if forecast is None:
        return None
    share = round(100 * row.came_true / row.settled) if row.settled else 0
    return Prospect(forecast, row.settled, share if row.settled >= FEWEST_COUNTED else None)


def update_statements() -> dict[str, int]:
    """Settle the statements whose time has come, make new forecasts, and store new statements.

    The lines whose forecast is the oldest come first. Returns the numbers. Safe to run twice.
    """
    now = instants.now()
    settled = settle_statements()
    ForecastStatement.objects.filter(made_at__lt=now - KEPT).delete()
    stated = 0
    open_jobs = Job.objects.filter(status=JobStatus.OPEN, waitlist_count__gt=0, is_test=False)
    open_jobs = open_jobs.exclude(positions_to_fill=F("hired_count"))
    made = dict(JobForecast.objects.values_list("job_id", "made_at"))
    ids = sorted(
        open_jobs.values_list("id", flat=True),
        key=lambda each: made[each].timestamp() if each in made else 0,
    )
    for job in open_jobs.filter(id__in=ids[:JOBS_AT_ONCE]):
        row = _make_and_store(job, now)
        stated += _store_shown(job, row, now)
    return {"settled": settled, "stated": stated}


# A person who was offered a seat in time, or was not; and statements about people who left before,
# or who asked for a later turn.
_SETTLE = """
WITH ended AS (
    SELECT statement.id, statement.due_at, next.at, next.event
    FROM pipeline_forecaststatement statement
    LEFT JOIN LATERAL (
        SELECT event.at, event.event FROM pipeline_event event
        WHERE event.application_id = statement.application_id AND event.at > statement.made_at
          AND event.from_status = 'WAITLIST'
          AND (event.to_status <> 'WAITLIST' OR event.event IN ('DEFERRED', 'PASS_ASKED'))
        ORDER BY event.seq LIMIT 1
    ) next ON true
    WHERE statement.came_true IS NULL
      AND (next.at IS NOT NULL OR statement.due_at <= clock_timestamp())
), void AS (
    DELETE FROM pipeline_forecaststatement USING ended
    WHERE pipeline_forecaststatement.id = ended.id
      AND ended.event <> 'PROMOTED' AND ended.at <= ended.due_at
)
UPDATE pipeline_forecaststatement SET came_true = coalesce(
    ended.event = 'PROMOTED' AND ended.at <= ended.due_at, false)
FROM ended
WHERE pipeline_forecaststatement.id = ended.id
  AND NOT coalesce(ended.event <> 'PROMOTED' AND ended.at <= ended.due_at, false)
"""


def settle_statements() -> int:
    """Note which open statements came true and which did not, and return the number."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTLE)
        return cursor.rowcount


def _make_and_store(job: Job, now: datetime) -> JobForecast:
    """Make the forecast of a job's line and store it."""
    start = max(now - LONGEST_HISTORY, job.created_at)
    events = _read_wait_events(job.id) if job.seq <= MOST_EVENTS else []
    made = estimate_waits(events, start=start.timestamp(), now=now.timestamp())
    last = ForecastStatement.objects.filter(job_id=job.id, came_true__isnull=False)
    counts = ForecastStatement.objects.filter(
        id__in=last.order_by("-id").values("id")[:COUNTED]
    ).aggregate(settled=Count("id"), true=Count("id", filter=Q(came_true=True)))
    row, _ = JobForecast.objects.update_or_create(
        job_id=job.id,
        defaults={
            "seq": job.seq,
            "made_at": now,
            "positions": {str(position): list(each) for position, each in made.items()},
            "settled": counts["settled"],
            "came_true": counts["true"],
        },
    )
    return row


def _read_wait_events(job_id: UUID) -> list[WaitEvent]:
    """Return the history of a line, in order. A long one is not read and gets no forecast."""
    logged = Event.objects.filter(job_id=job_id, application_id__isnull=False).order_by("seq")
    columns = ("at", "application_id", "event", "to_status", "data")
    events: list[WaitEvent] = []
    for at, application_id, event, to_status, data in logged.values_list(*columns):
        waits = to_status == Status.WAITLIST and "verify_by" not in data
        place = (data["ticket"], data["tie"]) if waits else None
        offered = event == EventType.PROMOTED
        puts_off = event in (EventType.DEFERRED, EventType.PASS_ASKED)
        events.append(WaitEvent(at.timestamp(), application_id, place, offered, puts_off))
    return events


def _store_shown(job: Job, row: JobForecast, now: datetime) -> int:
    """Store the forecasts shown to people who wait, once a day for each; return how many."""
    known = _known_positions(row)
    if not known:
        return 0
    today = ForecastStatement.objects.filter(job_id=job.id, made_at__gt=now - timedelta(days=1))
    room = STATEMENTS_A_DAY - today.count()
    waiting = Application.objects.filter(
        job_id=job.id, status=Status.WAITLIST, verify_by__isnull=True
    ).exclude(id__in=today.values("application_id"))
    # People who put their turn off get no forecast.
    waiting = waiting.exclude(not_before__gt=now).filter(pass_next=False)
    made = []
    for person in waiting.order_by("?")[: max(0, room)]:
        position = find_position(job.id, person.ticket or 0, person.tie or 0)
        forecast = interpolate_wait(known, position)
        if forecast is not None:
            made.append(
                ForecastStatement(
                    job_id=job.id,
                    application_id=person.id,
                    position=position,
                    half_seconds=forecast.half,
                    most_seconds=forecast.most,
                    made_at=now,
                    due_at=now + timedelta(seconds=forecast.most),
                )
            )
    ForecastStatement.objects.bulk_create(made)
    return len(made)


def _known_positions(row: JobForecast) -> dict[int, Forecast]:
    return {int(position): Forecast(*each) for position, each in row.positions.items()}


# Task that keeps the forecasts of waiting people up to date, for the whole site.


KEY = "forecast.update"
EVERY_TEN_MINUTES = "*/10 * * * *"


@task_type(key=KEY, owner="site", queue="upkeep", timeout_seconds=540, max_attempts=3, cap=1)
def refresh() -> dict[str, int]:
    """Make new forecasts, and note which of the earlier ones came true."""
    return update_statements()


def ensure_forecasting() -> None:
    """Create the schedule. Safe to call at every start and from many processes at once."""
    schedules.ensure("Forecasts", EVERY_TEN_MINUTES, KEY)
