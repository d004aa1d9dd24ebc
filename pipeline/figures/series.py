"""Figures of a job over time, from its log, for charts.

However long a log is, at most its last MOST_EVENTS rows are read. The result is small: lines have
at most BUCKETS points, curves 51.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import connection

from jobs.models import Job, JobStatus
from pipeline.database import instants
from pipeline.database.replica import reads_replica
from pipeline.domain.states import EventType
from pipeline.domain.verbs import WISHED
from pipeline.line import removed_logs
from pipeline.models import Application, ApplicationRow, Event
from pipeline.selectors import past

# How many of a log's last events are read at most: about half a second of work.
MOST_EVENTS = 50_000
BUCKETS = 200
STEPS = 50

# The upper bounds of the groups of times to the first offer, in seconds; the last group has none.
WAIT_EDGES = (60, 300, 900, 3_600, 14_400, 43_200, 86_400, 172_800, 604_800)


class Point(NamedTuple):
    """State of a job's seats and waitlist from a given time."""

    at: datetime
    # Seats in review or on offer.
    held: int
    waiting: int
    capacity: int


class SeatTime(NamedTuple):
    """Seat time by use, in seconds times seats."""

    review: float
    offered: float
    # Free while the job was open and nobody waited.
    nobody: float
    # Free while the job was open and everyone waiting was in a cool-down.
    cooldown: float
    # Free while the job was paused.
    paused: float


@dataclass(frozen=True, slots=True)
class Series:
    """Figures of a job from `start` to `end`."""

    start: datetime
    end: datetime
    # Whether the span is shorter than requested because the log is too long.
    is_cut: bool
    events: int
    points: list[Point]
    # Seconds from an offer to its acknowledgement: quantiles in steps of 2 %, or empty.
    answers: list[float]
    answered: int
    missed: int
    # First offers by waiting time: a number for each group of WAIT_EDGES. A seat that was offered
    # on applying counts as 0 seconds.
    waits: list[int]
    # Missed deadlines by the hour of the day of the deadline.
    misses_by_hour: Mapping[int, int]
    seat_time: SeatTime


@reads_replica
def read_series(job: Job, *, back: timedelta | None, zone: str) -> Series:
    """Return a job's figures for the last `back`, or for all time, in three or four queries.

    `zone` names the time zone of the hours. Raises LogArchived.
    """
    removed_logs.refuse_known(job)
    now = instants.now(ahead_seconds=job.clock_offset_seconds)
    is_over = job.status == JobStatus.CLOSED and not (job.pending_count or job.waitlist_count)
    end = job.last_event_at if is_over else max(now, job.last_event_at)
    start = job.created_at if back is None else max(job.created_at, end - back)
    first = 1 if back is None else max(1, past.find_seq(job.id, start))
    oldest = job.seq - MOST_EVENTS + 1
    is_cut = first < oldest
    if is_cut:
        first = oldest
        start = Event.objects.values_list("at", flat=True).get(job_id=job.id, seq=first)
    return _read_span(job, _Span(first, start, end, is_cut), zone)


@dataclass(frozen=True, slots=True)
class _Span:
    first: int
    start: datetime
    end: datetime
    is_cut: bool


# All figures, as of one instant. The first row only gives the state at the start of the span: its
# event happened before. Its time counts from the span's start.
_READ_POINTS = """
WITH told AS MATERIALIZED (
    SELECT seq, application_id, event, from_status, to_status, effective_at,
           greatest(at, %(start)s) AS at, at >= %(start)s AS inside,
           (data ->> 'active')::int AS active, (data ->> 'pending')::int AS pending,
           (data ->> 'waiting')::int AS waiting, (data ->> 'hired')::int AS hired,
           count(*) FILTER (WHERE application_id IS NULL) OVER (ORDER BY seq) AS version
    FROM pipeline_event WHERE job_id = %(job)s AND seq >= %(first)s
), base AS (
    SELECT max(seq) AS seq FROM pipeline_event
    WHERE job_id = %(job)s AND application_id IS NULL AND seq < %(first)s
), versions AS (
    SELECT row_number() OVER (ORDER BY seq) - CASE WHEN (SELECT seq FROM base) IS NULL
                                                   THEN 0 ELSE 1 END AS version,
           data ->> 'status' AS status, (data ->> 'capacity')::int AS capacity,
           (data ->> 'positions_to_fill')::int AS positions
    FROM pipeline_event
    WHERE job_id = %(job)s AND application_id IS NULL
      AND seq >= coalesce((SELECT seq FROM base), 1)
), spans AS (
    SELECT told.*, status, capacity,
           CASE WHEN hired = positions THEN 0
                ELSE greatest(0, capacity - active - pending) END AS free,
           extract(epoch FROM lead(at, 1, %(end)s) OVER (ORDER BY seq) - at)::float8 AS seconds
    FROM told JOIN versions USING (version)
), points AS (
    SELECT DISTINCT ON (bucket) at, active + pending AS held, waiting, capacity FROM (
        SELECT *, floor(extract(epoch FROM at - %(start)s) * %(buckets)s
                        / greatest(1, extract(epoch FROM %(end)s - %(start)s))) AS bucket
        FROM spans
    ) placed ORDER BY bucket, seq DESC
), steps AS (
    SELECT told.event, extract(epoch FROM told.at - earlier.offered_at)::float8 AS answer_seconds,
           CASE WHEN told.event = 'APPLIED' THEN 0
                WHEN told.event = 'PROMOTED' AND earlier.offered_at IS NULL
                THEN extract(epoch FROM told.at - earlier.applied_at)::float8 END AS wait_seconds
    FROM told CROSS JOIN LATERAL (
        SELECT min(at) AS applied_at,
               max(at) FILTER (WHERE to_status = 'PENDING_ACKNOWLEDGMENT'
                               AND event <> 'DEADLINE_EXTENDED') AS offered_at
        FROM pipeline_event before
        WHERE before.application_id = told.application_id AND before.seq < told.seq
    ) earlier
    WHERE told.inside AND (
        told.event IN ('ACKNOWLEDGED', 'PROMOTED')
        OR (told.event = 'APPLIED' AND told.to_status = 'PENDING_ACKNOWLEDGMENT')
    )
), waits AS (
    SELECT width_bucket(wait_seconds, %(edges)s::float8[]) AS edge, count(*) AS n FROM steps
    WHERE wait_seconds IS NOT NULL GROUP BY edge
), hours AS (
    SELECT extract(hour FROM effective_at AT TIME ZONE %(zone)s)::int AS hour, count(*) AS n
    FROM told
    WHERE inside AND event IN ('DECAYED', 'LAPSED') AND from_status = 'PENDING_ACKNOWLEDGMENT'
    GROUP BY hour
)
SELECT (SELECT jsonb_agg(jsonb_build_array(at, held, waiting, capacity) ORDER BY at) FROM points),
       (SELECT to_jsonb(percentile_cont(%(shares)s::float8[])
                        WITHIN GROUP (ORDER BY answer_seconds))
        FROM steps WHERE event = 'ACKNOWLEDGED' AND answer_seconds > 0),
       (SELECT jsonb_object_agg(edge, n) FROM waits),
       (SELECT jsonb_object_agg(hour, n) FROM hours),
       count(*) FILTER (WHERE inside),
       count(*) FILTER (WHERE inside AND event = 'ACKNOWLEDGED'),
       count(*) FILTER (WHERE inside AND event IN ('DECAYED', 'LAPSED')
                        AND from_status = 'PENDING_ACKNOWLEDGMENT'),
       sum(seconds * active), sum(seconds * pending),
       sum(seconds * free) FILTER (WHERE status = 'OPEN' AND waiting = 0),
       sum(seconds * free) FILTER (WHERE status = 'OPEN' AND waiting > 0),
       sum(seconds * free) FILTER (WHERE status = 'PAUSED')
FROM spans
"""


def _read_span(job: Job, span: _Span, zone: str) -> Series:
    values: dict[str, Any] = {
        "job": job.id,
        "first": span.first,
        "start": span.start,
        "end": span.end,
        "zone": zone,
        "buckets": BUCKETS - 1,
        "edges": list(WAIT_EDGES),
        "shares": [step / STEPS for step in range(STEPS + 1)],
    }
    with connection.cursor() as cursor:
        cursor.execute(_READ_POINTS, values)
        points, answers, waits, hours, events, answered, missed, *times = cursor.fetchone()
    grouped = _parse_value(waits, {})
    return Series(
        start=span.start,
        end=span.end,
        is_cut=span.is_cut,
        events=events,
        points=[Point(datetime.fromisoformat(at), *row) for at, *row in _parse_value(points, [])],
        answers=_parse_value(answers, []),
        answered=answered,
        missed=missed,
        waits=[grouped.get(str(edge), 0) for edge in range(len(WAIT_EDGES) + 1)],
        misses_by_hour={int(hour): n for hour, n in _parse_value(hours, {}).items()},
        seat_time=SeatTime(*[seconds or 0.0 for seconds in times]),
    )


def _parse_value(told: str | None, nothing: Any) -> Any:
    """Parse a jsonb value, which a raw cursor returns as text."""
    found = json.loads(told) if told else None
    return nothing if found is None else found


# Figures of a job in one week, from its log, for the weekly report. The database reads the week's
# rows once, and the result is small however long the log is. A week is half open: it includes its
# first instant and excludes its end.


DAYS = 7
# The most points in the lines of a week: one per hour.
POINTS = DAYS * 24
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Week:
    """A week from Monday to Monday, midnight to midnight in a time zone."""

    monday: date
    zone: str

    @property
    def days(self) -> list[datetime]:
        """Return eight times: the start of each day, and the end of the last one."""
        place = ZoneInfo(self.zone)
        return [
            datetime.combine(self.monday + timedelta(days=day), time.min, place)
            for day in range(DAYS + 1)
        ]

    @property
    def start(self) -> datetime:
        """Return the week's first instant."""
        return self.days[0]

    @property
    def end(self) -> datetime:
        """Return the first instant after the week."""
        return self.days[-1]

    @property
    def last_day(self) -> date:
        """Return the week's Sunday."""
        return self.monday + timedelta(days=DAYS - 1)

    @property
    def before(self) -> Week:
        """Return the week before."""
        return Week(self.monday - timedelta(days=DAYS), self.zone)

    @classmethod
    def last_whole(cls, now: datetime, zone: str) -> Week:
        """Return the last week that had ended at a given time."""
        today = now.astimezone(ZoneInfo(zone)).date()
        return cls(today - timedelta(days=today.weekday() + DAYS), zone)


# All figures of a week, as of one instant. The first row may be from before the week: it only gives
# the state at its start, and its time counts from the week's start. Seats of a closed job no longer
# count.
_READ_WEEK = """
WITH told AS MATERIALIZED (
    SELECT seq, application_id, event, from_status, to_status, outcome,
           greatest(at, %(start)s) AS at, at >= %(start)s AS inside,
           (data ->> 'active')::int AS active, (data ->> 'pending')::int AS pending,
           (data ->> 'waiting')::int AS waiting, (data ->> 'hired')::int AS hired,
           count(*) FILTER (WHERE application_id IS NULL) OVER (ORDER BY seq) AS version
    FROM pipeline_event WHERE job_id = %(job)s AND seq BETWEEN %(first)s AND %(last)s
), base AS (
    SELECT max(seq) AS seq FROM pipeline_event
    WHERE job_id = %(job)s AND application_id IS NULL AND seq < %(first)s
), versions AS (
    SELECT row_number() OVER (ORDER BY seq) - CASE WHEN (SELECT seq FROM base) IS NULL
                                                   THEN 0 ELSE 1 END AS version,
           data ->> 'status' AS status, (data ->> 'capacity')::int AS capacity,
           (data ->> 'positions_to_fill')::int AS positions
    FROM pipeline_event
    WHERE job_id = %(job)s AND application_id IS NULL
      AND seq >= coalesce((SELECT seq FROM base), 1) AND seq <= %(last)s
), spans AS (
    SELECT told.*, status, capacity,
           CASE WHEN hired = positions THEN 0
                ELSE greatest(0, capacity - active - pending) END AS free,
           status IN ('OPEN', 'PAUSED') AS runs,
           extract(epoch FROM lead(at, 1, %(end)s) OVER (ORDER BY seq) - at)::float8 AS seconds
    FROM told JOIN versions USING (version)
), points AS (
    SELECT DISTINCT ON (hour) at, active + pending AS held, waiting, capacity FROM (
        SELECT *, floor(extract(epoch FROM at - %(start)s) / 3600) AS hour FROM spans
    ) placed ORDER BY hour, seq DESC
), happened AS (
    SELECT told.*, width_bucket(at, %(days)s::timestamptz[]) - 1 AS day FROM told WHERE inside
), days AS (
    SELECT day, count(*) FILTER (WHERE event = 'APPLIED') AS applied,
           count(*) FILTER (WHERE event = 'PROMOTED' OR event = 'APPLIED'
                            AND to_status = 'PENDING_ACKNOWLEDGMENT') AS offered,
           count(*) FILTER (WHERE event = 'ACKNOWLEDGED') AS confirmed,
           count(*) FILTER (WHERE event IN ('DECAYED', 'LAPSED')
                            AND from_status = 'PENDING_ACKNOWLEDGMENT') AS missed
    FROM happened GROUP BY day
), decided AS (
    SELECT outcome, count(*) AS n FROM happened WHERE event = 'REMOVED' GROUP BY outcome
), steps AS (
    SELECT event, extract(epoch FROM happened.at - earlier.offered_at)::float8 AS answer_seconds,
           CASE WHEN event = 'APPLIED' THEN 0
                WHEN event = 'PROMOTED' AND earlier.offered_at IS NULL
                THEN extract(epoch FROM happened.at - earlier.applied_at)::float8 END
           AS wait_seconds
    FROM happened CROSS JOIN LATERAL (
        SELECT min(at) AS applied_at,
               max(at) FILTER (WHERE to_status = 'PENDING_ACKNOWLEDGMENT'
                               AND event <> 'DEADLINE_EXTENDED') AS offered_at
        FROM pipeline_event before
        WHERE before.application_id = happened.application_id AND before.seq < happened.seq
    ) earlier
    WHERE event IN ('ACKNOWLEDGED', 'PROMOTED')
       OR (event = 'APPLIED' AND to_status = 'PENDING_ACKNOWLEDGMENT')
), ends AS (
    SELECT (array_agg(waiting ORDER BY seq) FILTER (WHERE NOT inside))[1] AS waiting_at_start,
           (array_agg(active + pending ORDER BY seq) FILTER (WHERE NOT inside))[1]
           AS held_at_start,
           (array_agg(waiting ORDER BY seq DESC))[1] AS waiting_at_end,
           (array_agg(active + pending ORDER BY seq DESC))[1] AS held_at_end,
           (array_agg(capacity ORDER BY seq DESC))[1] AS seats_at_end,
           (array_agg(status ORDER BY seq DESC))[1] AS status_at_end,
           min(at) AS counted_from
    FROM spans
)
SELECT jsonb_build_object(
    'counted_from', (SELECT counted_from FROM ends),
    'events', (SELECT count(*) FROM happened),
    'applied', (SELECT count(*) FROM happened WHERE event = 'APPLIED'),
    'seated', (SELECT count(*) FROM happened WHERE event = 'APPLIED' AND to_status = 'ACTIVE'),
    'offered', (SELECT coalesce(sum(offered), 0) FROM days),
    'promoted', (SELECT count(*) FROM happened WHERE event = 'PROMOTED'),
    'confirmed', (SELECT count(*) FROM happened WHERE event = 'ACKNOWLEDGED'),
    'missed', (SELECT coalesce(sum(missed), 0) FROM days),
    'lapsed', (SELECT count(*) FROM happened
               WHERE event = 'LAPSED' AND from_status = 'PENDING_ACKNOWLEDGMENT'),
    'withdrawn', (SELECT count(*) FROM happened WHERE event = 'WITHDRAWN'),
    'closed_out', (SELECT count(*) FROM happened WHERE event = 'CLOSED_OUT'),
    'decided', (SELECT coalesce(jsonb_object_agg(outcome, n), '{}') FROM decided),
    'waiting_at_start', (SELECT coalesce(waiting_at_start, 0) FROM ends),
    'waiting_at_end', (SELECT waiting_at_end FROM ends),
    'held_at_start', (SELECT coalesce(held_at_start, 0) FROM ends),
    'held_at_end', (SELECT held_at_end FROM ends),
    'seats_at_end', (SELECT seats_at_end FROM ends),
    'status_at_end', (SELECT status_at_end FROM ends),
    'confirm_seconds', (
        SELECT jsonb_build_object('count', count(*),
            'median', percentile_cont(0.5) WITHIN GROUP (ORDER BY answer_seconds),
            'p90', percentile_cont(0.9) WITHIN GROUP (ORDER BY answer_seconds))
        FROM steps WHERE event = 'ACKNOWLEDGED' AND answer_seconds > 0),
    'wait_seconds', (
        SELECT jsonb_build_object('count', count(*),
            'median', percentile_cont(0.5) WITHIN GROUP (ORDER BY wait_seconds),
            'p90', percentile_cont(0.9) WITHIN GROUP (ORDER BY wait_seconds))
        FROM steps WHERE wait_seconds IS NOT NULL),
    'seat_seconds', (
        SELECT jsonb_build_object(
            'review', coalesce(sum(seconds * active) FILTER (WHERE runs), 0),
            'offered', coalesce(sum(seconds * pending) FILTER (WHERE runs), 0),
            'nobody', coalesce(sum(seconds * free)
                               FILTER (WHERE status = 'OPEN' AND waiting = 0), 0),
            'cooldown', coalesce(sum(seconds * free)
                                 FILTER (WHERE status = 'OPEN' AND waiting > 0), 0),
            'paused', coalesce(sum(seconds * free) FILTER (WHERE status = 'PAUSED'), 0))
        FROM spans),
    'days', (SELECT jsonb_object_agg(day, jsonb_build_array(applied, offered, confirmed, missed))
             FROM days),
    'points', (SELECT jsonb_agg(jsonb_build_array(at, held, waiting, capacity) ORDER BY at)
               FROM points)
)
"""


def read_week(job_id: UUID, week: Week) -> dict[str, Any] | None:
    """Return a job's figures for a week, as JSON values, in three queries.

    Counts are of events. Times are in seconds, or None without data; `seat_seconds` are seconds
    times seats. `days` has [applied, offered, confirmed, missed] for each of the seven; `points`
    has [time, seats held, people waiting, seats], each valid from its time. Returns None if the job
    was created after that week. Raises FutureMoment for a week that has not ended.
    """
    last = past.find_seq(job_id, week.end - _TICK)
    if not last:
        return None
    first = max(1, past.find_seq(job_id, week.start - _TICK))
    values: dict[str, Any] = {
        "job": job_id,
        "first": first,
        "last": last,
        "start": week.start,
        "end": week.end,
        "days": week.days[:DAYS],
    }
    with connection.cursor() as cursor:
        cursor.execute(_READ_WEEK, values)
        found = json.loads(cursor.fetchone()[0])  # a raw cursor gives jsonb as text
    by_day = found["days"] or {}
    found["days"] = [by_day.get(str(day), [0, 0, 0, 0]) for day in range(DAYS)]
    return found


# Positions of one application over time, from its job's log.


# A longer log is not read for one person's picture.


class PositionStep(NamedTuple):
    """Position from a time on; None while the application does not wait, or is not verified.

    `event` is the application's own event at that time, empty if another person's change moved it.
    `took_back`: it cancelled the wish to pass a turn.
    """

    seq: int
    at: datetime
    position: int | None
    event: str
    took_back: bool = False


class LoggedPlace(NamedTuple):
    """Place of an application after one of its events; None outside the waitlist."""

    seq: int
    at: datetime
    application_id: UUID
    event: str
    place: tuple[int, int] | None
    took_back: bool = False


_READ_POSITIONS = """
SELECT seq, at, application_id, event,
       to_status = 'WAITLIST' AND data ->> 'verify_by' IS NULL,
       (data ->> 'ticket')::bigint, (data ->> 'tie')::bigint,
       %(wishes)s::jsonb ? event AND NOT data ? coalesce(%(wishes)s::jsonb ->> event, '')
FROM pipeline_event
WHERE job_id = %(job)s AND application_id IS NOT NULL
ORDER BY seq LIMIT %(most)s
"""


def read_position_history(application: Application | ApplicationRow) -> list[PositionStep] | None:
    """Return each change of an application's position, oldest first, in one query.

    Changes of other people at the same time are one step. Returns None if the log has more than
    MOST_EVENTS events about people. Raises LogArchived.
    """
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"job": application.job_id, "most": MOST_EVENTS + 1}
        values["wishes"] = json.dumps(WISHED)
        cursor.execute(_READ_POSITIONS, values)
        rows = cursor.fetchall()
    if not rows:
        removed_logs.refuse(application.job_id)
    if len(rows) > MOST_EVENTS:
        return None
    logged = (
        LoggedPlace(seq, at, who, event, (ticket, tie) if waits else None, took_back)
        for seq, at, who, event, waits, ticket, tie, took_back in rows
    )
    return position_steps(logged, application.id)


def position_steps(events: Iterable[LoggedPlace], me: UUID) -> list[PositionStep]:
    """Return the changes of one application's position. Pure."""
    places: dict[UUID, tuple[int, int]] = {}
    mine: tuple[int, int] | None = None
    ahead, is_drawn = 0, False
    steps: list[PositionStep] = []
    for event in events:
        if event.event == EventType.PLACED and not is_drawn:  # what came before was no place
            is_drawn, places, mine, steps = True, {}, None, []
        if event.application_id == me:
            mine = event.place
            ahead = sum(place < mine for place in places.values()) if mine else 0
        else:
            left = places.pop(event.application_id, None)
            if event.place is not None:
                places[event.application_id] = event.place
            if mine is None:
                continue
            ahead += event.place is not None and event.place < mine
            ahead -= left is not None and left < mine
        own = event.event if event.application_id == me else ""
        position = ahead + 1 if mine else None
        step = PositionStep(event.seq, event.at, position, own, bool(own) and event.took_back)
        if not own and steps and steps[-1].at == step.at and not steps[-1].event:
            steps.pop()  # a cascade: only its result is a step
        if not own and steps and steps[-1].position == step.position:
            continue
        steps.append(step)
    return steps


_WISHES = frozenset({EventType.PASS_ASKED, EventType.DEFERRED, EventType.PREACCEPTED})


def position_changes(steps: Sequence[PositionStep]) -> list[PositionStep]:
    """Return the steps that changed the position, and the person's wishes about their turn.

    Other own events also come as steps without a change.
    """
    before: list[int | None] = [0, *(step.position for step in steps)]
    return [
        step
        for step, was in zip(steps, before, strict=False)
        if step.position != was or step.event in _WISHES
    ]
