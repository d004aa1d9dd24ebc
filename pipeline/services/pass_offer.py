"""Pass of an open offer: the person keeps the place, and the seat goes to the next in line."""

from __future__ import annotations

from uuid import UUID

from jobs.models import JobStatus
from pipeline.domain.errors import AcknowledgmentExpired, IllegalMove, NotPassable
from pipeline.domain.states import Actor, Move, Status
from pipeline.line.fill import fill_seats
from pipeline.line.lock import lock_job_of
from pipeline.line.misses import has_just_missed, read_place_before_offer
from pipeline.line.moves import make_move
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Application

NONE_LEFT = "You have passed {used} {turns}, and this job lets people pass {most}."


@line_transaction
def pass_offer(*, application_id: UUID, actor: Actor) -> Application:
    """Pass an offered seat before its deadline, without a miss.

    The person returns to the place they had before the offer. For the length of a cool-down no
    seat is offered to them, and the next in line gets this one before the function returns.
    Repeating it before
    the next offer is harmless. Raises AcknowledgmentExpired if the deadline has passed (the miss is
    then settled), NotPassable if the job allows no more passes, IllegalMove if no seat was offered
    or the job has closed, ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    status = Status(application.status)
    if status is Status.WAITLIST and application.passed_at:
        return application
    if has_just_missed(application):
        raise AcknowledgmentExpired
    if job.status is JobStatus.CLOSED or status is not Status.PENDING_ACKNOWLEDGMENT:
        raise IllegalMove(status=status, move=Move.PASS)
    refuse_pass_beyond_limit(application, job.policy.max_passes)
    application.ticket, application.tie = read_place_before_offer(application)
    job.head_ticket = min(job.head_ticket, application.ticket)
    make_move(job, application, Move.PASS, actor=actor)
    fill_seats(job)
    write(job, commit=True)
    return application


def refuse_pass_beyond_limit(application: Application, most: int) -> None:
    """Refuse a pass if the person has used all that the job allows. Raises NotPassable."""
    if not most:
        raise NotPassable(why="This job does not let people pass a turn.")
    used = application.passes_used
    if used >= most:
        turns = "turn" if used == 1 else "turns"
        raise NotPassable(why=NONE_LEFT.format(used=used, turns=turns, most=most))
