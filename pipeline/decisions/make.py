"""Making and undoing decisions that take effect some seconds later."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models.functions import Now

from jobs.models import Job
from pipeline.database.instants import database_now
from pipeline.decisions.carry_out import TASK, carry_out_decision
from pipeline.domain.errors import ClockMoving, DecisionTooLate, JobNotFound
from pipeline.domain.states import DECISIONS, MOVES, Actor, Outcome, Reason, Status
from pipeline.line.signals import committed
from pipeline.models import Application, DecisionItem, PendingDecision
from tasks.enqueue import enqueue

# The most people who are decided on within the request, if decisions are not delayed.
MOST_AT_ONCE = 20
MOST_PEOPLE = 500
# Before other work: people are watching the clock.
PRIORITY = 5
# How much later a task checks what a request carries out itself, in case that fails.
RESCUE_AFTER = timedelta(seconds=5)

State, Problem = DecisionItem.State, DecisionItem.Problem


def make_decision(
    *,
    decision_id: UUID,
    job_id: UUID,
    application_ids: Sequence[UUID],
    outcome: Outcome,
    actor: Actor,
    reason: Reason | None = None,
    note: str = "",
) -> PendingDecision:
    """Store a company's decision on some of a job's applications; a task carries it out when due.

    Until then, no other decision on these people can be made here; the API can still decide.
    People for whom it is not possible, or for whom another decision is pending, are stored as
    refused. Applications of other jobs are left out. Making it again under the same id changes
    nothing. If the site does not delay decisions, a small one has taken effect when this returns,
    unless the line is too busy: then the task follows. Raises JobNotFound if the id is that of
    another job's decision. Must not be called inside a transaction.
    """
    with transaction.atomic(durable=True):
        delay = timedelta(seconds=settings.DECISION_UNDO_SECONDS)
        given = {
            "job_id": job_id,
            "outcome": outcome,
            "reason": reason or "",
            "note": note,
            "decided_by": actor.id,
            "due_at": database_now() + delay,
        }
        decision, is_new = PendingDecision.objects.get_or_create(id=decision_id, defaults=given)
        if decision.job_id != job_id:
            raise JobNotFound
        if not is_new:
            return decision
        waiting = _store_items_of_made_decision(decision, application_ids[:MOST_PEOPLE])
        is_delayed = bool(delay) or waiting > MOST_AT_ONCE
        if waiting:
            payload = {"decision": str(decision_id)}
            run_after = decision.due_at if is_delayed else decision.due_at + RESCUE_AFTER
            enqueue(TASK, payload, run_after=run_after, priority=PRIORITY)
    if is_delayed and waiting:
        announce_made_decision(job_id)
    else:
        with suppress(OperationalError, ClockMoving):  # the line is too busy; the task follows
            carry_out_decision(decision_id)
    decision.refresh_from_db()
    return decision


def _store_items_of_made_decision(
    decision: PendingDecision, application_ids: Sequence[UUID]
) -> int:
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


def undo_decision(*, decision_id: UUID, job_id: UUID, actor: Actor) -> int:
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
            decisions.filter(id=decision_id, finished_at=None).update(finished_at=Now(), note="")
    announce_made_decision(job_id)
    return undone


def announce_made_decision(job_id: UUID) -> None:
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
