"""State of a locked job: its hot row, the clock, and what this change has read and logged.

Only `pipeline.line.lock` makes a `LockedJob` of the database, so a function that takes one can rely
on the lock; `pipeline.line.sources.Memory` makes those of a line that only it has.
`pipeline.line.moves` makes moves on it; `pipeline.line.write` writes it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.db.models import Model

from jobs.activity import Kind
from jobs.line_counters import LineCounters
from jobs.models import JobStatus
from jobs.policies import Policy
from jobs.quiet_hours import QuietHours
from pipeline.domain.errors import ApplicationNotFound
from pipeline.domain.states import Actor
from pipeline.line.event_log import LogEntry
from pipeline.line.misses import LastMiss
from pipeline.models import Application, PlannedSeats

# Among `LockedJob.webhook_types`: an endpoint wants all of them.
ALL_WEBHOOKS = "*"


class Due(NamedTuple):
    """Things due in a line: offers and proofs of an address, and planned seats, in order.

    `next_at` is the next time after that: of a deadline, of planned seats, or of the job itself.
    """

    people: list[Application]
    plans: list[PlannedSeats]
    next_at: datetime | None


class Next(NamedTuple):
    """The next in line, each with a time zone, and the first ticket that was skipped.

    `is_partial`: others who could take a seat for anyone may stand between them.
    """

    people: list[tuple[Application, str]]
    skipped: int | None
    is_partial: bool = False


class Front(NamedTuple):
    """Front of a line, seen from a place in it: the first ticket, and the verified people ahead."""

    ticket: int
    people_ahead: int


class Source(Protocol):
    """Rows and log of a line, as the decisions about it need them, and the place to write them.

    Answers are as of the last write, in the line's order; the caller attaches applications to the
    job. `job.now` is the time of a question, unless it names another.
    """

    def application(self, job: LockedJob, id: UUID) -> tuple[Application, str] | None:
        """Return an application of the job and its time zone, or None."""

    def due(self, job: LockedJob) -> Due:
        """Return what is due."""

    def next_in_line(self, job: LockedJob, *, passes: int) -> Next:
        """Return the first eligible people, one for each free seat.

        Also at most `passes` people before the last of them who pass their turn.
        """

    def next_members(self, job: LockedJob, *, passes: int) -> list[tuple[Application, str]]:
        """Return the first eligible people of the group, one for each free reserved seat.

        Also people of it who pass their turn, as above.
        """

    def next_held(self, job: LockedJob) -> datetime | None:
        """Return the next end of a cool-down or deferral of anyone verified in line."""

    def next_instant(self, job: LockedJob) -> datetime | None:
        """Return the next time of a deadline, of seats or of the job, or such an end.

        After the last event.
        """

    def waiting(self, job: LockedJob) -> list[Application]:
        """Return everyone on the waitlist, in no order."""

    def left_open(self, job: LockedJob, *, most: int) -> tuple[int, list[Application]]:
        """Return the seq of a closed job's closing, and the first people left in its line."""

    def unanswered_pass(self, job: LockedJob) -> int | None:
        """Return the seq of the last turn passed in line if nobody has been offered that seat."""

    def last_miss(self, application: Application) -> LastMiss:
        """Return the last miss of an application, or the decision that ended it."""

    def place_before_offer(self, application: Application) -> tuple[int, int]:
        """Return the ticket and tie of a person before the seat that they hold."""

    def front(self, job: LockedJob, application: Application) -> Front:
        """Return the front of the line as the person sees it, who is on the waitlist."""

    def drop_plans(self, job: LockedJob) -> None:
        """Delete all plans of a job that closes."""

    def put_plan(self, plan: PlannedSeats) -> None:
        """Write a plan whose seats have changed, or remove it when it is done."""

    def publish_form(self, job: LockedJob, *, actor: Actor) -> None:
        """Publish the form that the company was editing, if it is not yet, as the job opens."""

    def note_activity(self, kind: Kind, **about: Any) -> None:
        """Note what a member did, with the change (`jobs.activity.note`)."""

    def write(self, job: LockedJob, *, commit: bool) -> None:
        """Write the changes of a job (`pipeline.line.write`)."""


@dataclass(slots=True, kw_only=True)
class LockedJob(LineCounters):
    """Hot row of a job, read under its lock, and the changes made to it since.

    `now` is the only clock: the database's, read after the lock and never before the last event.
    In a sandbox it is ahead of the database's by the job's offset, read under the same lock, and
    every other time of the line goes by it.
    """

    id: UUID
    company_id: UUID
    status: JobStatus
    capacity: int
    active_count: int
    pending_count: int
    waitlist_count: int
    unverified_count: int
    next_ticket: int
    head_ticket: int
    seq: int
    chain_head: bytes
    next_due_at: datetime | None
    policy_version: int
    form_version: int
    policy: Policy
    opened_at: datetime | None
    closed_at: datetime | None
    last_event_at: datetime
    last_txid: int
    is_test: bool  # of a sandbox
    clock_offset_seconds: int
    draw_at: datetime | None
    drawn_at: datetime | None
    positions_to_fill: int | None
    hired_count: int
    exception_count: int
    reserved_seats: int
    reserved_for: str
    reserved_count: int
    reserved_until: datetime | None
    opens_at: datetime | None
    closes_at: datetime | None
    # Types of webhooks that someone wants, for `pipeline.webhooks.queue`; read along, because
    # it may not ask the database.
    webhook_types: list[str]
    now: datetime
    source: Source
    # In a sandbox, the time up to which this change settles; until then, `now` is an instant
    # before it.
    settles_until: datetime | None = None
    # Whether the log of a job in a sandbox is full: people can leave, and nobody is promoted.
    is_full: bool = False
    # `next_due_at` as stored: decay workers are woken only when it changes.
    announced_due_at: datetime | None

    # Applications read so far, and which of them to insert and update.
    people: dict[UUID, Application] = field(default_factory=dict)
    created: dict[UUID, Application] = field(default_factory=dict)
    changed: dict[UUID, Application] = field(default_factory=dict)
    # New rows of other tables that belong to this change, and are not written yet.
    beside: list[Model] = field(default_factory=list)
    # Time zones of their people, where known, for quiet hours.
    zones: dict[UUID, str] = field(default_factory=dict)
    # Events not written yet, and all events of this transaction for `pipeline.line.write`.
    entries: list[LogEntry] = field(default_factory=list)
    announced_entries: list[LogEntry] = field(default_factory=list)
    # Whether this transaction writes tasks (`pipeline.line.write`), and so wakes workers.
    wrote_tasks: bool = False
    # Turns that this transaction has passed while it offered seats, and whether it stopped at the
    # limit. Then people who come before others may still be waiting for a free seat, so nobody else
    # gets it in this transaction.
    turns_passed: int = 0
    # Whether this change touches the positions, the people hired, the dates, the exceptions or the
    # reserved seats.
    has_rare_changes: bool = False
    is_walk_unfinished: bool = False
    # Events that opened a seat in this change, oldest first. Each promotion takes one as its cause.
    freed_by: deque[int] = field(default_factory=deque)

    @property
    def database_due_at(self) -> datetime | None:
        """Return `next_due_at` by the database's clock, as it is stored.

        If a sandbox's clock has just moved, its job is due from now on, not from long ago: it must
        not go before jobs that have really been due for longer.
        """
        if not self.is_test or self.next_due_at is None:
            return self.next_due_at
        return max(self.next_due_at, self.now) - timedelta(seconds=self.clock_offset_seconds)

    @property
    def is_due(self) -> bool:
        """Tell whether something may have to be settled before any other decision."""
        return self.next_due_at is not None and self.next_due_at <= self.now

    def next_date(self, since: datetime) -> datetime | None:
        """Return the next announced time of the job itself: it opens, is drawn by lot or closes."""
        dates = [self.closes_at, self.draw_at if self.awaits_draw else None, self.reserved_until]
        if self.status is JobStatus.DRAFT:
            dates = [self.opens_at]
        elif self.status is JobStatus.CLOSED:
            dates = []
        return min((at for at in dates if at and at > since), default=None)

    def quiet_hours_of(self, application: Application) -> QuietHours | None:
        """Return the quiet hours of an application's person under the current policy, if any."""
        return self.policy.quiet_hours(self.zones.get(application.id, ""))

    def can_take_seat(self, application: Application) -> bool:
        """Tell whether a seat is free for a person: one for anyone, or one for their group."""
        return bool(self.seats_free or (application.is_member and self.reserved_seats_free))

    def note_due(self, moment: datetime) -> None:
        """Make the job due at `moment`, unless it is due earlier."""
        self.next_due_at = min(moment, self.next_due_at or moment)

    def application(self, application_id: UUID) -> Application:
        """Return an application that was read under the lock. Raises ApplicationNotFound."""
        try:
            return self.people[application_id]
        except KeyError:
            raise ApplicationNotFound from None

    def attach(self, application: Application, time_zone: str | None = None) -> Application:
        """Attach an application that was just read. Returns the one already attached, if any."""
        if time_zone is not None:
            self.zones[application.id] = time_zone
        return self.people.setdefault(application.id, application)

    def mark_written(self) -> None:
        """Forget the changes that are now in the database."""
        self.created.clear()
        self.changed.clear()
        if self.beside:
            self.beside.clear()
        self.entries.clear()
        self.announced_due_at = self.next_due_at
