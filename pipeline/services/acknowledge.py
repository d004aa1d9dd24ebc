"""Acknowledging an offered seat."""

from __future__ import annotations

from uuid import UUID

from jobs.models import JobStatus
from pipeline.errors import AcknowledgmentExpired, IllegalMove
from pipeline.line.change import change
from pipeline.line.lock import lock_job_of
from pipeline.line.settle import settle_due
from pipeline.line.write import write
from pipeline.models import Application
from pipeline.states import Actor, Move, Outcome, Status


@change
def acknowledge(*, application_id: UUID, actor: Actor) -> Application:
    """Take the seat that was offered, before its deadline. Once more is harmless.

    Raises AcknowledgmentExpired when the deadline has passed (the miss is then settled),
    IllegalMove when no seat was offered or the job has closed, ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    if application.status == Status.ACTIVE:
        return application
    if _just_missed(application):
        raise AcknowledgmentExpired
    if job.status is JobStatus.CLOSED:
        raise IllegalMove(status=application.status, move=Move.ACKNOWLEDGE)
    job.move(application, Move.ACKNOWLEDGE, actor=actor)
    write(job)
    return application


def _just_missed(application: Application) -> bool:
    """Whether the last event is a miss: who waits after an offer can only have missed it."""
    back_in_line = application.status == Status.WAITLIST and application.promoted_at is not None
    return back_in_line or application.outcome == Outcome.LAPSED
