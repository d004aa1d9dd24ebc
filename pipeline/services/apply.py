"""Applying to a job."""

from __future__ import annotations

from uuid import UUID

from pipeline.domain.states import Actor
from pipeline.line.admission import admit
from pipeline.line.lock import lock_job_for, read_history
from pipeline.line.locked_job import LockedJob
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Application


@line_transaction
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
    application = admit(
        job,
        history,
        applicant_id=applicant_id,
        name=name,
        actor=actor,
        verified=verified,
        application_id=application_id,
    )
    write(job, commit=True)
    return application


def _made_before(job: LockedJob, applicant_id: UUID, id_: UUID) -> Application | None:
    theirs = Application.objects.filter(job_id=job.id, applicant_id=applicant_id)
    return theirs.filter(id=id_).first()
