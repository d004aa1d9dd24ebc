"""Acknowledgement of an offered seat."""

from __future__ import annotations

from uuid import UUID

from jobs.models import JobStatus
from pipeline.domain.errors import AcknowledgmentExpired, IllegalMove
from pipeline.domain.states import Actor, Move, Status
from pipeline.line.lock import lock_job_of
from pipeline.line.misses import has_just_missed
from pipeline.line.moves import make_move
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Application


@line_transaction
def acknowledge(*, application_id: UUID, actor: Actor) -> Application:
    """Acknowledge an offered seat before its deadline. Repeating it is harmless.

    Raises AcknowledgmentExpired if the deadline has passed (the miss is then settled), IllegalMove
    if no seat was offered or the job has closed, ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    if application.status == Status.ACTIVE:
        return application
    if has_just_missed(application):
        raise AcknowledgmentExpired
    if job.status is JobStatus.CLOSED:
        raise IllegalMove(status=application.status, move=Move.ACKNOWLEDGE)
    make_move(job, application, Move.ACKNOWLEDGE, actor=actor)
    write(job, commit=True)
    return application
