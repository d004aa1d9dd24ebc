"""Application to a job."""

from __future__ import annotations

from uuid import UUID

from pipeline.domain.states import Actor
from pipeline.line.admission import admit
from pipeline.line.lock import lock_job_for, read_history
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
    """Admit a person to a job's line: a seat if one is free for them, else a place at the back.

    `verified`: the person has proved their address, or the company itself submits them. Anybody
    else only keeps a place in line. An unverified application with their address is taken over: it
    is verified, keeps its place, gets the new name and is returned. Misses of earlier applications
    still count.
    `application_id`: the id of the new application, derived from an Idempotency-Key. If the person
    has an application of that id already, it is returned as it stands, and nothing else is done.
    Raises JobNotFound, ApplicantNotFound, JobNotOpen, AlreadyApplied, AlreadyDecided.
    """
    job, history = lock_job_for(job_id, applicant_id)
    if settle_due(job):
        history = read_history(job, applicant_id)
    if application_id:
        theirs = Application.objects.filter(job_id=job.id, applicant_id=applicant_id)
        if earlier := theirs.filter(id=application_id).first():
            return earlier
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
