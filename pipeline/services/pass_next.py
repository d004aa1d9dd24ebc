"""Pass of the next turn: a person in line asks to be passed over once, and keeps the place."""

from __future__ import annotations

from uuid import UUID

from jobs.models import JobStatus
from pipeline.domain.errors import IllegalMove, NotPassable
from pipeline.domain.states import Actor, EventType, Move, Status, status_after
from pipeline.line.lock import lock_job_of
from pipeline.line.moves import make_move
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Application, Event
from pipeline.services.pass_offer import refuse_pass_beyond_limit

# The most times that a person can ask for one application: the log keeps every one.
MOST_ASKED = 20


@line_transaction
def pass_next(*, application_id: UUID, wanted: bool, actor: Actor) -> Application:
    """Pass the next turn of a person on the waitlist when it comes, or cancel that.

    It cancels a yes in advance, which says the opposite. Later changes of the rules do not matter:
    when the turn comes, it is passed. Repeating it is harmless. Raises NotPassable if the
    job allows no more passes, or it was asked too often; IllegalMove if the person does not wait,
    is not verified or the job is closed; ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    status = Status(application.status)
    status_after(status, Move.ASK_PASS, verified=application.is_verified)
    if job.status is JobStatus.CLOSED:
        raise IllegalMove(status=status, move=Move.ASK_PASS)
    if application.pass_next == wanted:
        return application
    if wanted:
        refuse_pass_beyond_limit(application, job.policy.max_passes)
        own = Event.objects.filter(application_id=application.id, event=EventType.PASS_ASKED)
        if own.filter(data__has_key="pass_next").count() >= MOST_ASKED:
            raise NotPassable(why=f"You have already asked {MOST_ASKED} times, which is the limit.")
        application.accept_until = None
    application.pass_next = wanted
    make_move(job, application, Move.ASK_PASS, actor=actor)
    write(job, commit=True)
    return application
