"""The line at a past moment, and what is different between two: as much of it as a page shows.

The same idea as `pipeline.replay`, whose lists are whole: an application's last event says where it
stands. Here the database puts the lists in order, and only their first people leave it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from jobs.models import Job
from pipeline.errors import FutureMoment, JobNotFound, NoSuchMoment
from pipeline.line.log import unstamp
from pipeline.models import Event

SHOWN = 100
"""How many people of each list a moment holds."""
CHANGES_SHOWN = 20
"""How many people of each kind of difference a comparison holds."""


@dataclass(frozen=True, slots=True)
class Person:
    """Where somebody stood. `place` counts from 1 in their list: for who waits, the position."""

    application_id: UUID
    place: int
    since: datetime
    decay_count: int
    acknowledge_by: datetime | None
    eligible_at: datetime | None


@dataclass(slots=True)
class Moment:
    """A job's line as it stood after one event; of each list its first SHOWN people, in order."""

    event: Event
    head: int
    job: dict[str, Any]
    """The job's status, capacity and policy, as the log's data has them."""
    policy_version: int
    active: list[Person] = field(default_factory=list)
    pending: list[Person] = field(default_factory=list)
    waitlist: list[Person] = field(default_factory=list)

    @property
    def seq(self) -> int:
        """After which event."""
        return self.event.seq

    @property
    def counts(self) -> dict[str, int]:
        """How many were `active`, `pending` and `waiting`, shown or not."""
        return {name: self.event.data[name] for name in ("active", "pending", "waiting")}

    @property
    def seats_free(self) -> int:
        """Seats nobody held."""
        held = self.event.data["active"] + self.event.data["pending"]
        return max(0, self.job["capacity"] - held)


@dataclass(frozen=True, slots=True)
class Difference:
    """How one application stands at a later moment, compared with an earlier one."""

    kind: str
    application_id: UUID
    before: int | None
    """The position at the earlier moment, if it waited then."""
    after: int | None
    outcome: str | None
    total: int
    """How many differ in this way."""


def moment_of(
    job_id: UUID, *, seq: int | None = None, as_of: datetime | None = None, shown: int = SHOWN
) -> Moment:
    """The line after event `seq`, or as it was at a time; with neither, after the last event.

    In four queries, five for a time. Raises JobNotFound; NoSuchMoment before the job's first
    event; FutureMoment.
    """
    head = Job.objects.filter(id=job_id).values_list("seq", flat=True).first()
    if head is None:
        raise JobNotFound
    if as_of is not None:
        seq = seq_at(job_id, as_of)
    seq = head if seq is None else seq
    if seq < 1:
        raise NoSuchMoment
    if seq > head:
        raise FutureMoment
    return _people_of(_bare_moment(job_id, seq, head), job_id, shown)


def differences(
    job_id: UUID, earlier: int, later: int, *, shown: int = CHANGES_SHOWN
) -> list[Difference]:
    """What is different after event `later`, compared with after `earlier`, in one query.

    Kinds: joined, passed (came and went in between), seated, confirmed, lost, moved, left.
    """
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"job": job_id, "earlier": earlier, "later": later, "shown": shown}
        cursor.execute(_DIFFERENCES, values)
        return [Difference(*row) for row in cursor.fetchall()]


_SEQ_AT = """
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
SELECT low, %(as_of)s > clock_timestamp() FROM search WHERE low >= high
"""
"""The last event recorded by a time: `at` never falls, so halving finds it in few steps."""


def seq_at(job_id: UUID, as_of: datetime) -> int:
    """The last event recorded by a time, 0 before the first; in one query. Raises FutureMoment."""
    with connection.cursor() as cursor:
        cursor.execute(_SEQ_AT, {"job": job_id, "as_of": as_of})
        seq, is_future = cursor.fetchone()
    if is_future:
        raise FutureMoment
    return seq


def _bare_moment(job_id: UUID, seq: int, head: int) -> Moment:
    about_job = Event.objects.filter(job_id=job_id, application_id=None, seq__lte=seq)
    last = about_job.order_by("-seq")[0]
    event = Event.objects.get(job_id=job_id, seq=seq)
    return Moment(event, head, last.data, last.policy_version)


_PEOPLE = """
WITH told AS (
    SELECT application_id, max(seq) AS seq,
           max(at) FILTER (WHERE event <> 'DEADLINE_EXTENDED') AS since
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq <= %(seq)s AND application_id IS NOT NULL
    GROUP BY application_id
), ordered AS (
    SELECT application_id, to_status, since, data, row_number() OVER (
        PARTITION BY to_status ORDER BY
            CASE WHEN to_status = 'ACTIVE' THEN since END,
            CASE WHEN to_status = 'PENDING_ACKNOWLEDGMENT' THEN data ->> 'deadline' END,
            (data ->> 'ticket')::bigint, (data ->> 'tie')::bigint, application_id
    ) AS place
    FROM told JOIN pipeline_event USING (application_id, seq)
    WHERE job_id = %(job)s AND to_status <> 'INACTIVE'
)
SELECT to_status, application_id, place, since, data
FROM ordered WHERE place <= %(shown)s ORDER BY to_status, place
"""


def _people_of(moment: Moment, job_id: UUID, shown: int) -> Moment:
    lists = {
        "ACTIVE": moment.active,
        "PENDING_ACKNOWLEDGMENT": moment.pending,
        "WAITLIST": moment.waitlist,
    }
    with connection.cursor() as cursor:
        cursor.execute(_PEOPLE, {"job": job_id, "seq": moment.seq, "shown": shown})
        for status, *row in cursor.fetchall():
            lists[status].append(_person(*row))
    return moment


def _person(application_id: UUID, place: int, since: datetime, data: str) -> Person:
    told = json.loads(data)  # a raw cursor gives jsonb as text
    return Person(
        application_id=application_id,
        place=place,
        since=since,
        decay_count=told["decay_count"],
        acknowledge_by=unstamp(told.get("deadline")),
        eligible_at=unstamp(told.get("eligible_at")),
    )


_DIFFERENCES = """
WITH told AS (
    SELECT application_id, max(seq) FILTER (WHERE seq <= %(earlier)s) AS before, max(seq) AS after
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq <= %(later)s AND application_id IS NOT NULL
    GROUP BY application_id
), stood AS (
    SELECT told.application_id, b.to_status AS was, a.to_status AS now_is, a.outcome,
           CASE WHEN b.to_status = 'WAITLIST' THEN row_number() OVER (
               PARTITION BY b.to_status ORDER BY
               (b.data ->> 'ticket')::bigint, (b.data ->> 'tie')::bigint) END AS place_before,
           CASE WHEN a.to_status = 'WAITLIST' THEN row_number() OVER (
               PARTITION BY a.to_status ORDER BY
               (a.data ->> 'ticket')::bigint, (a.data ->> 'tie')::bigint) END AS place_after
    FROM told
    LEFT JOIN pipeline_event b ON b.job_id = %(job)s AND b.seq = told.before
    JOIN pipeline_event a ON a.job_id = %(job)s AND a.seq = told.after
), kinds AS (
    SELECT *, CASE
        WHEN was IS NULL AND now_is = 'INACTIVE' THEN 'passed'
        WHEN was IS NULL THEN 'joined'
        WHEN was = 'INACTIVE' OR was = now_is AND place_before IS NOT DISTINCT FROM place_after
            THEN NULL
        WHEN now_is = 'INACTIVE' THEN 'left'
        WHEN was = 'WAITLIST' AND now_is = 'WAITLIST' THEN 'moved'
        WHEN was = 'WAITLIST' THEN 'seated'
        WHEN now_is = 'WAITLIST' THEN 'lost'
        WHEN now_is = 'ACTIVE' THEN 'confirmed'
    END AS kind FROM stood
), counted AS (
    SELECT *, count(*) OVER (PARTITION BY kind) AS total, row_number() OVER (
        PARTITION BY kind ORDER BY place_after, place_before, application_id) AS place
    FROM kinds WHERE kind IS NOT NULL
)
SELECT kind, application_id, place_before, place_after, outcome, total
FROM counted WHERE place <= %(shown)s ORDER BY kind, place
"""
