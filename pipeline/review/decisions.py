"""Decisions that wait until they can no longer be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from django.db import OperationalError, transaction
from django.db.models.functions import Now

from jobs.companies import UndoTimes
from jobs.models import Company, Job, JobStatus
from pipeline.database import instants
from pipeline.domain.errors import (
    ClockMoving,
    DecisionTooLate,
    JobNotFound,
    LastPosition,
    LineError,
    PositionsFilled,
)
from pipeline.domain.states import DECISIONS, Actor, ActorKind, IfLast, Outcome, Reason, Status
from pipeline.domain.verbs import MOVES
from pipeline.line.write import committed
from pipeline.models import Application, DecisionItem, PendingDecision
from pipeline.services.leaving import remove
from tasks.context import Context
from tasks.enqueue import enqueue
from tasks.registry import task_type
from tasks.retry import Backoff

# The type of the task.
TASK = "decision.carry_out"

State, Problem = DecisionItem.State, DecisionItem.Problem
OPEN = (State.WAITING, State.DECIDING)


def carry_out(
    decision_id: UUID, *, after_each: Callable[[int, int], None] = lambda done, total: None
) -> None:
    """Decide on the remaining people of a decision, one after the other, each in a transaction.

    People without a seat come first, so that nobody is offered a seat and then decided on as well.
    Safe to run again and at the same time: the service knows each person's decision by the item's
    id. People for whom it was undone are left out, and refusals are stored. `after_each` is called
    with the numbers of people done and in all. Raises django.db.OperationalError if the line is too
    busy, and ClockMoving; it can then be called again. Must not be called inside a transaction.
    """
    decision = PendingDecision.objects.filter(id=decision_id).first()
    if decision is None:
        return
    actor = Actor(ActorKind.COMPANY, decision.decided_by)
    left = decision.items.filter(state__in=OPEN).select_related("application")
    items = sorted(
        left.order_by("number"), key=lambda item: Status(item.application.status).holds_seat
    )
    for done, item in enumerate(items, 1):
        mine = DecisionItem.objects.filter(id=item.id, state__in=OPEN)
        if not mine.update(state=State.DECIDING):
            continue  # undone meanwhile
        try:
            remove(
                application_id=item.application_id,
                outcome=Outcome(decision.outcome),
                actor=actor,
                reason=Reason(decision.reason) if decision.reason else None,
                note=decision.note,
                text=decision.text,
                request_id=item.id,
                if_last=_if_last(decision),
            )
        except ClockMoving:  # of a sandbox, for a moment
            mine.update(state=State.WAITING)
            raise
        except PositionsFilled:
            mine.update(state=State.REFUSED, problem=Problem.FILLED)
        except LineError:
            mine.update(state=State.REFUSED, problem=DecisionItem.Problem.NOT_POSSIBLE)
        else:
            mine.update(state=State.DONE)
        after_each(done, len(items))
    finish_carrying_out(decision_id)


def _if_last(decision: PendingDecision) -> IfLast:
    """Return what follows if a decision fills the last position.

    If it was not asked, because the job had more positions then, the job stays open.
    """
    if decision.close_job is None:
        return IfLast.STAY
    return IfLast.of(close_job=decision.close_job)


def count_positions_left(job: Job) -> int | None:
    """Return how many people can still be hired, apart from those whose hiring is pending.

    None for a job that hires any number of people.
    """
    if job.positions_left is None:
        return None
    pending = DecisionItem.objects.filter(
        decision__job_id=job.id, decision__outcome=Outcome.HIRED, state__in=OPEN
    )
    return max(0, job.positions_left - pending.count())


def give_up_carrying_out(decision_id: UUID) -> None:
    """Refuse the decisions that could not be carried out, so that people are free for others."""
    left = DecisionItem.objects.filter(decision_id=decision_id, state__in=OPEN)
    left.update(state=State.REFUSED, problem=DecisionItem.Problem.SITE)
    finish_carrying_out(decision_id)


@transaction.atomic(durable=True)
def finish_carrying_out(decision_id: UUID) -> None:
    """Note that a decision has taken effect wherever it could."""
    decision = PendingDecision.objects.select_for_update().get(id=decision_id)
    states = list(decision.items.values_list("state", flat=True))
    if decision.finished_at is None and not {*OPEN} & {*states}:
        same = PendingDecision.objects.filter(id=decision_id)
        same.update(finished_at=Now(), note="", text="", refused=states.count(State.REFUSED))


# Making and undoing decisions that take effect later.


# The most people who are decided on within the request, if decisions are not delayed.
MOST_AT_ONCE = 20
MOST_PEOPLE = 500
# Before other work: people are watching the clock.
PRIORITY = 5
# How much later a task checks what a request carries out itself, in case that fails.
RESCUE_AFTER = timedelta(seconds=5)


def make(
    *,
    decision_id: UUID,
    job_id: UUID,
    application_ids: Sequence[UUID],
    outcome: Outcome,
    actor: Actor,
    reason: Reason | None = None,
    note: str = "",
    text: str = "",
    close_job: bool | None = None,
) -> PendingDecision:
    """Store a company's decision on some of a job's applications; a task carries it out when due.

    Until then, no other decision on these people can be made here; the API can still decide.
    People for whom it is not possible, or for whom another decision is pending, are stored as
    refused. Applications of other jobs are left out. Making it again under the same id changes
    nothing. It waits as long as its company says now: a later change of that does not move it. If
    that is no time, a small decision has taken effect when this returns, unless the line is too
    busy: then the task follows. `close_job`: whether the job closes if this fills its last
    position, or goes on with one more; it has to be given then. `text`: what the people read, in
    today's words. Raises JobNotFound if the id is that of another job's decision, LastPosition, and
    PositionsFilled if more people are to be hired than there are positions. Must not be called
    inside a transaction.
    """
    with transaction.atomic(durable=True):
        delay = timedelta(seconds=_undo_seconds(job_id, outcome))
        said = {"reason": reason or "", "note": note, "text": text, "close_job": close_job}
        given = said | {
            "job_id": job_id,
            "outcome": outcome,
            "decided_by": actor.id,
            "due_at": instants.now() + delay,
        }
        decision, is_new = PendingDecision.objects.get_or_create(id=decision_id, defaults=given)
        if decision.job_id != job_id:
            raise JobNotFound
        if not is_new:
            return decision
        waiting = _store_people(decision, application_ids[:MOST_PEOPLE])
        is_delayed = bool(delay) or waiting > MOST_AT_ONCE
        if waiting:
            _enqueue(decision, timedelta() if is_delayed else RESCUE_AFTER)
    if is_delayed and waiting:
        announce(job_id)
    else:
        with suppress(OperationalError, ClockMoving):  # the line is too busy; the task follows
            carry_out(decision_id)
    decision.refresh_from_db()
    return decision


def _enqueue(decision: PendingDecision, grace: timedelta) -> None:
    """Enqueue the task that carries a decision out, for some time after it is due."""
    run_after = decision.due_at + grace
    enqueue(TASK, {"decision": str(decision.id)}, run_after=run_after, priority=PRIORITY)


def _undo_seconds(job_id: UUID, outcome: Outcome) -> int:
    """Return how long the company of a job can undo a decision that it makes now."""
    times = UndoTimes.of(Company.objects.get(jobs=job_id))
    return times.hiring if outcome is Outcome.HIRED else times.removal


def _store_people(decision: PendingDecision, application_ids: Sequence[UUID]) -> int:
    """Store the people as `_store_items` does. Raises LastPosition and PositionsFilled."""
    hiring = Outcome(decision.outcome) is Outcome.HIRED
    job = Job.objects.get(id=decision.job_id) if hiring else None
    left = count_positions_left(job) if job else None
    waiting = _store_items(decision, application_ids)
    if job and left is not None and waiting and decision.close_job is not False:
        _check_positions(job, waiting, left, is_answered=decision.close_job is not None)
    return waiting


def _check_positions(job: Job, people: int, left: int, *, is_answered: bool) -> None:
    """Refuse to hire more people than there are positions, and the last without an answer.

    This looks ahead, for the people who decide; the line itself decides when they are hired.
    """
    if people > left:
        raise PositionsFilled(positions=job.positions_to_fill)
    if people == left and not is_answered and job.status != JobStatus.CLOSED:
        raise LastPosition


def _store_items(decision: PendingDecision, application_ids: Sequence[UUID]) -> int:
    """Store the people in the given order, and return for how many the decision waits."""
    move = DECISIONS[Outcome(decision.outcome)]
    people = Application.objects.filter(job_id=decision.job_id, id__in=application_ids)
    statuses = dict(people.values_list("id", "status"))
    chosen = [each for each in dict.fromkeys(application_ids) if each in statuses]
    items = [
        DecisionItem(decision=decision, application_id=each, number=number)
        for number, each in enumerate(chosen, 1)
    ]
    for item in items:
        if (Status(statuses[item.application_id]), move) not in MOVES:
            item.state, item.problem = State.REFUSED, Problem.NOT_POSSIBLE
    # In one order, so that two decisions on the same people never wait for each other.
    in_order = sorted(items, key=lambda item: item.application_id)
    DecisionItem.objects.bulk_create(in_order, ignore_conflicts=True)
    stored = set(decision.items.values_list("application_id", flat=True))
    others = [item for item in items if item.application_id not in stored]
    for item in others:
        item.state, item.problem = State.REFUSED, Problem.DECIDED
    DecisionItem.objects.bulk_create(others)
    return sum(item.state == State.WAITING for item in items)


def undo(*, decision_id: UUID, job_id: UUID, actor: Actor) -> int:
    """Undo a decision for everyone on whom it has not taken effect; return how many.

    Undoing twice returns 0. Raises DecisionTooLate if it has taken effect on everyone.
    """
    with transaction.atomic(durable=True):
        decisions = PendingDecision.objects.select_for_update().filter(job_id=job_id)
        decision = decisions.filter(id=decision_id).first()
        if decision is None or (decision.finished_at and not decision.undone_by):
            raise DecisionTooLate
        undone = decision.items.filter(state=State.WAITING).update(state=State.UNDONE)
        if not undone and not decision.undone_by:
            raise DecisionTooLate
        decisions.filter(id=decision_id, undone_by=None).update(undone_by=actor.id)
        if not decision.items.filter(state=State.DECIDING).exists():
            unfinished = decisions.filter(id=decision_id, finished_at=None)
            unfinished.update(finished_at=Now(), note="", text="")
    announce(job_id)
    return undone


def announce(job_id: UUID) -> None:
    """Tell open pages of a job that a decision on it was made or undone. The log stays as it is."""
    job = Job.objects.only("company_id", "seq").get(id=job_id)
    committed.send_robust(
        sender=None,
        job_id=job.id,
        company_id=job.company_id,
        seq=job.seq,
        entries=[],
        wrote_tasks=False,
    )


# Task that carries out a company's decision when it is due.


def give_up(decision: UUID) -> None:
    """Refuse the remaining decisions when the last attempt has failed."""
    give_up_carrying_out(decision)


@task_type(
    key=TASK,
    urgent=True,
    timeout_seconds=120,
    max_attempts=20,
    backoff=Backoff(base_seconds=1, cap_seconds=30, jitter_seconds=1),
    on_fail=give_up,
)
def run(context: Context, decision: UUID) -> None:
    """Carry out a decision, and report the number of people decided on."""
    carry_out(decision, after_each=context.progress)
