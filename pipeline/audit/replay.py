"""Rebuilding a job's line, at any past moment, from its log alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from jobs.models import Job
from jobs.policies import Policy
from pipeline.domain.errors import FutureMoment, JobNotFound, NoSuchMoment
from pipeline.domain.states import EventType, Status
from pipeline.line.event_log import unstamp
from pipeline.models import Event


@dataclass(slots=True)
class Place:
    """Where one application stood. `position`: 1 is the next in line; None outside the waitlist."""

    application_id: UUID
    applied_at: datetime
    status: Status
    status_since: datetime
    outcome: str | None = None
    decay_count: int = 0
    ticket: int | None = None
    tie: int | None = None
    eligible_at: datetime | None = None
    acknowledge_by: datetime | None = None
    deadline_extended: bool = False
    promoted_at: datetime | None = None
    acknowledged_at: datetime | None = None
    ended_at: datetime | None = None
    position: int | None = None

    def take(self, data: dict[str, Any]) -> None:
        """Take over what an event's data says of an application after it."""
        self.decay_count = data["decay_count"]
        self.ticket, self.tie = data.get("ticket"), data.get("tie")
        self.acknowledge_by = unstamp(data.get("deadline"))
        self.eligible_at = unstamp(data.get("eligible_at"))


@dataclass(slots=True)
class Line:
    """A job's line as it stood after one event; each list in its order."""

    job_id: UUID
    seq: int
    at: datetime
    status: str
    capacity: int
    policy: Policy
    policy_version: int
    active: list[Place] = field(default_factory=list)
    pending: list[Place] = field(default_factory=list)
    waitlist: list[Place] = field(default_factory=list)


def replay(job_id: UUID, *, seq: int | None = None, as_of: datetime | None = None) -> Line:
    """The line after event `seq`, or as it was at a time; with neither, after the last event.

    A change that is being committed at this moment may have been recorded before `as_of`, so a time
    that has only just passed can still gain an event; a `seq` never changes.

    Raises JobNotFound; NoSuchMoment before the job's first event; FutureMoment.
    """
    head = _head(job_id)
    if as_of is not None:
        seq = _seq_at(job_id, head, as_of)
    seq = head if seq is None else seq
    if seq < 1:
        raise NoSuchMoment
    if seq > head:
        raise FutureMoment
    return _with_people(_job_after(job_id, seq), _places_after(job_id, seq))


def _head(job_id: UUID) -> int:
    head = Job.objects.filter(id=job_id).values_list("seq", flat=True).first()
    if head is None:
        raise JobNotFound
    return head


def _seq_at(job_id: UUID, head: int, as_of: datetime) -> int:
    """The last event recorded by that time: a binary search, since `at` never falls."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        if as_of > cursor.fetchone()[0]:
            raise FutureMoment
    low, high = 0, head
    while low < high:
        middle = (low + high + 1) // 2
        if _event(job_id, middle).at <= as_of:
            low = middle
        else:
            high = middle - 1
    return low


def _event(job_id: UUID, seq: int) -> Event:
    return Event.objects.only("at").get(job_id=job_id, seq=seq)


def _job_after(job_id: UUID, seq: int) -> Line:
    about_job = Event.objects.filter(job_id=job_id, application_id=None, seq__lte=seq)
    last = about_job.order_by("-seq")[0]
    return Line(
        job_id=job_id,
        seq=seq,
        at=_event(job_id, seq).at,
        status=last.data["status"],
        capacity=last.data["capacity"],
        policy=Policy(**last.data["policy"]),
        policy_version=last.policy_version,
    )


_LAST_EVENTS = """
WITH told AS (
    SELECT application_id, max(seq) AS seq,
           min(at) AS applied_at,
           max(at) FILTER (WHERE event <> %(extended)s) AS status_since,
           max(at) FILTER (WHERE to_status = %(pending)s AND event <> %(extended)s) AS promoted_at,
           max(at) FILTER (WHERE event = %(acknowledged)s) AS acknowledged_at
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq <= %(seq)s AND application_id IS NOT NULL
    GROUP BY application_id
)
SELECT application_id, applied_at, to_status, status_since, promoted_at, acknowledged_at,
       event = %(extended)s, data
FROM told JOIN pipeline_event USING (application_id, seq)
WHERE job_id = %(job)s AND to_status <> %(ended)s
"""
"""What each live application's events add up to: its last one says where it stands."""


def _places_after(job_id: UUID, seq: int) -> Iterable[Place]:
    words = {
        "extended": EventType.DEADLINE_EXTENDED.value,
        "acknowledged": EventType.ACKNOWLEDGED.value,
        "pending": Status.PENDING_ACKNOWLEDGMENT.value,
        "ended": Status.INACTIVE.value,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LAST_EVENTS, {"job": job_id, "seq": seq, **words})
        return [_place(row) for row in cursor.fetchall()]


def _place(row: tuple[Any, ...]) -> Place:
    application_id, applied_at, status, since, promoted_at, acknowledged_at, extended, data = row
    place = Place(application_id, applied_at, Status(status), since)
    place.take(json.loads(data))  # a raw cursor gives jsonb as text
    place.promoted_at, place.acknowledged_at = promoted_at, acknowledged_at
    place.deadline_extended = extended
    return place


def _with_people(line: Line, places: Iterable[Place]) -> Line:
    lists = {
        Status.ACTIVE: line.active,
        Status.PENDING_ACKNOWLEDGMENT: line.pending,
        Status.WAITLIST: line.waitlist,
    }
    for place in places:
        lists[place.status].append(place)
    line.active.sort(key=lambda place: (place.status_since, place.application_id))
    line.pending.sort(key=lambda place: (place.acknowledge_by, place.application_id))
    line.waitlist.sort(key=lambda place: (place.ticket, place.tie))
    for position, place in enumerate(line.waitlist, start=1):
        place.position = position
    return line
