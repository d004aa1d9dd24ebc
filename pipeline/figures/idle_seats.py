"""Ledger of idle seats: seat time lost by cause, week by week, from the logs of jobs.

Times are those at which events were recorded. The losses are free seats, and missed offers from
the offer to the miss. Everything else is in use, so use and losses add up to seats times time.
Only the time in which a job is open or paused counts. While a job drains, and once every position
is filled, its seats are those held.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import F, Max, Sum

from jobs.models import Job, JobStatus
from pipeline.database import instants
from pipeline.database.replica import reads_replica
from pipeline.figures.series import DAYS, Week
from pipeline.line import removed_logs
from pipeline.selectors import past

# How many events are read at most, of one job or of all jobs of a company together.
MOST_EVENTS = 50_000
# A company's ledger adds up the jobs that changed last.
MOST_JOBS = 50
MOST_WEEKS = 26
USUAL_WEEKS = 8


class SeatState(NamedTuple):
    """State of a job's seats after an event. `waiting` counts verified people only.

    `reserved`: free seats that only people of a group can take; none of them waits.
    """

    at: datetime
    status: str
    capacity: int
    active: int
    pending: int
    waiting: int
    reserved: int = 0


class MissedOffer(NamedTuple):
    """Offer that nobody confirmed, from its event to that of the miss."""

    offered_at: datetime
    missed_at: datetime


_NONE = timedelta(0)


@dataclass(frozen=True, slots=True)
class IdleSeatLedger:
    """Seat time of a span: in use, and lost by cause. Exact to the microsecond."""

    used: timedelta = _NONE
    # Offered to people who did not answer.
    missed: timedelta = _NONE
    # Free while the job was open and everyone verified on the waitlist was in a cool-down or had
    # asked for no seat yet.
    cooldown: timedelta = _NONE
    # Free while the job was open and no verified person waited, or none of the group that the seat
    # is reserved for.
    nobody: timedelta = _NONE
    # Free while the job was paused.
    paused: timedelta = _NONE

    @property
    def lost(self) -> timedelta:
        """Return the seat time lost to all causes."""
        return self.missed + self.cooldown + self.nobody + self.paused

    @property
    def seats(self) -> timedelta:
        """Return the seats times the time: use and losses."""
        return self.used + self.lost

    def seconds(self) -> dict[str, float]:
        """Return the parts by name, in seconds times seats."""
        return {each.name: getattr(self, each.name).total_seconds() for each in fields(self)}

    def __add__(self, other: IdleSeatLedger) -> IdleSeatLedger:
        names = [each.name for each in fields(self)]
        return IdleSeatLedger(
            **{name: getattr(self, name) + getattr(other, name) for name in names}
        )


def fold(
    states: Sequence[SeatState], misses: Iterable[MissedOffer], edges: Sequence[datetime]
) -> list[IdleSeatLedger]:
    """Return the ledger of each span between two neighbouring edges. Pure.

    `states` are in the order of the log; each holds until the next. The last holds until the last
    edge. `misses` may begin before the first state and end after the last edge.
    """
    turns = sorted(turn for miss in misses for turn in ((miss.offered_at, 1), (miss.missed_at, -1)))
    first, last = edges[0], edges[-1]
    moments = sorted([*edges, *(state.at for state in states), *(at for at, _ in turns)])
    sums = [[_NONE] * len(fields(IdleSeatLedger)) for _ in edges[1:]]
    state, missing = None, 0
    next_state = next_turn = bucket = 0
    for start, end in pairwise(moments):
        if start == end:
            continue
        while next_state < len(states) and states[next_state].at <= start:
            state = states[next_state]
            next_state += 1
        while next_turn < len(turns) and turns[next_turn][0] <= start:
            missing += turns[next_turn][1]
            next_turn += 1
        if state is None or start < first or end > last:
            continue
        while edges[bucket + 1] <= start:
            bucket += 1
        _add_span(sums[bucket], state, missing, end - start)
    return [IdleSeatLedger(*each) for each in sums]


# Places of the causes among the fields of a ledger. A log has very many spans, so that each is
# added to plain numbers.
_USED, _MISSED, _COOLDOWN, _NOBODY, _PAUSED = range(len(fields(IdleSeatLedger)))
_OPEN, _STOPPED = JobStatus.OPEN.value, JobStatus.PAUSED.value


def _add_span(sums: list[timedelta], state: SeatState, missing: int, span: timedelta) -> None:
    """Add a span without changes to a ledger; `missing` open offers will be missed."""
    if state.status not in (_OPEN, _STOPPED):
        return
    held = state.active + state.pending
    sums[_USED] += span * (held - missing)
    if missing:
        sums[_MISSED] += span * missing
    if state.capacity > held:
        free = _COOLDOWN if state.waiting else _NOBODY
        is_paused = state.status == _STOPPED
        sums[_PAUSED if is_paused else free] += span * (state.capacity - held - state.reserved)
        sums[_PAUSED if is_paused else _NOBODY] += span * state.reserved


@dataclass(frozen=True, slots=True)
class IdleSeats:
    """Ledgers of consecutive weeks, oldest first; the last week is the current one, until now."""

    weeks: list[tuple[Week, IdleSeatLedger]]
    # Whether old events were left out, because the logs are too long.
    is_cut: bool
    # Whether jobs were left out, because there are too many.
    lacks_jobs: bool
    # The jobs that were added up, with their own ledger of all weeks.
    jobs: list[tuple[Job, IdleSeatLedger]]

    @property
    def total(self) -> IdleSeatLedger:
        """Return the ledger of all weeks together."""
        return sum((ledger for _, ledger in self.weeks), IdleSeatLedger())


@reads_replica
def read_job(job: Job, *, weeks: int, zone: str) -> IdleSeats:
    """Return a job's ledger of the last weeks, including the current one, in a few queries.

    Raises LogArchived.
    """
    removed_logs.refuse_known(job)
    now = max(job.last_event_at, instants.now(ahead_seconds=job.clock_offset_seconds))
    spans = _last_weeks(now, weeks, zone)
    edges = [*(week.start for week in spans), now]
    first = max(1, past.find_seq(job.id, edges[0]))
    oldest = max(first, job.seq - MOST_EVENTS + 1)
    ledgers = fold(*_read_states({job.id: oldest})[job.id], edges)
    by_week = list(zip(spans, ledgers, strict=True))
    return IdleSeats(
        by_week, oldest > first, lacks_jobs=False, jobs=[(job, sum(ledgers, IdleSeatLedger()))]
    )


def read_week(job: Job, week: Week) -> IdleSeatLedger | None:
    """Return a job's ledger of a week that has ended, or None if its log is too long since then.

    A miss after the week counts for the part of its offer that lies in the week. Raises
    LogArchived.
    """
    removed_logs.refuse_known(job)
    first = max(1, past.find_seq(job.id, week.start))
    if job.seq - first >= MOST_EVENTS:
        return None
    states, misses = _read_states({job.id: first})[job.id]
    return fold(states, misses, [week.start, week.end])[0]


@reads_replica
def read_company(company_id: UUID, *, weeks: int, zone: str) -> IdleSeats:
    """Return the ledger of a company's jobs added up, in two or three queries.

    At most MOST_JOBS jobs, open and paused ones first, then those that changed last, each with an
    equal share of MOST_EVENTS. Jobs closed before these weeks have no seats in them.
    """
    own = Job.objects.filter(company_id=company_id, opened_at__isnull=False)
    latest = own.aggregate(at=Max("last_event_at"), ahead=Max("clock_offset_seconds"))
    now = instants.now(ahead_seconds=latest["ahead"] or 0)
    now = max(now, latest["at"] or now)
    spans = _last_weeks(now, weeks, zone)
    started = own.exclude(closed_at__lte=spans[0].start).select_related("posting")
    in_order = started.order_by(F("closed_at").asc(nulls_first=True), "-last_event_at")
    jobs = list(in_order[: MOST_JOBS + 1])
    lacks_jobs, is_cut, jobs = len(jobs) > MOST_JOBS, False, jobs[:MOST_JOBS]
    edges = [*(week.start for week in spans), now]
    share = MOST_EVENTS // max(1, len(jobs))
    firsts = {job.id: max(1, job.seq - share + 1) for job in jobs}
    read = _read_states(firsts) if jobs else {}
    sums, by_job = [IdleSeatLedger() for _ in spans], []
    for job in jobs:
        states, misses = read[job.id]
        is_cut = is_cut or (firsts[job.id] > 1 and states[0].at > edges[0])
        ledgers = fold(states, misses, edges)
        by_job.append((job, sum(ledgers, IdleSeatLedger())))
        sums = [one + other for one, other in zip(sums, ledgers, strict=True)]
    return IdleSeats(
        list(zip(spans, sums, strict=True)), is_cut, lacks_jobs=lacks_jobs, jobs=by_job
    )


def count_events(company_id: UUID) -> int:
    """Return how many events of a company its ledger may read."""
    total = Job.objects.filter(company_id=company_id).aggregate(seqs=Sum("seq"))["seqs"]
    return min(MOST_EVENTS, total or 0)


def _last_weeks(now: datetime, weeks: int, zone: str) -> list[Week]:
    today = now.astimezone(ZoneInfo(zone)).date()
    monday = today - timedelta(days=today.weekday())
    spans = [Week(monday - timedelta(days=DAYS * back), zone) for back in reversed(range(weeks))]
    return [week for week in spans if week.start < now]


# The rows of each job from its first on, with its status and seats before the first, and for each
# miss the time of its offer. Rows after which the seats are as before are left out: in a long line
# most people only join it. Before a draw by lot, seats are as in a draft: they cannot be taken.
_READ = """
SELECT number, row.at, row.status, row.capacity, row.positions, row.reserve,
       active, pending, waiting, hired, taken,
       base.status, base.capacity, base.positions, base.reserve, offer.at
FROM unnest(%(jobs)s::uuid[], %(firsts)s::bigint[]) WITH ORDINALITY AS wanted (job, first, number)
JOIN jobs_job job ON job.id = wanted.job
CROSS JOIN LATERAL (
    SELECT CASE WHEN job.draw_at IS NOT NULL AND at < coalesce(job.drawn_at, 'infinity')
                THEN 'DRAFT' ELSE data ->> 'status' END AS status,
           (data ->> 'capacity')::int AS capacity,
           (data ->> 'positions_to_fill')::int AS positions,
           (data ->> 'reserved_seats')::int AS reserve
    FROM pipeline_event
    WHERE job_id = wanted.job AND application_id IS NULL AND seq <= wanted.first
    ORDER BY seq DESC LIMIT 1
) base
CROSS JOIN LATERAL (
    SELECT seq, at, application_id, event, from_status,
           CASE WHEN application_id IS NULL THEN CASE
               WHEN job.draw_at IS NOT NULL AND at < coalesce(job.drawn_at, 'infinity') THEN 'DRAFT'
               ELSE data ->> 'status' END END AS status,
           CASE WHEN application_id IS NULL THEN (data ->> 'capacity')::int END AS capacity,
           (data ->> 'positions_to_fill')::int AS positions, (data ->> 'hired')::int AS hired,
           (data ->> 'reserved_seats')::int AS reserve, (data ->> 'reserved_taken')::int AS taken,
           (data ->> 'active')::int AS active, (data ->> 'pending')::int AS pending,
           (data ->> 'waiting')::int - coalesce((data ->> 'unverified')::int, 0) AS waiting,
           lag((data ->> 'active')::int + (data ->> 'pending')::int) OVER earlier AS held_before,
           lag((data ->> 'waiting')::int - coalesce((data ->> 'unverified')::int, 0)) OVER earlier
               AS waiting_before,
           lag((data ->> 'hired')::int) OVER earlier AS hired_before
    FROM pipeline_event WHERE job_id = wanted.job AND seq >= wanted.first
    WINDOW earlier AS (ORDER BY seq)
) row
LEFT JOIN LATERAL (
    SELECT max(at) AS at FROM pipeline_event before
    WHERE before.application_id = row.application_id AND before.seq < row.seq
      AND before.to_status = 'PENDING_ACKNOWLEDGMENT' AND before.event <> 'DEADLINE_EXTENDED'
) offer ON row.event IN ('DECAYED', 'LAPSED') AND row.from_status = 'PENDING_ACKNOWLEDGMENT'
WHERE row.application_id IS NULL OR held_before IS DISTINCT FROM active + pending
   OR (waiting_before > 0) IS DISTINCT FROM (waiting > 0) OR hired_before IS DISTINCT FROM hired
   OR offer.at IS NOT NULL
ORDER BY number, row.seq
"""


def seat_state(at: datetime, job: Sequence[Any], counters: Sequence[Any]) -> SeatState:
    """Return the state of seats after an event.

    `job`: its status, seats, positions to fill and reserved seats. `counters`: people in review,
    those who must confirm, verified people waiting, people hired and those in reserved seats.
    """
    (status, capacity, positions, reserve), (active, pending, waiting, hired, taken) = job, counters
    if positions is not None and positions == hired:
        capacity = active + pending
    free = max(0, capacity - active - pending)
    reserved = min(free, max(0, (reserve or 0) - (taken or 0)))
    return SeatState(at, status, capacity, active, pending, waiting, reserved)


def _read_states(
    firsts: Mapping[UUID, int],
) -> dict[UUID, tuple[list[SeatState], list[MissedOffer]]]:
    with connection.cursor() as cursor:
        cursor.execute(_READ, {"jobs": list(firsts), "firsts": list(firsts.values())})
        rows = cursor.fetchall()
    found: dict[UUID, tuple[list[SeatState], list[MissedOffer]]] = {}
    ids = list(firsts)
    for number, own in groupby(rows, key=itemgetter(0)):
        states: list[SeatState] = []
        misses: list[MissedOffer] = []
        known: Sequence[Any] = ()
        for _, at, *row, offered_at in own:
            about_job, counters, base = row[:4], row[4:9], row[9:]
            known = about_job if about_job[0] else known or base
            states.append(seat_state(at, known, counters))
            if offered_at:
                misses.append(MissedOffer(offered_at, at))
        found[ids[number - 1]] = (states, misses)
    return found
