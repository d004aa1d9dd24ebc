"""Creating, opening, pausing, resuming and closing a job."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from jobs.models import Job, JobPosting, JobStatus
from jobs.policies import Policy
from pipeline.domain.errors import IllegalJobMove
from pipeline.domain.states import JOB_MOVES, Actor, EventType
from pipeline.line.event_log import GENESIS
from pipeline.line.fill import fill_seats
from pipeline.line.lock import lock_job
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import record_job_event
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write


@dataclass(frozen=True, slots=True)
class Posting:
    """What people read about a job."""

    title: str
    description: str = ""
    location: str = ""


@transaction.atomic(durable=True)
def create_job(
    *,
    company_id: UUID,
    posting: Posting,
    capacity: int,
    policy: Policy,
    actor: Actor,
    open_now: bool = True,
    job_id: UUID | None = None,
) -> UUID:
    """Create a job, as a draft or open at once; gives its id. The log starts with JOB_CREATED.

    `job_id`: the id that it gets; if the job is there already, nothing is done.
    """
    row, is_new = _insert(job_id, company_id, capacity, policy)
    if not is_new:
        return row.id
    _post(row, posting)
    job = lock_job(row.id)
    record_job_event(job, EventType.JOB_CREATED, actor=actor, statuses=(None, job.status))
    if open_now:
        _change_status(job, JobStatus.OPEN, actor)
    write(job, commit=True)
    return job.id


def _insert(
    job_id: UUID | None, company_id: UUID, capacity: int, policy: Policy
) -> tuple[Job, bool]:
    """The row, and whether it is new."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now = cursor.fetchone()[0]
    fields = {
        "company_id": company_id,
        "capacity": capacity,
        "chain_head": GENESIS,
        "last_event_at": now,
        "created_at": now,
        **policy.values(),
    }
    if job_id is None:
        return Job.objects.create(**fields), True
    return Job.objects.get_or_create(id=job_id, defaults=fields)


def _post(job: Job, posting: Posting) -> None:
    JobPosting.objects.create(
        job=job,
        title=posting.title,
        description=posting.description,
        location=posting.location,
        updated_at=job.created_at,
    )


@line_transaction
def open_job(*, job_id: UUID, actor: Actor) -> None:
    """Open a draft, or resume a paused job: free seats go to the next in line before this returns.

    An open job stays as it is. Raises IllegalJobMove when the job is closed, JobNotFound.
    """
    _go(job_id, JobStatus.OPEN, actor)


@line_transaction
def pause_job(*, job_id: UUID, actor: Actor) -> None:
    """Take no applications and promote nobody for now; deadlines still run out.

    A paused job stays as it is. Raises IllegalJobMove when the job is a draft or closed,
    JobNotFound.
    """
    _go(job_id, JobStatus.PAUSED, actor)


@line_transaction
def close_job(*, job_id: UUID, actor: Actor) -> None:
    """Close a job for good, at once. Who waits or is pending is then closed out by the worker.

    A closed job stays as it is. Raises IllegalJobMove when the job is a draft, JobNotFound.
    """
    _go(job_id, JobStatus.CLOSED, actor)


def _go(job_id: UUID, to: JobStatus, actor: Actor) -> None:
    job = lock_job(job_id)
    settle_due(job)
    if job.status is not to:
        _change_status(job, to, actor)
        write(job, commit=True)


def _change_status(job: LockedJob, to: JobStatus, actor: Actor) -> None:
    before = job.status
    event = JOB_MOVES.get((before.value, to.value))
    if event is None:
        raise IllegalJobMove(status=before.value, verb=to.value)
    job.status = to
    if to is JobStatus.CLOSED:
        _close(job)
    elif before is JobStatus.DRAFT:
        job.opened_at = job.now
    entry = record_job_event(job, event, actor=actor, statuses=(before, to))
    fill_seats(job, cause_seq=entry.seq)


def _close(job: LockedJob) -> None:
    job.closed_at = job.now
    if job.pending_count or job.waitlist_count:
        job.next_due_at = job.now
    else:
        job.next_due_at = None
