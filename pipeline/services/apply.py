"""Applying to a job."""

from __future__ import annotations

from uuid import UUID

from jobs.models import JobStatus
from pipeline.errors import AlreadyApplied, AlreadyDecided, JobNotOpen
from pipeline.line.change import change
from pipeline.line.job import LockedJob
from pipeline.line.lock import History, lock_job_for, read_history
from pipeline.line.settle import settle_due
from pipeline.line.write import finish
from pipeline.models import Application
from pipeline.states import Actor, ActorKind, Move


@change
def apply(
    *,
    job_id: UUID,
    applicant_id: UUID,
    name: str,
    actor: Actor,
    verified: bool = True,
    application_id: UUID | None = None,
) -> Application:
    """Take a person into a job's line: a seat if one is free for them, else a place at the back.

    `verified`: the person has proved their address, or the company itself submits them; who is not
    must acknowledge even a seat that was free. Misses of earlier applications to the job count on.
    `application_id`: the id that it gets; if the person's application of that id is there already,
    it is given as it stands, and nothing else is done.
    Raises JobNotFound, ApplicantNotFound, JobNotOpen, AlreadyApplied, AlreadyDecided.
    """
    job, history = lock_job_for(job_id, applicant_id)
    if settle_due(job):
        history = read_history(job, applicant_id)
    if application_id and (made := _made_before(job, applicant_id, application_id)):
        return made
    _refuse(job, history, actor)
    application = _new(job, history, applicant_id, name)
    application.id = application_id or application.id
    job.move(application, _way_in(job, application, verified=verified), actor=actor)
    if job.seats_free and application.eligible_at:
        job.due(application.eligible_at)
    finish(job)
    return application


def _made_before(job: LockedJob, applicant_id: UUID, id_: UUID) -> Application | None:
    theirs = Application.objects.filter(job_id=job.id, applicant_id=applicant_id)
    return theirs.filter(id=id_).first()


def _refuse(job: LockedJob, history: History, actor: Actor) -> None:
    if job.status is not JobStatus.OPEN:
        raise JobNotOpen(status=job.status.value)
    if history.live:
        raise AlreadyApplied
    if history.decided and actor.kind is not ActorKind.COMPANY:
        raise AlreadyDecided


def _new(job: LockedJob, history: History, applicant_id: UUID, name: str) -> Application:
    cooling = history.eligible_at is not None and history.eligible_at > job.now
    return Application(
        job_id=job.id,
        applicant_id=applicant_id,
        name=name,
        applied_at=job.now,
        decay_count=history.misses,
        eligible_at=history.eligible_at if cooling else None,
    )


def _way_in(job: LockedJob, application: Application, *, verified: bool) -> Move:
    """After settling, a seat is free only if nobody eligible waits: nobody is overtaken."""
    if not job.seats_free or application.eligible_at:
        return Move.QUEUE
    if job.policy.acknowledge_first_seat or not verified:
        return Move.OFFER
    return Move.SEAT
