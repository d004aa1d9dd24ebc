"""SQL for past moments of a line: everyone's place, and the differences between two moments.

All of it rests on one fold: an application's last event says where it stands. EVERYBODY reads the
whole line. PEOPLE orders it in the database and reads the first of each list.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from jobs.models import Job
from pipeline.domain.errors import FutureMoment, JobNotFound, NoSuchMoment
from pipeline.domain.place import LOGGED, PlaceState
from pipeline.domain.states import DRAW_AT, EventType, Status
from pipeline.domain.verbs import KEEPING_STATUS
from pipeline.line import removed_logs
from pipeline.line.event_log import parse_logged_time
from pipeline.models import Event

# The aggregates over all events of one application, besides its last event.
_TIMES = f"""
    min(at) AS applied_at,
    max(at) FILTER (WHERE event NOT IN ({", ".join(f"'{each}'" for each in KEEPING_STATUS)}))
        AS status_since,
    max(at) FILTER (WHERE to_status = 'PENDING_ACKNOWLEDGMENT' AND event <> 'DEADLINE_EXTENDED')
        AS promoted_at,
    max(at) FILTER (WHERE event = 'ACKNOWLEDGED') AS acknowledged_at
"""

# The columns of a place, in the order that `_build_place` expects.
_PLACE = (
    "application_id, to_status, event = 'DEADLINE_EXTENDED' AS is_extended, data,"
    " applied_at, status_since, promoted_at, acknowledged_at"
)

# Every live application after event `seq`.
EVERYBODY = f"""
WITH folded AS (
    SELECT application_id, max(seq) AS seq, {_TIMES}
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq <= %(seq)s AND application_id IS NOT NULL
    GROUP BY application_id
)
SELECT {_PLACE} FROM folded JOIN pipeline_event USING (application_id, seq)
WHERE job_id = %(job)s AND to_status <> 'INACTIVE'
"""  # noqa: S608

# The same with the positions of verified people, and only a stretch of the waitlist.
STRETCH = f"""
WITH live AS ({EVERYBODY}), ordered AS (
    SELECT *, row_number() OVER line AS place,
           CASE WHEN to_status = 'WAITLIST' AND data ->> 'verify_by' IS NULL
                THEN count(*) FILTER (WHERE data ->> 'verify_by' IS NULL) OVER line END AS position
    FROM live WINDOW line AS (
        PARTITION BY to_status ORDER BY (data ->> 'ticket')::bigint, (data ->> 'tie')::bigint
    )
)
SELECT application_id, to_status, is_extended, data, applied_at, status_since, promoted_at,
       acknowledged_at, position
FROM ordered
WHERE (to_status <> 'WAITLIST' AND %(after)s = 0)
   OR (to_status = 'WAITLIST' AND place > %(after)s AND place <= %(after)s + %(limit)s)
ORDER BY place
"""  # noqa: S608

# The last event recorded by a time: `at` never decreases, so a binary search finds it.
SEQ_AT = """
WITH RECURSIVE search AS (
    SELECT 0::bigint AS low, seq AS high FROM jobs_job WHERE id = %(job)s
    UNION ALL
    SELECT CASE WHEN later THEN low ELSE middle END, CASE WHEN later THEN middle - 1 ELSE high END
    FROM (
        SELECT low, high, (low + high + 1) / 2 AS middle,
               (SELECT at FROM pipeline_event
                WHERE job_id = %(job)s AND pipeline_event.seq = (low + high + 1) / 2) > %(as_of)s
               AS later
        FROM search WHERE low < high
    ) step
)
SELECT low, %(as_of)s > clock_timestamp() + make_interval(
    secs => (SELECT clock_offset_seconds FROM jobs_job WHERE id = %(job)s))
FROM search WHERE low >= high
"""

# The last events of everyone who was in the line, read from the log's beginning.
FROM_THE_START = """
SELECT e.application_id, e.to_status, e.at, e.event, e.data
FROM (SELECT application_id, max(seq * 2 + (to_status = 'INACTIVE')::int) AS code
      FROM pipeline_event
      WHERE job_id = %(job)s AND seq <= %(seq)s AND application_id IS NOT NULL
      GROUP BY application_id) last
JOIN pipeline_event e ON e.job_id = %(job)s AND e.seq = last.code / 2 AND e.seq <= %(seq)s
WHERE last.code %% 2 = 0
"""

# The same for everyone who may be among the first of a list, read from the log's end.
#
# These are the people in the line at that moment who have later events, and the first people of the
# current line, who have none. The log says where each of them stood.
FROM_THE_END = """
SELECT e.application_id, e.to_status, e.at, e.event, e.data FROM (
    SELECT application_id FROM pipeline_event
    WHERE job_id = %(job)s AND seq > %(seq)s AND application_id IS NOT NULL
    GROUP BY application_id HAVING min(seq * 2 + (from_status IS NULL)::int) %% 2 = 0
    UNION SELECT id FROM pipeline_application WHERE job_id = %(job)s AND status = 'ACTIVE'
    UNION SELECT id FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT'
    UNION (SELECT id FROM pipeline_application now_waiting
           WHERE job_id = %(job)s AND status = 'WAITLIST' AND tie <= %(seq)s
             AND NOT EXISTS (SELECT FROM pipeline_event back
                             WHERE back.application_id = now_waiting.id AND back.seq > %(seq)s
                               AND back.event IN ('REINSTATED', 'PASSED'))
             AND ticket >= (SELECT head_ticket FROM jobs_job WHERE id = %(job)s)
           ORDER BY ticket, tie LIMIT %(shown)s)
) candidate CROSS JOIN LATERAL (
    SELECT application_id, to_status, at, event, data FROM pipeline_event
    WHERE application_id = candidate.application_id AND seq <= %(seq)s ORDER BY seq DESC LIMIT 1
) e WHERE e.to_status <> 'INACTIVE'
"""

# The first people of each list, in order, with the positions of verified people. `stood` is
# FROM_THE_START or FROM_THE_END, whichever reads less of the log.
PEOPLE = f"""
WITH stood AS ({{stood}}), ordered AS (
    SELECT *, row_number() OVER line AS place,
           CASE WHEN to_status = 'WAITLIST' AND data ->> 'verify_by' IS NULL
                THEN count(*) FILTER (WHERE data ->> 'verify_by' IS NULL) OVER line END AS position
    FROM stood WINDOW line AS (
        PARTITION BY to_status ORDER BY
            CASE WHEN to_status = 'ACTIVE' THEN at END,
            CASE WHEN to_status = 'PENDING_ACKNOWLEDGMENT' THEN data ->> 'deadline' END,
            (data ->> 'ticket')::bigint, (data ->> 'tie')::bigint, application_id
    )
)
SELECT {_PLACE}, position
FROM ordered CROSS JOIN LATERAL (
    SELECT {_TIMES} FROM pipeline_event own
    WHERE own.application_id = ordered.application_id AND own.seq <= %(seq)s
) folded
WHERE place <= %(shown)s ORDER BY to_status, place
"""  # noqa: S608


def _position_sql(event: str) -> str:
    """Return SQL for the position that an event's row gives among verified waiting people."""
    waits = f"{event}.to_status = 'WAITLIST' AND {event}.data ->> 'verify_by' IS NULL"
    return f"""CASE WHEN {waits} THEN count(*) FILTER (WHERE {waits}) OVER (
           ORDER BY ({event}.data ->> 'ticket')::bigint, ({event}.data ->> 'tie')::bigint) END"""


# The status and place of everyone at two moments.
STOOD = f"""
SELECT last_seqs.application_id, b.to_status AS was, a.to_status AS now_is, a.outcome,
       {_position_sql("b")} AS place_before,
       {_position_sql("a")} AS place_after
FROM (
    SELECT application_id, max(seq) FILTER (WHERE seq <= %(earlier)s) AS before, max(seq) AS after
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq <= %(later)s AND application_id IS NOT NULL
    GROUP BY application_id
) last_seqs
LEFT JOIN pipeline_event b
    ON b.job_id = %(job)s AND b.seq = last_seqs.before AND b.seq <= %(earlier)s
JOIN pipeline_event a ON a.job_id = %(job)s AND a.seq = last_seqs.after AND a.seq <= %(later)s
"""  # noqa: S608
_STATUSES = "ARRAY['WAITLIST', 'PENDING_ACKNOWLEDGMENT', 'ACTIVE', 'INACTIVE']"

# The same only for people with an event in between, and without places, which would require
# ordering the whole line.
TOUCHED = f"""
SELECT application_id, ({_STATUSES})[first %% 8] AS was, ({_STATUSES})[last %% 8] AS now_is,
       outcome, NULL::bigint AS place_before, NULL::bigint AS place_after
FROM (
    SELECT application_id, (array_agg(outcome ORDER BY seq DESC))[1] AS outcome,
           min(seq * 8 + coalesce(array_position({_STATUSES}, from_status::text), 0)) AS first,
           max(seq * 8 + array_position({_STATUSES}, to_status::text)) AS last
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq > %(earlier)s AND seq <= %(later)s
      AND application_id IS NOT NULL
    GROUP BY application_id
) span
"""  # noqa: S608

# The kinds of differences, with the first people and the total of each. Before a draw by lot nobody
# has a place, so what looks like one moves nobody.
DIFFERENCES = """
WITH stood AS ({stood}), kinds AS (
    SELECT *, CASE
        WHEN was IS NULL AND now_is = 'INACTIVE' THEN 'passed'
        WHEN was IS NULL THEN 'joined'
        WHEN was = 'INACTIVE' AND now_is <> 'INACTIVE' THEN 'returned'
        WHEN was = now_is AND place_after IS NULL THEN NULL
        WHEN now_is = 'INACTIVE' THEN 'left'
        WHEN was = now_is AND place_before IS NULL THEN 'verified'
        WHEN was = now_is AND %(places_after)s AND NOT %(places_before)s THEN 'drawn'
        WHEN was = now_is AND (NOT %(places_after)s OR place_before = place_after) THEN NULL
        WHEN was = now_is THEN 'moved'
        WHEN was = 'WAITLIST' THEN 'seated'
        WHEN now_is = 'WAITLIST' THEN 'lost'
        WHEN now_is = 'ACTIVE' THEN 'confirmed'
    END AS kind,
    CASE WHEN %(places_before)s THEN place_before END AS shown_before,
    CASE WHEN %(places_after)s THEN place_after END AS shown_after
    FROM stood
), counted AS (
    SELECT *, count(*) OVER (PARTITION BY kind) AS total, row_number() OVER (
        PARTITION BY kind ORDER BY shown_after, shown_before, application_id) AS place
    FROM kinds WHERE kind IS NOT NULL
)
SELECT kind, application_id, shown_before, shown_after, outcome, now_is, total
FROM counted WHERE place <= %(shown)s ORDER BY kind, place
"""


# Reads of a line after one event: everyone in it, or as much as a page shows. An application's last
# event says where it stands. That fold is written once, above. `read_places`
# reads a whole line. `read_state` and `read_differences` are bounded: the database orders the
# lists, returns the first PEOPLE_SHOWN people of each, and reads at most MOST_FOLDED events, from
# the log's beginning or from its end. `pipeline.audit.log_fold` independently checks the same, row
# by row.


# The most people in each list of a moment.
PEOPLE_SHOWN = 100
# The most events that are read to list people. For a moment further than that from both ends of the
# log, only the counts are known.
MOST_FOLDED = 100_000
# The most events that are read to compare two moments.
MOST_COMPARED = 50_000
# The most people for each kind of difference in a comparison.
CHANGES_SHOWN = 20


@dataclass(slots=True, kw_only=True)
class PastPlace(PlaceState):
    """Place of one application. `position`: 1 is the next in line.

    It is None outside the waitlist, for unverified applications, and before a draw by lot.
    """

    application_id: UUID
    applied_at: datetime
    status: Status
    status_since: datetime
    outcome: str | None = None
    deadline_extended: bool = False
    promoted_at: datetime | None = None
    acknowledged_at: datetime | None = None
    ended_at: datetime | None = None
    position: int | None = None

    def set_past_state(self, data: dict[str, Any]) -> None:
        """Take over an application's values from an event's data."""
        for name, logged, is_time, blank in LOGGED:
            value = data.get(logged, blank)
            setattr(self, name, parse_logged_time(value) if value and is_time else value)
        self.decay_count = data["decay_count"]  # in every event

    @property
    def is_verified(self) -> bool:
        """Tell whether the address was proved by then or the company submitted the application."""
        return self.verify_by is None


@dataclass(slots=True)
class PastState:
    """A job's line after one event. Each list has its first PEOPLE_SHOWN people, in order.

    `job` holds the job's status, capacity and policy, from the log's data. `awaits_draw`: the draw
    by lot had not yet placed everyone, so nobody had a position.
    """

    event: Event
    head: int
    job: dict[str, Any]
    policy_version: int
    awaits_draw: bool = False
    active: list[PastPlace] = field(default_factory=list)
    pending: list[PastPlace] = field(default_factory=list)
    waitlist: list[PastPlace] = field(default_factory=list)

    @property
    def is_listed(self) -> bool:
        """Tell whether the people are known, and not only their number."""
        return min(self.seq, self.head - self.seq) <= MOST_FOLDED

    @property
    def seq(self) -> int:
        """Return the seq of the moment's event."""
        return self.event.seq

    @property
    def counts(self) -> dict[str, int]:
        """Count the `active`, `pending` and `waiting` people, shown or not.

        `unverified` is the number of unverified people on the waitlist.
        """
        counted = {name: self.event.data[name] for name in ("active", "pending", "waiting")}
        return counted | {"unverified": self.event.data.get("unverified", 0)}

    @property
    def seats_free(self) -> int:
        """Return the number of free seats."""
        held: int = self.event.data["active"] + self.event.data["pending"]
        capacity: int = self.job["capacity"]
        return max(0, capacity - held)


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference of one application between an earlier and a later moment.

    `before` and `after` are positions, None for people not on the waitlist at that moment. `status`
    is that of the later moment. `total` counts all people with this kind of difference.
    """

    kind: str
    application_id: UUID
    before: int | None
    after: int | None
    outcome: str | None
    status: str
    total: int


def read_state(
    job_id: UUID,
    *,
    seq: int | None = None,
    as_of: datetime | None = None,
    shown: int = PEOPLE_SHOWN,
) -> PastState:
    """Return the line after event `seq`, or at time `as_of`, or now.

    Takes at most four queries, one more for a time, and one for a lottery. Raises JobNotFound;
    NoSuchMoment before the job's first event; FutureMoment; LogArchived.
    """
    head = Job.objects.filter(id=job_id).values_list("seq", flat=True).first()
    if head is None:
        raise JobNotFound
    if as_of is not None:
        seq = find_seq(job_id, as_of)
        head = max(head, seq)  # a change may have been committed in between
    seq = head if seq is None else seq
    if seq > head:
        raise FutureMoment
    about_job = Event.objects.filter(job_id=job_id, application_id=None, seq__lte=seq)
    last = about_job.order_by("-seq").first()
    if last is None:
        removed_logs.refuse(job_id)
        raise NoSuchMoment
    event = Event.objects.get(job_id=job_id, seq=seq)
    moment = PastState(event, head, last.data, last.policy_version)
    if DRAW_AT in last.data:
        drawn = about_job.filter(event=EventType.DRAWN).first()
        moment.awaits_draw = drawn is None or seq < drawn.seq + drawn.data["drawn"]
    if shown and moment.is_listed:
        lists = {
            Status.ACTIVE: moment.active,
            Status.PENDING_ACKNOWLEDGMENT: moment.pending,
            Status.WAITLIST: moment.waitlist,
        }
        stood = FROM_THE_START if seq <= MOST_FOLDED else FROM_THE_END
        with connection.cursor() as cursor:
            values: dict[str, Any] = {"job": job_id, "seq": seq, "shown": shown}
            cursor.execute(PEOPLE.format(stood=stood), values)
            for *row, number in cursor.fetchall():
                place = _build_place(row)
                place.position = None if moment.awaits_draw else number
                lists[place.status].append(place)
    return moment


def read_places(job_id: UUID, seq: int) -> list[PastPlace]:
    """Return every live application after event `seq`, unordered. Reads the log up to there."""
    with connection.cursor() as cursor:
        cursor.execute(EVERYBODY, {"job": job_id, "seq": seq})
        return [_build_place(row) for row in cursor.fetchall()]


def read_stretch(job_id: UUID, seq: int, *, after: int, limit: int) -> list[PastPlace]:
    """Return at most `limit` people of the waitlist after event `seq`, skipping the first `after`.

    The first page also includes everyone with a seat. Reads the log up to the event.
    """
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"job": job_id, "seq": seq, "after": after, "limit": limit}
        cursor.execute(STRETCH, values)
        places = []
        for *row, number in cursor.fetchall():
            place = _build_place(row)
            place.position = number
            places.append(place)
        return places


def read_differences(
    job_id: UUID,
    earlier: int,
    later: int,
    *,
    has_places: tuple[bool, bool] = (True, True),
    shown: int = CHANGES_SHOWN,
) -> list[Difference] | None:
    """Return the differences between the line after event `earlier` and `later`, in one query.

    Kinds: joined, returned (after a lapse), passed (came and went in between), verified, drawn (got
    a place by the draw), seated, confirmed, lost, moved, left. `has_places`: whether people had
    places at each of the two moments; before a draw by lot nobody has one. After the first
    MOST_COMPARED events, places are unknown, so nobody counts as moved. Returns None if the two
    moments are further apart than that.
    """
    if later - earlier > MOST_COMPARED:
        return None
    stood = STOOD if later <= MOST_COMPARED else TOUCHED
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"job": job_id, "earlier": earlier, "later": later, "shown": shown}
        values |= zip(("places_before", "places_after"), has_places, strict=True)
        cursor.execute(DIFFERENCES.format(stood=stood), values)
        return [Difference(*row) for row in cursor.fetchall()]


def find_seq(job_id: UUID, as_of: datetime) -> int:
    """Return the seq of the last event recorded by a time, 0 before the first, in one query.

    Raises FutureMoment.
    """
    with connection.cursor() as cursor:
        cursor.execute(SEQ_AT, {"job": job_id, "as_of": as_of})
        row: tuple[int, bool] = cursor.fetchone()
    seq, is_future = row
    if is_future:
        raise FutureMoment
    return seq


def _build_place(row: Any) -> PastPlace:
    """Make a place from the columns that every statement here selects."""
    application_id, status, extended, data, applied_at, since, promoted_at, acknowledged_at = row
    place = PastPlace(
        application_id=application_id,
        applied_at=applied_at,
        status=Status(status),
        status_since=since,
    )
    place.set_past_state(json.loads(data))  # a raw cursor returns jsonb as text
    place.promoted_at, place.acknowledged_at = promoted_at, acknowledged_at
    place.deadline_extended = extended
    return place
