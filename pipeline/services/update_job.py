"""Edit of a job's posting, reference, capacity and policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F

from jobs.models import JobPosting, JobStatus
from pipeline.domain.draw import check_draw_time
from pipeline.domain.errors import IllegalJobMove, JobNotFound, StaleVersion
from pipeline.domain.states import Actor, EventType
from pipeline.line.fill import fill_seats
from pipeline.line.lock import lock_job
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_job_move
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import ChangeKind, JobReference
from pipeline.services.changes import record_change
from pipeline.services.references import write_reference


@dataclass(frozen=True, slots=True)
class Version:
    """Version of a job that a reader has seen: the log's last seq and the posting's version."""

    seq: int
    posting: int


@dataclass(frozen=True, slots=True)
class JobChanges:
    """New values for a job. Fields that are not named stay as they are."""

    capacity: int | None = None
    policy: Mapping[str, Any] = field(default_factory=dict)
    posting: Mapping[str, str] = field(default_factory=dict)
    reference: Mapping[str, Any] = field(default_factory=dict)
    draw_at: datetime | None = None


@line_transaction
def update_job(
    *, job_id: UUID, changes: JobChanges, actor: Actor, seen: Version | None = None
) -> None:
    """Change a job's posting, reference, capacity and policy, all or nothing.

    Extra seats go to the next in line before this returns. Fewer seats evict nobody: the job
    drains. Running deadlines, tickets and cool-downs stay. With `seen`, raises StaleVersion if the
    job has changed since. Raises IllegalJobMove for a closed job's capacity or policy, and for a
    draw unless the job is a draft; DrawRefused, JobNotFound, ExternalIdTaken, and ValueError if a
    policy value is out of range.
    """
    job = lock_job(job_id)
    posting = JobPosting.objects.filter(job_id=job.id).values_list("version", flat=True).first()
    if posting is None:  # a deleted draft
        raise JobNotFound
    if seen and seen != Version(job.seq, posting):
        raise StaleVersion
    settle_due(job)
    if job.status is JobStatus.CLOSED and (changes.capacity or changes.policy):
        raise IllegalJobMove(status=job.status.value, verb="change capacity or policy")
    draw_at = _draw_time_after_update(changes, job)  # before anything is written: a refusal commits
    if changes.reference:
        row = JobReference(job_id=job.id, company_id=job.company_id, **changes.reference)
        write_reference(row, changes.reference)
    policy = replace(job.policy, **changes.policy)
    if (policy, draw_at) != (job.policy, job.draw_at):
        job.draw_at = draw_at
        job.policy = policy
        job.policy_version += 1
        make_job_move(job, EventType.POLICY_CHANGED, actor=actor)
    if changes.capacity is not None and changes.capacity != job.capacity:
        job.capacity = changes.capacity
        entry = make_job_move(job, EventType.CAPACITY_CHANGED, actor=actor)
        fill_seats(job, cause_seq=entry.seq)
    if changes.posting or changes.reference:
        JobPosting.objects.filter(job_id=job.id).update(
            **changes.posting, version=F("version") + 1, updated_at=job.now
        )
        record_change(ChangeKind.JOB_CHANGED, company_id=job.company_id, job_id=job.id)
    write(job, commit=True)


def _draw_time_after_update(changes: JobChanges, job: LockedJob) -> datetime | None:
    """Return the time of the job's draw after the changes. Only a draft's can change."""
    if changes.draw_at is None or changes.draw_at == job.draw_at:
        return job.draw_at
    if job.status is not JobStatus.DRAFT or job.draw_at is None:
        raise IllegalJobMove(status=job.status.value, verb="change the draw")
    check_draw_time(changes.draw_at, job.now)
    return changes.draw_at
