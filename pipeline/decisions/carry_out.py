"""Carrying out a decision when it is due, with a separate move and event for each person."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from pipeline.domain.errors import ClockMoving, LineError
from pipeline.domain.states import Actor, ActorKind, Outcome, Reason, Status
from pipeline.models import DecisionItem, PendingDecision
from pipeline.services.remove import remove

# The type of the task.
TASK = "decision.carry_out"

State = DecisionItem.State
OPEN = (State.WAITING, State.DECIDING)


def carry_out_decision(
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
                request_id=item.id,
            )
        except ClockMoving:  # of a sandbox, for a moment
            mine.update(state=State.WAITING)
            raise
        except LineError:
            mine.update(state=State.REFUSED, problem=DecisionItem.Problem.NOT_POSSIBLE)
        else:
            mine.update(state=State.DONE)
        after_each(done, len(items))
    finish_carrying_out(decision_id)


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
        same.update(finished_at=Now(), note="", refused=states.count(State.REFUSED))
