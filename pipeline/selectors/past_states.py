"""Reads of a line after one event: everyone in it, or as much as a page shows.

An application's last event says where it stands. That fold is written once, in `past_states_sql`.
`past_places_after` reads a whole line. `past_moment_of` and `past_differences` are bounded: the
database orders the lists, returns the first SHOWN people of each, and reads at most MOST_FOLDED
events, from the log's beginning or from its end. `pipeline.audit.log_fold` independently checks the
same, row by row.
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
from pipeline.domain.states import DRAW_AT, EventType, Status
from pipeline.line.event_log import parse_logged_time
from pipeline.line.removed_logs import refuse_removed_log
from pipeline.models import Event
from pipeline.selectors import past_states_sql as sql

# The most people in each list of a moment.
SHOWN = 100
# The most events that are read to list people. For a moment further than that from both ends of the
# log, only the counts are known.
MOST_FOLDED = 100_000
# The most events that are read to compare two moments.
MOST_COMPARED = 50_000
# The most people for each kind of difference in a comparison.
CHANGES_SHOWN = 20


@dataclass(slots=True)
class PastPlace:
    """Place of one application. `position`: 1 is the next in line.

    It is None outside the waitlist, for unverified applications, and before a draw by lot.
    """

    application_id: UUID
    applied_at: datetime
    status: Status
    status_since: datetime
    outcome: str | None = None
    decay_count: int = 0
    ticket: int | None = None
    tie: int | None = None
    eligible_at: datetime | None = None
    not_before: datetime | None = None
    accept_until: datetime | None = None
    passes_used: int = 0
    pass_next: bool = False
    passed_at: datetime | None = None
    verify_by: datetime | None = None
    acknowledge_by: datetime | None = None
    deadline_extended: bool = False
    promoted_at: datetime | None = None
    acknowledged_at: datetime | None = None
    ended_at: datetime | None = None
    position: int | None = None

    def set_past_state(self, data: dict[str, Any]) -> None:
        """Take over an application's values from an event's data."""
        self.decay_count = data["decay_count"]
        self.ticket, self.tie = data.get("ticket"), data.get("tie")
        self.acknowledge_by = parse_logged_time(data.get("deadline"))
        self.eligible_at = parse_logged_time(data.get("eligible_at"))
        self.not_before = parse_logged_time(data.get("not_before"))
        self.accept_until = parse_logged_time(data.get("accept_until"))
        self.passes_used = data.get("passes_used", 0)
        self.pass_next = data.get("pass_next", False)
        self.passed_at = parse_logged_time(data.get("passed_at"))
        self.verify_by = parse_logged_time(data.get("verify_by"))

    @property
    def is_verified(self) -> bool:
        """Tell whether the address was proved by then or the company submitted the application."""
        return self.verify_by is None


@dataclass(slots=True)
class PastState:
    """A job's line after one event. Each list has its first SHOWN people, in order.

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


def past_state_of(
    job_id: UUID, *, seq: int | None = None, as_of: datetime | None = None, shown: int = SHOWN
) -> PastState:
    """Return the line after event `seq`, or at time `as_of`, or now.

    Takes at most four queries, one more for a time, and one for a lottery. Raises JobNotFound;
    NoSuchMoment before the job's first event; FutureMoment; LogArchived.
    """
    head = Job.objects.filter(id=job_id).values_list("seq", flat=True).first()
    if head is None:
        raise JobNotFound
    if as_of is not None:
        seq = past_seq_at(job_id, as_of)
        head = max(head, seq)  # a change may have been committed in between
    seq = head if seq is None else seq
    if seq > head:
        raise FutureMoment
    about_job = Event.objects.filter(job_id=job_id, application_id=None, seq__lte=seq)
    last = about_job.order_by("-seq").first()
    if last is None:
        refuse_removed_log(job_id)
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
        stood = sql.FROM_THE_START if seq <= MOST_FOLDED else sql.FROM_THE_END
        with connection.cursor() as cursor:
            values: dict[str, Any] = {"job": job_id, "seq": seq, "shown": shown}
            cursor.execute(sql.PEOPLE.format(stood=stood), values)
            for *row, number in cursor.fetchall():
                place = _past_place_of(row)
                place.position = None if moment.awaits_draw else number
                lists[place.status].append(place)
    return moment


def past_places_after(job_id: UUID, seq: int) -> list[PastPlace]:
    """Return every live application after event `seq`, unordered. Reads the log up to there."""
    with connection.cursor() as cursor:
        cursor.execute(sql.EVERYBODY, {"job": job_id, "seq": seq})
        return [_past_place_of(row) for row in cursor.fetchall()]


def past_stretch_after(job_id: UUID, seq: int, *, after: int, limit: int) -> list[PastPlace]:
    """Return at most `limit` people of the waitlist after event `seq`, skipping the first `after`.

    The first page also includes everyone with a seat. Reads the log up to the event.
    """
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"job": job_id, "seq": seq, "after": after, "limit": limit}
        cursor.execute(sql.STRETCH, values)
        places = []
        for *row, number in cursor.fetchall():
            place = _past_place_of(row)
            place.position = number
            places.append(place)
        return places


def past_differences(
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
    stood = sql.STOOD if later <= MOST_COMPARED else sql.TOUCHED
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"job": job_id, "earlier": earlier, "later": later, "shown": shown}
        values |= zip(("places_before", "places_after"), has_places, strict=True)
        cursor.execute(sql.DIFFERENCES.format(stood=stood), values)
        return [Difference(*row) for row in cursor.fetchall()]


def past_seq_at(job_id: UUID, as_of: datetime) -> int:
    """Return the seq of the last event recorded by a time, 0 before the first, in one query.

    Raises FutureMoment.
    """
    with connection.cursor() as cursor:
        cursor.execute(sql.SEQ_AT, {"job": job_id, "as_of": as_of})
        row: tuple[int, bool] = cursor.fetchone()
    seq, is_future = row
    if is_future:
        raise FutureMoment
    return seq


def _past_place_of(row: Any) -> PastPlace:
    """Make a place from the columns that every statement here selects."""
    application_id, status, extended, data, applied_at, since, promoted_at, acknowledged_at = row
    place = PastPlace(application_id, applied_at, Status(status), since)
    place.set_past_state(json.loads(data))  # a raw cursor returns jsonb as text
    place.promoted_at, place.acknowledged_at = promoted_at, acknowledged_at
    place.deadline_extended = extended
    return place
