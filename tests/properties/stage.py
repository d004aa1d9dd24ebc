"""The services on a line in memory: their locks, and the few other rows that they read."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any
from unittest.mock import MagicMock, patch
from uuid import UUID

from jobs.models import JobStatus
from jobs.policies import Policy
from pipeline.domain.states import SYSTEM, ActorKind, EventType, Status
from pipeline.line import lock
from pipeline.line.lock import LockedPeople, read_locked_application
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_job_move
from pipeline.line.sources import Memory
from pipeline.line.write import write
from pipeline.models import Application, ApplicationRow, PlannedSeats
from pipeline.services import exceptions, jobs, joining, leaving, reserved, settling, turns


class Stage:
    """One job in memory, and its clock."""

    def __init__(self) -> None:
        self.line = Memory()
        self.now = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)

    def create_job(self, capacity: int, policy: dict[str, Any]) -> UUID:
        """Create the job, open."""
        job = self.line.create(self.now)
        job.capacity, job.policy = capacity, Policy(**policy)
        make_job_move(job, EventType.JOB_CREATED, actor=SYSTEM, statuses=(None, job.status))
        before, job.status = job.status, JobStatus.OPEN
        make_job_move(job, EventType.JOB_OPENED, actor=SYSTEM, statuses=(before, job.status))
        write(job)
        return job.id

    @contextmanager
    def set(self) -> Iterator[None]:
        """Let the services find this job, and no database."""
        none = MagicMock()
        none.objects.filter.return_value.first.return_value = None
        none.objects.filter.return_value.exclude.return_value.exists.return_value = False
        none.objects.filter.return_value.filter.return_value.count.return_value = 0
        plans = MagicMock(filter=lambda **about: _Plans(self.line, **about))
        with ExitStack() as patches:
            for module in (lock, joining, settling):
                patches.enter_context(patch.object(module, "transaction", _Transactions))
            for module in (turns, leaving, joining, exceptions, reserved):
                patches.enter_context(patch.object(module, "lock_job_of", self.lock_job_of))
            for module, names in (
                (jobs, ["lock_job"]),
                (reserved, ["lock_job"]),
                (settling, ["lock_job", "lock_due_job"]),
                (joining, ["lock_job_for", "read_people"]),
            ):
                for name in names:
                    patches.enter_context(patch.object(module, name, getattr(self, name)))
            for module, names in (
                (turns, ["Event"]),
                (leaving, ["Contest", "security"]),
                (exceptions, ["LineException", "security"]),
                (reserved, ["GroupClaim", "JobPosting", "security"]),
                (jobs, ["JobPosting", "record_change", "security"]),
            ):
                for name in names:
                    patches.enter_context(patch.object(module, name, none))
            patches.enter_context(patch.object(turns, "count_extensions", self.count_extensions))
            patches.enter_context(patch.object(PlannedSeats, "objects", plans))
            patches.enter_context(
                patch.object(PlannedSeats, "save", lambda plan, **_: self.line.plans.append(plan))
            )
            yield

    def count_extensions(self, application: Application, by: ActorKind) -> int:
        """Count those of an open offer, as the selector does: they are its last events."""
        own = (each for each in reversed(self.line.log) if each.application_id == application.id)
        given = takewhile(lambda each: each.event == EventType.DEADLINE_EXTENDED, own)
        return sum(each.actor_kind == by for each in given)

    def lock_job(self, job_id: UUID) -> LockedJob:
        return self.line.lock(self.now)

    def lock_job_of(self, application_id: UUID, **_: Any) -> LockedJob:
        job = self.line.lock(self.now)
        read_locked_application(job, application_id)
        return job

    def lock_due_job(self, *, skip: Collection[UUID] = ()) -> LockedJob | None:
        job = self.line.lock(self.now)
        return job if job.is_due else None

    def lock_job_for(
        self, job_id: UUID, *, applicant_ids: Collection[UUID], **_: Any
    ) -> tuple[LockedJob, LockedPeople]:
        job = self.line.lock(self.now)
        return job, self.read_people(job, applicant_ids=applicant_ids)

    def read_people(
        self, job: LockedJob, *, applicant_ids: Collection[UUID], **_: Any
    ) -> LockedPeople:
        return LockedPeople([(id, str(id), *self._history(id)) for id in applicant_ids])

    def _history(self, applicant_id: UUID) -> tuple[Any, ...]:
        """The history of a person, as `sql.READ_PEOPLE` reads it."""
        own = [row for row in self.line.rows.values() if row.applicant_id == applicant_id]
        live = [row for row in own if row.status != Status.INACTIVE]
        proved = [row for row in own if row.is_verified]
        cooled = sorted(
            (row for row in proved if row.eligible_at), key=lambda row: str(row.eligible_at)
        )
        return (
            _first_id(live),
            _first_id([row for row in live if not row.is_verified]),
            _first_id([row for row in proved if row.outcome in ("REJECTED", "HIRED")]),
            max([row.decay_count for row in proved], default=0),
            cooled[-1].eligible_at if cooled else None,
            "",
            max([row.passes_used for row in proved], default=0),
            cooled[-1].passed_at if cooled else None,
        )


class _Transactions:
    """Transactions of a line in memory: every change is one, and there is nobody else."""

    @staticmethod
    def atomic(**_: Any) -> Any:
        return nullcontext()


class _Plans(list[PlannedSeats]):
    """Planned seats of a line in memory, as a query finds them."""

    def __init__(self, line: Memory, **about: UUID) -> None:
        id = about.get("id")
        super().__init__(plan for plan in line.plans if id in (None, plan.id))
        self._line = line

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete them from the line."""
        for plan in self:
            self._line.plans.remove(plan)
        return len(self), {}


def _first_id(rows: list[ApplicationRow]) -> UUID | None:
    return rows[0].id if rows else None
