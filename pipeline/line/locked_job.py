"""A job whose row is locked: its hot state, and the one way to change its line.

Only `pipeline.line.lock` makes a `LockedJob`; whatever takes one can rely on the lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from jobs.models import JobStatus
from jobs.policies import Policy
from pipeline.domain.errors import ApplicationNotFound
from pipeline.domain.states import EVENTS, SYSTEM, Actor, EventType, Move, Status, after
from pipeline.line import effects
from pipeline.line.event_log import Entry
from pipeline.models import Application

_COUNTERS = {
    Status.ACTIVE: "active_count",
    Status.PENDING_ACKNOWLEDGMENT: "pending_count",
    Status.WAITLIST: "waitlist_count",
}


@dataclass(slots=True, kw_only=True)
class LockedJob:
    """The hot row of a job, read under its lock, and what this change has done to the line so far.

    `now` is the only clock: the database's, read after the lock, never before the last event.
    Nothing is in the database until `pipeline.line.write.write` has been called.
    """

    id: UUID
    company_id: UUID
    status: JobStatus
    capacity: int
    active_count: int
    pending_count: int
    waitlist_count: int
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
    now: datetime
    announced_due_at: datetime | None
    """`next_due_at` as the database has it, so that the decay workers are woken only for news."""

    people: dict[UUID, Application] = field(default_factory=dict)
    created: dict[UUID, Application] = field(default_factory=dict)
    changed: dict[UUID, Application] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    to_tell: list[Entry] = field(default_factory=list)
    """Events logged so far; others hear of them after the commit, see `pipeline.line.signals`."""

    freed_by: deque[int] = field(default_factory=deque)
    """The events that opened a seat in this change, oldest first, until a promotion takes it."""

    @property
    def seats_free(self) -> int:
        """Seats nobody holds; 0 while a lowered capacity drains."""
        return max(0, self.capacity - self.active_count - self.pending_count)

    @property
    def is_due(self) -> bool:
        """Whether something may have to be settled before anything else is decided."""
        return self.next_due_at is not None and self.next_due_at <= self.now

    def due(self, moment: datetime) -> None:
        """Note that something becomes due at that time."""
        self.next_due_at = min(moment, self.next_due_at or moment)

    def application(self, application_id: UUID) -> Application:
        """An application of this job that was read under the lock. Raises ApplicationNotFound."""
        try:
            return self.people[application_id]
        except KeyError:
            raise ApplicationNotFound from None

    def meet(self, application: Application) -> Application:
        """An application that was just read: as this change knows it already, if it does."""
        return self.people.setdefault(application.id, application)

    def move(
        self,
        application: Application,
        move: Move,
        *,
        actor: Actor = SYSTEM,
        cause_seq: int | None = None,
        effective_at: datetime | None = None,
        facts: Mapping[str, Any] = MappingProxyType({}),
    ) -> Entry:
        """Make a move with an application (a new one has no status yet), count it and log it.

        `facts` go into the log's data beside those that replay needs. Raises IllegalMove.
        """
        before = Status(application.status) if application.status else None
        application.status = after(before, move)
        (self.changed if before else self.created)[application.id] = application
        effects.change(self, application, move)
        self._count(before, application)
        entry = self.record(
            EVENTS[move],
            actor=actor,
            application=application,
            statuses=(before, application.status),
            data={**facts, **effects.facts(application)},
            cause_seq=cause_seq,
            effective_at=effective_at,
        )
        left = before and before.holds_seat and not Status(application.status).holds_seat
        if left and self.seats_free:  # not while a lowered capacity drains
            self.freed_by.append(entry.seq)
        return entry

    def written(self) -> None:
        """Forget what is now in the database."""
        self.created.clear()
        self.changed.clear()
        self.entries.clear()
        self.announced_due_at = self.next_due_at

    def _count(self, before: Status | None, application: Application) -> None:
        for status, by in ((before, -1), (Status(application.status), +1)):
            if status in _COUNTERS:
                counter = _COUNTERS[status]
                setattr(self, counter, getattr(self, counter) + by)

    def record_job(
        self,
        event: EventType,
        *,
        actor: Actor,
        statuses: tuple[JobStatus | None, JobStatus | None] = (None, None),
    ) -> Entry:
        """Log a change of the job itself, with all that replay needs of the job from here on."""
        data = {
            "status": self.status.value,
            "capacity": self.capacity,
            "policy": self.policy.values(),
        }
        return self.record(event, actor=actor, statuses=statuses, data=data)

    def record(
        self,
        event: EventType,
        *,
        actor: Actor,
        data: dict[str, Any],
        statuses: tuple[str | None, str | None],
        application: Application | None = None,
        cause_seq: int | None = None,
        effective_at: datetime | None = None,
    ) -> Entry:
        """Append one row to the log: the next `seq`, chained to the row before it."""
        entry = Entry(
            job_id=self.id,
            seq=self.seq + 1,
            application_id=application.id if application else None,
            event=event.value,
            from_status=statuses[0] and str(statuses[0]),
            to_status=statuses[1] and str(statuses[1]),
            outcome=application.outcome and str(application.outcome) if application else None,
            actor_kind=actor.kind.value,
            actor_id=actor.id,
            cause_seq=cause_seq,
            policy_version=self.policy_version,
            at=self.now,
            effective_at=effective_at or self.now,
            data=data | self._counters(),
            prev_hash=self.chain_head,
        ).sealed()
        self.seq, self.chain_head, self.last_event_at = entry.seq, entry.hash, entry.at
        self.entries.append(entry)
        return entry

    def _counters(self) -> dict[str, int]:
        return {
            "active": self.active_count,
            "pending": self.pending_count,
            "waiting": self.waitlist_count,
            "next_ticket": self.next_ticket,
        }
