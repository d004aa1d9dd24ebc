"""Extension of a deadline after we, not the applicant, used up the time."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from jobs.models import JobStatus
from jobs.quiet_hours import deadline_outside_quiet_hours
from pipeline.domain.errors import AcknowledgmentExpired, IllegalMove
from pipeline.domain.states import Move
from pipeline.line.lock import lock_job_of
from pipeline.line.misses import has_just_missed
from pipeline.line.moves import make_move
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Application


@line_transaction
def extend_deadline(
    *, application_id: UUID, seconds: int, lock_ms: int | None = None
) -> Application:
    """Move the deadline of an offered seat back by `seconds`, at most by one window.

    In quiet hours these seconds do not run either.

    For the system only, after an outage of ours or an email that could not be sent. Raises
    AcknowledgmentExpired if the deadline has passed; IllegalMove if no seat is on offer, this offer
    was extended before or the job has closed; ValueError if `seconds` is out of range. With
    `lock_ms`, it waits no longer than that for a lock before it raises OperationalError.
    """
    job = lock_job_of(application_id, lock_ms=lock_ms)
    if not 0 < seconds <= job.policy.acknowledgment_window_seconds:
        raise ValueError(f"an extension must be from 1 second to one window, not {seconds}")
    settle_due(job)
    application = job.application(application_id)
    if has_just_missed(application):
        raise AcknowledgmentExpired
    deadline = application.acknowledge_by
    if deadline is None or application.deadline_extended or job.status is JobStatus.CLOSED:
        raise IllegalMove(status=application.status, move=Move.EXTEND)
    quiet = job.quiet_hours_of(application)
    application.acknowledge_by = deadline_outside_quiet_hours(
        deadline, timedelta(seconds=seconds), quiet
    )
    make_move(job, application, Move.EXTEND)
    write(job, commit=True)
    return application
