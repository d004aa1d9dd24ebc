"""State of a job whose row is locked: the hot row, the clock, and what this change read and logged.

Only `pipeline.line.lock` makes a `LockedJob`, so a function that takes one can rely on the lock.
Moves made on it stand in `pipeline.line.moves`; `pipeline.line.write` brings it to the database.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from jobs.models import JobStatus
from jobs.policies import Policy
from pipeline.domain.errors import ApplicationNotFound
from pipeline.line.event_log import LogEntry
from pipeline.models import Application

# Among `LockedJob.webhook_types`: an endpoint wants all of them.
ALL_WEBHOOKS = "*"


@dataclass(slots=True, kw_only=True)
class LockedJob:
    """Hot row of a job, read under its lock, and the changes made to it since.

    `now` is the only clock: the database's, read after the lock, never before the last event.
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
    policy: Policy
    opened_at: datetime | None
    closed_at: datetime | None
    last_event_at: datetime
    last_txid: int
    # Types of webhooks that somebody wants, for `pipeline.webhooks.follow_up`; read along, because
    # it may not ask the database.
    webhook_types: list[str]
    now: datetime
    # `next_due_at` as the database has it: the decay workers are woken only when it changes.
    announced_due_at: datetime | None

    # Applications read so far, and those of them to insert and to update.
    people: dict[UUID, Application] = field(default_factory=dict)
    created: dict[UUID, Application] = field(default_factory=dict)
    changed: dict[UUID, Application] = field(default_factory=dict)
    # Events not written yet, and all events of this transaction for `pipeline.line.signals`.
    entries: list[LogEntry] = field(default_factory=list)
    announced_entries: list[LogEntry] = field(default_factory=list)
    # Tells if this transaction writes tasks (`pipeline.line.follow_up`): it then wakes workers.
    wrote_tasks: bool = False
    # Events that opened a seat in this change, oldest first; a promotion takes one as its cause.
    freed_by: deque[int] = field(default_factory=deque)

    @property
    def seats_free(self) -> int:
        """Count the seats that nobody holds; 0 while a lowered capacity drains."""
        return max(0, self.capacity - self.active_count - self.pending_count)

    @property
    def people_waiting(self) -> int:
        """Count the verified people on the waitlist."""
        return self.waitlist_count - self.unverified_count

    @property
    def is_due(self) -> bool:
        """Tell if something may have to be settled before anything else is decided."""
        return self.next_due_at is not None and self.next_due_at <= self.now

    def due(self, moment: datetime) -> None:
        """Make the job due at `moment`, unless it is due before."""
        self.next_due_at = min(moment, self.next_due_at or moment)

    def application(self, application_id: UUID) -> Application:
        """Return an application that was read under the lock. Raises ApplicationNotFound."""
        try:
            return self.people[application_id]
        except KeyError:
            raise ApplicationNotFound from None

    def attach(self, application: Application) -> Application:
        """Keep an application that was just read; return the one already attached, if any."""
        return self.people.setdefault(application.id, application)

    def mark_written(self) -> None:
        """Forget the changes that are now in the database."""
        self.created.clear()
        self.changed.clear()
        self.entries.clear()
        self.announced_due_at = self.next_due_at
