"""What a move changes in an application's own row, beside its status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.domain.states import OUTCOMES, Move, Outcome, Status
from pipeline.line import tickets
from pipeline.line.event_log import stamp
from pipeline.models import Application

if TYPE_CHECKING:
    from pipeline.line.locked_job import LockedJob


def change(job: LockedJob, application: Application, move: Move) -> None:
    """Bring an application's row in line with a move that was just made (it has its new status).

    Whoever extends a deadline has set it already.
    """
    _leave(application, move)
    if move in (Move.DECAY, Move.LAPSE):
        _miss(job, application)
    _enter(job, application, move)
    if move is not Move.EXTEND:
        application.status_since = job.now


def facts(application: Application) -> dict[str, Any]:
    """What the log's data says of an application after a move: all that replay needs of it."""
    known = {
        "decay_count": application.decay_count,
        "ticket": application.ticket,
        "tie": application.tie,
        "deadline": application.acknowledge_by and stamp(application.acknowledge_by),
        "eligible_at": application.eligible_at and stamp(application.eligible_at),
    }
    return {name: value for name, value in known.items() if value is not None}


def has_just_missed(application: Application) -> bool:
    """Whether a person's last event is a miss: who waits after an offer can only have missed it."""
    back_in_line = application.status == Status.WAITLIST and application.promoted_at is not None
    return back_in_line or application.outcome == Outcome.LAPSED


def _leave(application: Application, move: Move) -> None:
    application.ticket = application.tie = None
    if move is not Move.EXTEND:
        application.acknowledge_by = None
        application.deadline_extended = False


def _miss(job: LockedJob, application: Application) -> None:
    application.decay_count += 1
    application.eligible_at = job.policy.cooldown_until(job.now)


def _enter(job: LockedJob, application: Application, move: Move) -> None:
    if move in (Move.OFFER, Move.PROMOTE):
        _offer(job, application)
    elif move is Move.EXTEND:
        application.deadline_extended = True
    elif move is Move.ACKNOWLEDGE:
        application.acknowledged_at = job.now
    elif application.status == Status.WAITLIST:
        application.ticket, application.tie = tickets.draw(job, application.decay_count)
    elif application.status == Status.INACTIVE:
        application.outcome = OUTCOMES[move]
        application.ended_at = job.now


def _offer(job: LockedJob, application: Application) -> None:
    application.promoted_at = job.now
    application.acknowledge_by = job.policy.deadline(job.now)
    application.eligible_at = None
    job.due(application.acknowledge_by)
