"""Life cycle of a job: create, open, pause, resume and close it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from jobs.models import Job, JobPosting, JobStatus
from jobs.policies import Policy
from pipeline.domain.draw import check_draw_time
from pipeline.domain.errors import IllegalJobMove, JobNotFound, SandboxFull
from pipeline.domain.states import JOB_MOVES, Actor, EventType
from pipeline.line.company_clock import hold_company_clock
from pipeline.line.event_log import GENESIS
from pipeline.line.fill import fill_seats
from pipeline.line.lock import lock_job
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_job_move
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import JobReference, PlannedSeats
from pipeline.services.references import write_reference

MOST_SANDBOX_JOBS = 20
SANDBOX_FULL = f"A sandbox can have {MOST_SANDBOX_JOBS} jobs, closed ones included."


@dataclass(frozen=True, slots=True)
class Posting:
    """Text that people read about a job."""

    title: str
    description: str = ""
    location: str = ""


def check_room_to_create_job(company_id: UUID, job_id: UUID | None) -> None:
    """Check that a sandbox can have another job, or has this one already. Raises SandboxFull."""
    own = Job.objects.filter(company_id=company_id, posting__isnull=False)
    if own.exclude(id=job_id or company_id).count() >= MOST_SANDBOX_JOBS:
        raise SandboxFull(why=SANDBOX_FULL)


@transaction.atomic(durable=True)
def create_job(
    *,
    company_id: UUID,
    posting: Posting,
    capacity: int,
    policy: Policy,
    actor: Actor,
    open_now: bool = True,
    draw_at: datetime | None = None,
    job_id: UUID | None = None,
    reference: Mapping[str, Any] | None = None,
) -> UUID:
    """Create a job, as a draft or open, and return its id. The log starts with JOB_CREATED.

    `job_id`: the id of the new job. If a job with that id already exists, nothing happens.
    `draw_at`: until then people only join, and then their order is drawn by lot.
    `reference`: the company's own `external_id` and `metadata`. Raises DrawRefused, ExternalIdTaken
    and SandboxFull.
    """
    clock = hold_company_clock(company_id)
    if clock.is_test:
        check_room_to_create_job(company_id, job_id)
    check_draw_time(draw_at, clock.now)
    fields = {
        "company_id": company_id,
        "is_test": clock.is_test,
        "clock_offset_seconds": clock.offset_seconds,
        "capacity": capacity,
        "draw_at": draw_at,
        "chain_head": GENESIS,
        "last_event_at": clock.now,
        "created_at": clock.now,
        **policy.values(),
    }
    if job_id is None:
        row = Job.objects.create(**fields)
    else:
        row, is_new = Job.objects.get_or_create(id=job_id, defaults=fields)
        if not is_new:
            return row.id
    JobPosting.objects.create(job=row, **asdict(posting), updated_at=clock.now)
    if reference:
        write_reference(JobReference(job=row, company_id=company_id, **reference), reference)
    job = lock_job(row.id)
    make_job_move(job, EventType.JOB_CREATED, actor=actor, statuses=(None, job.status))
    if open_now:
        _change_lifecycle_status(job, JobStatus.OPEN, actor)
    write(job, commit=True)
    return job.id


@line_transaction
def open_job(*, job_id: UUID, actor: Actor) -> None:
    """Open a draft or resume a paused job. Free seats go to the next in line before this returns.

    An open job stays as it is. Raises IllegalJobMove if the job is closed, JobNotFound.
    """
    _change_job_lifecycle(job_id, JobStatus.OPEN, actor)


@line_transaction
def pause_job(*, job_id: UUID, actor: Actor) -> None:
    """Pause a job: it takes no applications and promotes nobody, but deadlines still run.

    A paused job stays as it is. Raises IllegalJobMove if the job is a draft or closed, JobNotFound.
    """
    _change_job_lifecycle(job_id, JobStatus.PAUSED, actor)


@line_transaction
def close_job(*, job_id: UUID, actor: Actor) -> None:
    """Close a job immediately and finally.

    The decay worker then closes out waiting and pending people. Planned seats are deleted.

    A closed job stays as it is. Raises IllegalJobMove if the job is a draft, JobNotFound.
    """
    _change_job_lifecycle(job_id, JobStatus.CLOSED, actor)


def _change_job_lifecycle(job_id: UUID, to: JobStatus, actor: Actor) -> None:
    job = lock_job(job_id)
    settle_due(job, only_ends=to is JobStatus.CLOSED)
    if job.status is not to:
        _change_lifecycle_status(job, to, actor)
        write(job, commit=True)


def _change_lifecycle_status(job: LockedJob, to: JobStatus, actor: Actor) -> None:
    before = job.status
    is_deleted = before is JobStatus.DRAFT and not JobPosting.objects.filter(job_id=job.id).exists()
    if is_deleted:
        raise JobNotFound
    event = JOB_MOVES.get((before.value, to.value))
    if event is None:
        raise IllegalJobMove(status=before.value, verb=to.value)
    job.status = to
    if to is JobStatus.CLOSED:
        job.closed_at = job.now
        job.next_due_at = job.now if job.pending_count or job.waitlist_count else None
        PlannedSeats.objects.filter(job_id=job.id).delete()
    elif before is JobStatus.DRAFT:
        job.opened_at = job.now
        if job.draw_at is not None:
            check_draw_time(job.draw_at, job.now)
            job.note_due(job.draw_at)
    entry = make_job_move(job, event, actor=actor, statuses=(before, to))
    fill_seats(job, cause_seq=entry.seq)
