"""The line at a past moment, and what is different between two: as much of it as a page shows.

The same idea as `pipeline.audit.replay`, whose lists are whole: an application's last event says
where it
stands. Here the database puts the lists in order, and only their first people leave it; it reads at
most MOST_FOLDED events, from the log's beginning or from its end.
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
from pipeline.line.event_log import unstamp
from pipeline.models import Event
from pipeline.selectors import past_states_sql as sql

SHOWN = 100
"""How many people of each list a moment holds."""
MOST_FOLDED = 100_000
"""How many events are read at most to say who stood where. Moments that are further than that from
both ends of a log are known by their counts alone."""
MOST_COMPARED = 50_000
"""How many events are read at most to say what differs between two moments."""
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
    def is_listed(self) -> bool:
        """Whether its people are known, and not only how many there were."""
        return min(self.seq, self.head - self.seq) <= MOST_FOLDED

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
    status: str
    """In which status the application is at the later moment."""
    total: int
    """How many differ in this way."""


def moment_of(
    job_id: UUID, *, seq: int | None = None, as_of: datetime | None = None, shown: int = SHOWN
) -> Moment:
    """The line after event `seq`, or as it was at a time; with neither, after the last event.

    In at most four queries, five for a time. Raises JobNotFound; NoSuchMoment before the job's
    first event; FutureMoment.
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
) -> list[Difference] | None:
    """What is different after event `later`, compared with after `earlier`, in one query.

    Kinds: joined, passed (came and went in between), seated, confirmed, lost, moved, left. Beyond
    the first MOST_COMPARED events nobody has a place, so none has moved; of two moments that are
    further apart, None: nothing but their counts is known.
    """
    if later - earlier > MOST_COMPARED:
        return None
    stood = sql.STOOD if later <= MOST_COMPARED else sql.TOUCHED
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"job": job_id, "earlier": earlier, "later": later, "shown": shown}
        cursor.execute(sql.DIFFERENCES.format(stood=stood), values)
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


def _people_of(moment: Moment, job_id: UUID, shown: int) -> Moment:
    lists = {
        "ACTIVE": moment.active,
        "PENDING_ACKNOWLEDGMENT": moment.pending,
        "WAITLIST": moment.waitlist,
    }
    if not (shown and moment.is_listed):
        return moment
    stood = sql.FROM_THE_START if moment.seq <= MOST_FOLDED else sql.FROM_THE_END
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"job": job_id, "seq": moment.seq, "shown": shown}
        cursor.execute(sql.PEOPLE.format(stood=stood), values)
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
