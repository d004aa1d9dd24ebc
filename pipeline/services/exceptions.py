"""Reasoned exceptions to the order of a line: one person moved to the front of it."""

from __future__ import annotations

import logging
from uuid import UUID

from jobs.models import JobStatus
from pipeline.domain.errors import IllegalMove
from pipeline.domain.states import (
    FROM_TICKET,
    FROM_TIE,
    PEOPLE_PASSED,
    Actor,
    ExceptionReason,
    Move,
    Status,
)
from pipeline.domain.verbs import status_after
from pipeline.line.admission import move_to_front
from pipeline.line.lock import line_transaction, lock_job_of
from pipeline.line.settle import settle_due
from pipeline.line.write import write
from pipeline.models import Application, Event, LineException

security = logging.getLogger("security")


@line_transaction
def move_ahead(
    *,
    application_id: UUID,
    reason: ExceptionReason,
    actor: Actor,
    text: str = "",
    request_id: UUID | None = None,
) -> Application:
    """Move a person on the waitlist to its front, ahead of others who did nothing wrong.

    It gives no seat: the next one that opens is offered to them by the ordinary rule. A cool-down
    and the person's wishes stay. Everyone passed is told, with the reason and `text`, which is kept
    out of the log. `request_id` identifies the company's request: repeating it is harmless. Raises
    NotMovable if the person is first already, the order is not drawn yet or the job has had
    MOST_EXCEPTIONS; IllegalMove if they do not wait, are not verified or the job is closed;
    ApplicationNotFound.
    """
    job = lock_job_of(application_id, hold_person=True)
    settle_due(job)
    application = job.application(application_id)
    if request_id:
        done = Event.objects.filter(application_id=application.id, event="MOVED_AHEAD")
        if done.filter(data__request=str(request_id)).exists():
            return application
    status = Status(application.status)
    status_after(status, Move.MOVE_AHEAD, verified=application.is_verified)
    if job.status is JobStatus.CLOSED:
        raise IllegalMove(status=status, move=Move.MOVE_AHEAD)
    facts = {"request": str(request_id)} if request_id else {}
    entry = move_to_front(job, application, reason=reason, actor=actor, facts=facts)
    LineException.objects.create(
        job_id=job.id,
        application_id=application.id,
        seq=entry.seq,
        at=entry.at,
        reason=reason,
        text=text,
        from_ticket=entry.data[FROM_TICKET],
        from_tie=entry.data[FROM_TIE],
        people_passed=entry.data[PEOPLE_PASSED],
    )
    write(job, commit=True)
    ids = {"company": str(job.company_id), "application": str(application.id)}
    security.info("person.moved_ahead", extra=ids | {"reason": str(reason)})
    return application
