"""Undoing a decision at the very moment at which it takes effect: it happened, or it did not."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db.models import QuerySet

from pipeline.models import DecisionItem, PendingDecision
from pipeline.review import decisions
from tests.support import factories
from tests.support.decisions import made, removals, states
from tests.support.invariants import assert_line_is_sound
from tests.support.together import kinds, together

pytestmark = pytest.mark.django_db(transaction=True)

State = DecisionItem.State
NAMES = ("Ana Li", "Bo Berg", "Cy Okafor", "Dee Rao")


@pytest.fixture
def job(settings: Any) -> UUID:
    """A job with two seats taken and two people waiting; decisions wait for a minute."""
    settings.DECISION_UNDO_SECONDS = 60
    job = factories.job(capacity=2)
    for name in NAMES:
        factories.application(job, factories.applicant(name=name))
    return job


def undoing(decision: PendingDecision) -> Callable[[], int]:
    actor = factories.RECRUITER
    return partial(decisions.undo, decision_id=decision.id, job_id=decision.job_id, actor=actor)


@pytest.mark.parametrize("round_number", range(8))
def test_at_its_moment_each_person_is_decided_on_or_it_is_undone_for_them(
    job: UUID, round_number: int
) -> None:
    decision = made(job, *NAMES)

    def later() -> int:
        time.sleep(0.01 * round_number)
        return undoing(decision)()

    worker = partial(decisions.carry_out, decision.id)
    _, undone, _ = together([worker, later, worker])

    found = states(decision)
    decided = found.count("DONE")
    assert set(found) <= {"DONE", "UNDONE"}
    assert removals(job) == decided
    if isinstance(undone, int):
        assert undone == found.count("UNDONE")
    else:
        assert (type(undone).__name__, decided) == ("DecisionTooLate", len(NAMES))
    decision.refresh_from_db()
    assert decision.finished_at is not None
    assert_line_is_sound(job)


def test_two_who_undo_at_once_undo_once(job: UUID) -> None:
    decision = made(job, *NAMES)

    answers = together([undoing(decision)] * 4)

    assert kinds(answers) == ["int"] * 4
    assert sorted(answers) == [0, 0, 0, len(NAMES)]
    decisions.carry_out(decision.id)
    assert (removals(job), states(decision)) == (0, ["UNDONE"] * len(NAMES))


@pytest.mark.parametrize("is_claimed", [True, False], ids=["claimed", "control without the claim"])
def test_only_the_claim_keeps_a_decision_that_was_undone_from_happening(
    job: UUID, is_claimed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both look at the same moment: the worker has read the person, then it is undone."""
    decision = made(job, "Ana Li")
    update = QuerySet.update

    def undo_first(rows: QuerySet[Any], **values: Any) -> int:
        if values == {"state": State.DECIDING}:
            monkeypatch.setattr(QuerySet, "update", update)
            undoing(decision)()
            if not is_claimed:
                return 1  # as if it had not looked whether the decision still waits
        return update(rows, **values)

    monkeypatch.setattr(QuerySet, "update", undo_first)
    decisions.carry_out(decision.id)

    assert removals(job) == (0 if is_claimed else 1)
    if is_claimed:
        assert states(decision) == ["UNDONE"]
