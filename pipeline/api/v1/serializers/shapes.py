"""The types of what goes out. A value that there is not is None, never missing."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Generic, TypedDict, TypeVar
from uuid import UUID

from jobs.models import JobStatus, Scope
from pipeline.domain.states import ActorKind, EventType, Outcome, Status

Row = TypeVar("Row")

Count = Annotated[int, ("minimum", 0)]
"""A whole number that is never negative."""

Hash = Annotated[str, ("pattern", "^[0-9a-f]{64}$")]
"""A SHA-256 in hexadecimal digits."""


class PageOf(TypedDict, Generic[Row]):
    """A page of a list."""

    data: list[Row]
    next_cursor: str | None


class DetailOut(TypedDict):
    """An answer that says only that the request was taken."""

    detail: str


class PolicyOut(TypedDict):
    """What a job asks of the people in its line, and which version of that it is."""

    acknowledgment_window_seconds: Count
    acknowledge_first_seat: bool
    penalty_places: Count
    max_decays: Count | None
    cooldown_seconds: Count
    version: Count


class PlaceOut(TypedDict):
    """Where one application stood at that moment."""

    application_id: UUID
    status: Annotated[str, Status]
    position: int | None
    decay_count: Count
    acknowledge_by: datetime | None
    eligible_at: datetime | None
    applied_at: datetime
    promoted_at: datetime | None
    acknowledged_at: datetime | None
    status_since: datetime


class LineOut(TypedDict):
    """A job's line as it stood at some moment."""

    job_id: UUID
    as_of: datetime
    seq: Count
    status: Annotated[str, JobStatus]
    capacity: Count
    policy: PolicyOut
    active: list[PlaceOut]
    pending: list[PlaceOut]
    waitlist: list[PlaceOut]
    server_time: datetime


class HeadOut(TypedDict):
    """The last event of a log."""

    seq: Count
    hash: Hash


class VerdictOut(TypedDict):
    """What verifying a log found."""

    chain: Annotated[str, ("enum", ("ok", "broken"))]
    first_bad_seq: int | None
    head: HeadOut
    replay_matches: bool
    differences: list[str] | None
    known: bool | None


class CompanyOut(TypedDict):
    """A company, for itself."""

    id: UUID
    name: str
    created_at: datetime


class PersonOut(TypedDict):
    """A person, under the name that the reader may know."""

    id: UUID
    name: str | None
    email: str
    created_at: datetime


class CompanyRef(TypedDict):
    """Whose job it is."""

    id: UUID
    name: str


class JobRef(TypedDict):
    """The job that is applied to."""

    id: UUID
    title: str


class ApplicantRef(TypedDict):
    """Who applied, under the name given with this application."""

    id: UUID
    name: str
    email: str


class JobOut(TypedDict):
    """An opening: its seats, its line in numbers, and what it asks of people."""

    id: UUID
    company: CompanyRef
    title: str
    description: str
    location: str
    status: Annotated[str, JobStatus]
    capacity: Count
    active_count: Count
    pending_count: Count
    waitlist_count: Count
    seats_free: Count
    policy: PolicyOut
    seq: Count
    opened_at: datetime | None
    closed_at: datetime | None
    created_at: datetime
    updated_at: datetime


class ApplicationOut(TypedDict):
    """One person's application to one job, and where it stands."""

    id: UUID
    job: JobRef
    applicant: ApplicantRef
    status: Annotated[str, Status]
    outcome: Annotated[str, Outcome] | None
    position: int | None
    people_waiting: Count
    decay_count: Count
    decays_left: Count | None
    acknowledge_by: datetime | None
    eligible_at: datetime | None
    applied_at: datetime
    promoted_at: datetime | None
    acknowledged_at: datetime | None
    ended_at: datetime | None
    time_in_status_seconds: Count
    server_time: datetime


class TokenOut(TypedDict):
    """A token that stands for the person who proved their address."""

    token: str
    expires_at: datetime


class ApiKeyOut(TypedDict):
    """A key to the API, as its company's owners see it: never the key itself."""

    id: UUID
    hint: str
    name: str
    scopes: list[Annotated[str, Scope]]
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


class NewApiKeyOut(ApiKeyOut):
    """A key that was just made. This is the only time that it can be read."""

    key: str


class ActorRef(TypedDict):
    """Who did it; the system has no id."""

    kind: Annotated[str, ActorKind]
    id: UUID | None


class EventOut(TypedDict):
    """A row of a job's log."""

    seq: Count
    id: UUID
    job_id: UUID
    application_id: UUID | None
    event: Annotated[str, EventType]
    from_status: Annotated[str, Status, JobStatus] | None
    to_status: Annotated[str, Status, JobStatus] | None
    outcome: Annotated[str, Outcome] | None
    actor: ActorRef
    cause_seq: Count | None
    policy_version: Count
    at: datetime
    effective_at: datetime
    data: dict[str, Any]
    hash: Hash


class ToldEventOut(EventOut):
    """A row of a job's log, and what it means for the one who reads it."""

    sentence: str


class FeedOut(TypedDict):
    """Events in the order of their commits. The cursor is always there: the feed goes on at it."""

    data: list[EventOut]
    next_cursor: str


class PipelineOut(TypedDict):
    """A job and everybody in its line, as of one instant; of the waitlist, the front."""

    job: JobOut
    active: list[ApplicationOut]
    pending: list[ApplicationOut]
    waitlist: PageOf[ApplicationOut]
