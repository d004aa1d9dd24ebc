"""Leaving a line: withdrawal, decisions of a company, and a lost place given back."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from jobs.models import MAX_POSITIONS, JobStatus
from pipeline.domain.contests import ANSWER_SEQ, ContestAnswer, ContestReason
from pipeline.domain.errors import IllegalMove, LastPosition, PositionsFilled
from pipeline.domain.states import (
    DECISIONS,
    FILLED_BY,
    Actor,
    EventType,
    IfLast,
    Move,
    Outcome,
    Reason,
    ReinstatementReason,
    Status,
)
from pipeline.domain.verbs import status_after
from pipeline.line.admission import give_missed_place_back
from pipeline.line.lock import line_transaction, lock_job_of
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import change_job_status, make_job_move, make_move
from pipeline.line.settle import fill_seats, settle_due
from pipeline.line.write import write
from pipeline.models import Application, Contest, DecisionNote, DecisionText, Event
from pipeline.services.contests import close_answered
from pipeline.texts.words import fill_sentence

security = logging.getLogger("security")


@line_transaction
def withdraw(*, application_id: UUID, actor: Actor) -> Application:
    """Withdraw an application. A freed seat goes to the next in line before this returns.

    Withdrawing twice is harmless. Raises IllegalMove if the application ended in another way,
    ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job, only_ends=True)
    application = job.application(application_id)
    if application.outcome != Outcome.WITHDRAWN:
        make_move(job, application, Move.WITHDRAW, actor=actor)
        fill_seats(job)
        write(job, commit=True)
    return application


# A company's decision on an application.


@line_transaction
def remove(
    *,
    application_id: UUID,
    outcome: Outcome,
    actor: Actor,
    reason: Reason | None = None,
    note: str = "",
    text: str = "",
    request_id: UUID | None = None,
    if_last: IfLast = IfLast.ASK,
) -> Application:
    """End an application as REMOVED, REJECTED or HIRED. A freed seat goes to the next in line.

    Once every position of the job is filled, nobody is offered a seat any more. `if_last`: what
    happens if this fills the last one.
    `reason` is a code and goes into the log. `note` is free text for the company, `text` for the
    person, who reads it on their page and in the email, with its fields filled in. Both are stored
    where they can be erased.
    `request_id` identifies the company's request: repeating it is harmless, even if the person has
    got their place back since. Raises IllegalMove
    (HIRED is possible only from ACTIVE), PositionsFilled, LastPosition if `if_last` is ASK, and
    ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job, only_ends=True)
    application = job.application(application_id)
    if request_id:
        ended = Event.objects.filter(application_id=application.id, event=EventType.REMOVED)
        if ended.filter(data__request=str(request_id)).exists():
            return application
    codes = {"reason": reason, "request": request_id}
    facts = {name: str(value) for name, value in codes.items() if value}
    move = DECISIONS[outcome]
    if move is Move.HIRE:
        status_after(Status(application.status), move, verified=application.is_verified)
        _take_position(job, if_last, actor)
    entry = make_move(job, application, move, actor=actor, facts=facts)
    is_last = move is Move.HIRE and job.is_filled and job.status is not JobStatus.CLOSED
    if is_last and if_last is IfLast.CLOSE:
        change_job_status(job, JobStatus.CLOSED, actor=actor, facts={FILLED_BY: entry.seq})
    fill_seats(job)
    if note:
        DecisionNote.objects.create(application=application, seq=entry.seq, text=note)
    if text:
        filled = fill_sentence(text, job_id=job.id, name=application.name)
        DecisionText.objects.create(application=application, seq=entry.seq, text=filled)
    write(job, commit=True)
    ids = {"company": str(job.company_id), "application": str(application.id)}
    security.info("decision.made", extra=ids | {"outcome": str(outcome)})
    return application


def _take_position(job: LockedJob, if_last: IfLast, actor: Actor) -> None:
    """Make sure that the job has a position left. Raises PositionsFilled, LastPosition.

    To go on, a job at its last position gets one more. If it is closed, nothing follows from the
    last position, and it need not be asked for.
    """
    positions, hired = job.positions_to_fill, job.hired_count
    if positions is None or hired + 1 < positions:
        return
    if if_last is IfLast.GO_ON and positions < MAX_POSITIONS:
        job.positions_to_fill = positions + 1
        make_job_move(job, EventType.POSITIONS_CHANGED, actor=actor)
    elif hired == positions:
        raise PositionsFilled(positions=positions)
    elif if_last is IfLast.ASK and job.status is not JobStatus.CLOSED:
        raise LastPosition


# Reinstatement: a company gives a person back the place that they lost through a miss.


@line_transaction
def reinstate(
    *,
    application_id: UUID,
    reason: ReinstatementReason,
    actor: Actor,
    note: str = "",
    request_id: UUID | None = None,
) -> Application:
    """Give a person back the place they had before their last miss, which no longer counts.

    This gives them no seat. They stand at their former place, without a cool-down unless they have
    passed a turn since, and are promoted by the ordinary rule: at once if a seat is free. It also
    answers an open request to look again at the lapse. `reason`, `note` and
    `request_id` as in `remove`. Repeating it is harmless while the application is live. Raises
    IllegalMove if the person is not waiting and did not lapse by a miss, or if the job is closed;
    NotReinstatable; AlreadyApplied if they have another live application; ApplicationNotFound.
    """
    job = lock_job_of(application_id, hold_person=True)
    settle_due(job)
    application = job.application(application_id)
    if request_id:
        done = Event.objects.filter(application_id=application.id, event=EventType.REINSTATED)
        if done.filter(data__request=str(request_id)).exists():
            return application
    miss = job.source.last_miss(application)
    status = Status(application.status)
    if miss.is_given_back and status is not Status.INACTIVE:
        return application
    if job.status is JobStatus.CLOSED or application.outcome not in (None, Outcome.LAPSED):
        raise IllegalMove(status=status, move=Move.REINSTATE)
    status_after(status, Move.REINSTATE, verified=application.is_verified)
    miss.refuse_giving_back()
    codes = {"reason": reason, "request": request_id}
    facts: dict[str, Any] = {name: str(value) for name, value in codes.items() if value}
    if contest := Contest.objects.filter(application_id=application_id, answer="").first():
        facts[ANSWER_SEQ] = close_answered(
            job,
            application,
            contest,
            answer=ContestAnswer.CHANGED,
            reason=ContestReason(reason),
            actor=actor,
        )
    entry = give_missed_place_back(job, application, miss, actor=actor, facts=facts)
    if note:
        DecisionNote.objects.create(application=application, seq=entry.seq, text=note)
    write(job, commit=True)
    ids = {"company": str(job.company_id), "application": str(application.id)}
    security.info("place.given_back", extra=ids | {"reason": str(reason)})
    return application
