"""Decisions at the last position: those that wait, several together, and two at once."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from pipeline.domain.errors import LastPosition, PositionsFilled
from pipeline.domain.states import Outcome
from pipeline.models import Application, DecisionItem, PendingDecision
from pipeline.review import decisions
from pipeline.services.jobs import JobChanges, update_job
from tests.support import factories
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def job_with(positions: int, people: int) -> tuple[UUID, list[Application]]:
    job_id = factories.job(capacity=people, hiring={"positions_to_fill": positions})
    return job_id, factories.applications(job_id, people)


def hire(job_id: UUID, *people: Application, **more: Any) -> PendingDecision:
    return decisions.make(
        decision_id=uuid4(),
        job_id=job_id,
        application_ids=[person.id for person in people],
        outcome=Outcome.HIRED,
        actor=factories.RECRUITER,
        **more,
    )


def problems(decision: PendingDecision) -> list[str]:
    return list(decision.items.order_by("number").values_list("problem", flat=True))


def test_a_pending_hiring_counts_when_the_next_one_is_decided(undo_seconds: int) -> None:
    job_id, (first, second, _) = job_with(2, 3)
    hire(job_id, first)

    with pytest.raises(LastPosition):
        hire(job_id, second)

    assert not PendingDecision.objects.filter(items__application=second).exists()


def test_an_undone_hiring_counts_back(undo_seconds: int) -> None:
    job_id, (first, second, _) = job_with(2, 3)
    decision = hire(job_id, first)
    decisions.undo(decision_id=decision.id, job_id=job_id, actor=factories.RECRUITER)

    assert hire(job_id, second).close_job is None


def test_nothing_closes_before_the_decision_takes_effect(undo_seconds: int) -> None:
    job_id, (first, _) = job_with(1, 2)
    decision = hire(job_id, first, close_job=True)
    assert factories.row_of(job_id).status == "OPEN"

    decisions.carry_out(decision.id)

    assert factories.row_of(job_id).status == "CLOSED"
    assert_line_is_sound(job_id)


def test_of_two_decisions_on_the_last_position_the_later_one_is_refused_with_its_reason(
    undo_seconds: int,
) -> None:
    job_id, (first, second) = job_with(2, 2)
    one, other = hire(job_id, first), hire(job_id, second, close_job=True)
    lower = JobChanges(hiring={"positions_to_fill": 1})
    update_job(job_id=job_id, changes=lower, actor=factories.RECRUITER)

    decisions.carry_out(other.id)
    decisions.carry_out(one.id)

    assert (problems(other), problems(one)) == ([""], [DecisionItem.Problem.FILLED])
    assert factories.statuses(first, second) == ["ACTIVE", "HIRED"]
    assert_line_is_sound(job_id)


def test_a_decision_that_was_not_asked_leaves_the_job_open_and_filled(undo_seconds: int) -> None:
    job_id, (first, second) = job_with(2, 2)
    decision = hire(job_id, first)
    lower = JobChanges(hiring={"positions_to_fill": 1})
    update_job(job_id=job_id, changes=lower, actor=factories.RECRUITER)

    decisions.carry_out(decision.id)

    job = factories.row_of(job_id)
    assert (job.status, job.is_filled, factories.status_of(second)) == ("OPEN", True, "ACTIVE")
    assert_line_is_sound(job_id)


def test_several_fill_the_last_positions_together() -> None:
    job_id, people = job_with(2, 4)

    with pytest.raises(PositionsFilled):
        hire(job_id, *people[:3], close_job=True)
    with pytest.raises(LastPosition):
        hire(job_id, *people[:2])
    hire(job_id, *people[:2], close_job=True)

    assert factories.statuses(*people) == ["HIRED", "HIRED", "ACTIVE", "ACTIVE"]
    assert factories.row_of(job_id).status == "CLOSED"
    assert_line_is_sound(job_id)


def test_several_who_are_more_than_the_positions_can_go_on() -> None:
    job_id, people = job_with(1, 3)

    hire(job_id, *people, close_job=False)

    job = factories.row_of(job_id)
    assert (job.hired_count, job.positions_to_fill, job.status) == (3, 4, "OPEN")
    assert_line_is_sound(job_id)


def test_other_decisions_ask_nothing() -> None:
    job_id, (first, second) = job_with(1, 2)
    hire(job_id, first, close_job=True)

    decisions.make(
        decision_id=uuid4(),
        job_id=job_id,
        application_ids=[second.id],
        outcome=Outcome.REJECTED,
        actor=factories.RECRUITER,
    )

    assert factories.statuses(second) == ["REJECTED"]
