"""Yes in advance: a person on the waitlist accepts the seat offered to them before a time."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from jobs.models import JobStatus
from pipeline.domain.errors import IllegalMove, NotPreacceptable
from pipeline.domain.states import ACCEPT_WITHIN, Actor, EventType, Move, Status, status_after
from pipeline.line.lock import lock_job_of
from pipeline.line.moves import make_move
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Application, Event

# The most times that a person can say yes for one application: the log keeps every one.
MOST_PREACCEPTANCES = 50


@line_transaction
def preaccept(*, application_id: UUID, accept_until: datetime | None, actor: Actor) -> Application:
    """Accept in advance a seat that is offered before a time, or cancel that (None).

    The place in line stays the same. It cancels a request to pass the next turn, which says the
    opposite. It can be repeated while they wait. Raises NotPreacceptable
    if the time is not ahead or more than ACCEPT_WITHIN away, or was set too often; IllegalMove if
    the person does not wait, is not verified or the job is closed; ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    status = Status(application.status)
    status_after(status, Move.PREACCEPT, verified=application.is_verified)
    if job.status is JobStatus.CLOSED:
        raise IllegalMove(status=status, move=Move.PREACCEPT)
    if accept_until and accept_until <= job.now:
        raise NotPreacceptable(why="This time has passed. Choose a later one.")
    stands = application.accept_until if (application.accept_until or job.now) > job.now else None
    if stands == accept_until:  # one that has ended is taken back already
        return application
    if accept_until:
        if accept_until > job.now + ACCEPT_WITHIN:
            raise NotPreacceptable(why=f"Choose a time in the next {ACCEPT_WITHIN.days} days.")
        own = Event.objects.filter(application_id=application.id, event=EventType.PREACCEPTED)
        if own.filter(data__has_key="accept_until").count() >= MOST_PREACCEPTANCES:
            raise NotPreacceptable(
                why=f"You have already done this {MOST_PREACCEPTANCES} times, which is the limit."
            )
        application.pass_next = False
    application.accept_until = accept_until
    make_move(job, application, Move.PREACCEPT, actor=actor)
    write(job, commit=True)
    return application
