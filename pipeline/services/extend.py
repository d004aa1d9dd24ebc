"""Giving back time that we, not the applicant, used up."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from pipeline.errors import AcknowledgmentExpired, IllegalMove
from pipeline.line.change import change
from pipeline.line.lock import lock_job_of
from pipeline.line.settle import settle_due
from pipeline.line.write import write
from pipeline.models import Application
from pipeline.states import Move, Status


@change
def extend_deadline(*, application_id: UUID, seconds: int) -> Application:
    """Move the deadline of an offered seat by that many seconds, at most by one window.

    For the system alone, when an outage of ours or a mail that could not be handed over ate the
    time. Raises AcknowledgmentExpired when the deadline has passed, IllegalMove when no seat is on
    offer or this offer was extended before, ValueError when `seconds` is out of range.
    """
    job = lock_job_of(application_id)
    if not 0 < seconds <= job.policy.acknowledgment_window_seconds:
        raise ValueError(f"an extension is from 1 second to one window, not {seconds}")
    settle_due(job)
    application = job.application(application_id)
    if application.status == Status.WAITLIST and application.promoted_at:
        raise AcknowledgmentExpired
    if application.acknowledge_by is None or application.deadline_extended:
        raise IllegalMove(status=application.status, move=Move.EXTEND)
    application.acknowledge_by += timedelta(seconds=seconds)
    job.move(application, Move.EXTEND)
    write(job)
    return application
