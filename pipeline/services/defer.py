"""Deferral: a person on the waitlist asks for no seat before a time, and keeps their place."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from jobs.models import JobStatus
from pipeline.domain.errors import IllegalMove, NotDeferrable
from pipeline.domain.states import DEFER_WITHIN, Actor, EventType, Move, Status, status_after
from pipeline.line.admission import offer_free_seat_on_admission
from pipeline.line.lock import lock_job_of
from pipeline.line.moves import make_move
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Application, Event

# The most times that a person can set a time for one application: the log keeps every one.
MOST_DEFERRALS = 20


@line_transaction
def defer(*, application_id: UUID, not_before: datetime | None, actor: Actor) -> Application:
    """Offer a person on the waitlist no seat before a time, or from now on again (None).

    They keep their place, and it does not count as a miss: meanwhile free seats go to the next in
    line. Without a time, they get a free seat at once. Repeating it is harmless. Raises
    NotDeferrable if the time is not ahead or more than DEFER_WITHIN away, or was set too often;
    IllegalMove if the person does not wait, is not verified or the job is closed;
    ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    status = Status(application.status)
    status_after(status, Move.DEFER, verified=application.is_verified)
    if job.status is JobStatus.CLOSED:
        raise IllegalMove(status=status, move=Move.DEFER)
    if application.not_before == not_before:
        return application
    if not_before:
        if not_before <= job.now:
            raise NotDeferrable(why="This time has passed. Choose a later one.")
        if not_before > job.now + DEFER_WITHIN:
            raise NotDeferrable(why=f"Choose a time in the next {DEFER_WITHIN.days} days.")
        own = Event.objects.filter(application_id=application.id, event=EventType.DEFERRED)
        if own.filter(data__has_key="not_before").count() >= MOST_DEFERRALS:
            raise NotDeferrable(
                why=f"You have already set a time {MOST_DEFERRALS} times for one application."
            )
    application.not_before = not_before
    entry = make_move(job, application, Move.DEFER, actor=actor)
    offer_free_seat_on_admission(job, application, cause_seq=entry.seq)
    write(job, commit=True)
    return application
