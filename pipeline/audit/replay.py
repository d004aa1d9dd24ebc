"""Replay of a job's whole line, at any past moment, from its log alone.

It uses the fold of `pipeline.selectors.past_states` without its limits, so it returns even a
million people.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from jobs.policies import Policy, logged_policy_values
from pipeline.database.replica import reads_replica
from pipeline.domain.states import Status
from pipeline.selectors.past_states import (
    PastPlace,
    past_places_after,
    past_state_of,
    past_stretch_after,
)


@dataclass(slots=True)
class Line:
    """A job's line after one event, each list in order."""

    job_id: UUID
    seq: int
    at: datetime
    status: str
    capacity: int
    policy: Policy
    policy_version: int
    awaits_draw: bool  # nobody has a position yet
    active: list[PastPlace] = field(default_factory=list)
    pending: list[PastPlace] = field(default_factory=list)
    waitlist: list[PastPlace] = field(default_factory=list)
    # The number of people before the next page of the waitlist; None on the last page.
    next_after: int | None = None


@reads_replica
def replay_one_page(
    job_id: UUID,
    *,
    seq: int | None = None,
    as_of: datetime | None = None,
    after: int = 0,
    limit: int,
) -> Line:
    """Return the same as `replay`, but only one page of the waitlist.

    The page has at most `limit` people after the first `after`. Only the first page includes the
    seats.
    """
    line = _replayed_line_at(job_id, seq, as_of)
    places = past_stretch_after(job_id, line.seq, after=after, limit=limit + 1)
    waiting = [place for place in places if place.status is Status.WAITLIST]
    line.waitlist = waiting[:limit]
    if line.awaits_draw:
        for place in line.waitlist:
            place.position = None
    line.next_after = after + limit if len(waiting) > limit else None
    _add_replayed_seats(line, places)
    return line


@reads_replica
def replay(job_id: UUID, *, seq: int | None = None, as_of: datetime | None = None) -> Line:
    """Return the line after event `seq`, or at time `as_of`, or now.

    A change that commits right now may have been recorded before `as_of`, so the line at a time
    that has only just passed can still gain an event. The line after a `seq` never changes.

    Raises JobNotFound; NoSuchMoment before the job's first event; FutureMoment.
    """
    line = _replayed_line_at(job_id, seq, as_of)
    places = past_places_after(job_id, line.seq)
    add_replayed_people(line, places)
    return line


def add_replayed_people(line: Line, places: Collection[PastPlace]) -> None:
    """Fill the lists of a whole line, each in its order, and set the positions."""
    _add_replayed_seats(line, places)
    line.waitlist = [place for place in places if place.status is Status.WAITLIST]
    line.waitlist.sort(key=lambda place: (place.ticket, place.tie))
    verified = [place for place in line.waitlist if place.is_verified and not line.awaits_draw]
    for position, place in enumerate(verified, start=1):
        place.position = position


def _replayed_line_at(job_id: UUID, seq: int | None, as_of: datetime | None) -> Line:
    moment = past_state_of(job_id, seq=seq, as_of=as_of, shown=0)
    return Line(
        job_id=job_id,
        seq=moment.seq,
        at=moment.event.at,
        status=moment.job["status"],
        capacity=moment.job["capacity"],
        policy=Policy(**logged_policy_values(moment.job["policy"])),
        policy_version=moment.policy_version,
        awaits_draw=moment.awaits_draw,
    )


def _add_replayed_seats(line: Line, places: Iterable[PastPlace]) -> None:
    """Fill the lists of seats, each in its order."""
    seats = {Status.ACTIVE: line.active, Status.PENDING_ACKNOWLEDGMENT: line.pending}
    for place in places:
        if place.status in seats:
            seats[place.status].append(place)
    line.active.sort(key=lambda place: (place.status_since, place.application_id))
    line.pending.sort(key=lambda place: (place.acknowledge_by, place.application_id))
