"""Effects of a move on the application's own row, besides its status; and the order of the line.

The order is (ticket, tie), given under the job's lock. Only a draw by lot gives
everyone a new one.
"""

from __future__ import annotations

from typing import Any

from pipeline.domain.states import OUTCOMES, Move, Status
from pipeline.line.event_log import logged_time
from pipeline.line.locked_job import LockedJob
from pipeline.models import Application

_IN_PLACE = (
    Move.VERIFY,
    Move.REINSTATE,
    Move.DEFER,
    Move.PREACCEPT,
    Move.ASK_PASS,
    Move.PLACE,
    Move.CONTEST,
    Move.ANSWER_CONTEST,
)


def apply_effects(job: LockedJob, application: Application, move: Move) -> None:
    """Update the rest of an application's row after a move that has set its new status.

    The caller has already set the rest: for an extension the new deadline, for a wish its fields,
    for a reinstatement everything that the miss had changed, for a draw the new place, and for a
    pass the place before the offer.
    """
    if move in _IN_PLACE:  # the place stays, or was set
        application.verify_by = (move is Move.PLACE and application.verify_by) or None
        return
    application.pass_next = False
    if move is not Move.PASS:
        application.ticket = application.tie = None
        application.not_before = application.accept_until = None
    if move is Move.EXTEND:
        application.deadline_extended = True
        return
    application.acknowledge_by = None
    application.deadline_extended = False
    application.status_since = job.now
    change_status_as_effect(job, application, move)


def change_status_as_effect(job: LockedJob, application: Application, move: Move) -> None:
    """Update the fields that change with the status, or with a turn."""
    if move is Move.PASS:  # no miss; the cool-down lets the next in line have the seat
        application.passes_used += 1
        application.passed_at = job.now
        application.eligible_at = job.policy.cooldown_until(job.now)
        return
    if move in (Move.DECAY, Move.LAPSE):
        application.decay_count += 1
        application.eligible_at = job.policy.cooldown_until(job.now)
    if application.status == Status.PENDING_ACKNOWLEDGMENT:
        application.promoted_at = job.now
        application.acknowledge_by = job.policy.deadline(job.now, job.zones.get(application.id, ""))
        application.eligible_at = application.passed_at = None
        job.note_due(application.acknowledge_by)
    elif move is Move.ACKNOWLEDGE:
        application.acknowledged_at = job.now
    elif application.status == Status.WAITLIST:
        application.ticket, application.tie = ticket_as_effect(job, application.decay_count)
    elif application.status == Status.INACTIVE:
        application.outcome = OUTCOMES[move]
        application.ended_at = job.now


def ticket_as_effect(job: LockedJob, misses: int) -> tuple[int, int]:
    """Draw the ticket and tie of a person who joins the waitlist with the next event.

    Without a miss it is the next ticket, which is then used up. With misses it is penalty_places
    times misses behind the back, and no ticket is used up: exactly that many later newcomers pass,
    and nobody already waiting loses a place. The tie is the event's seq, so the order is total.
    """
    tie = job.seq + 1
    if misses:
        return job.next_ticket + job.policy.places_lost(misses), tie
    job.next_ticket += 1
    return job.next_ticket - 1, tie


def effects_for_replay(application: Application) -> dict[str, Any]:
    """Return an application's data for the log after a move: everything that replay needs."""
    known = {
        "decay_count": application.decay_count,
        "ticket": application.ticket,
        "tie": application.tie,
        "deadline": application.acknowledge_by and logged_time(application.acknowledge_by),
        "eligible_at": application.eligible_at and logged_time(application.eligible_at),
        "not_before": application.not_before and logged_time(application.not_before),
        "accept_until": application.accept_until and logged_time(application.accept_until),
        "passes_used": application.passes_used or None,
        "pass_next": application.pass_next or None,
        "passed_at": application.passed_at and logged_time(application.passed_at),
        "verify_by": application.verify_by and logged_time(application.verify_by),
    }
    return {name: value for name, value in known.items() if value is not None}
