"""Decisions that wait: on the pages, after a failure, and when a person is erased."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import connection

from pipeline.domain.states import Outcome
from pipeline.models import PendingDecision
from pipeline.privacy.erase import erase_person
from pipeline.review.decisions import RESCUE_AFTER, TASK
from pipeline.selectors.review import MOST_SHOWN, read_awaited_decisions, shown_pending_decisions
from tests.support import factories
from tests.support.applicants import named
from tests.support.decisions import made, removals, states
from tests.support.task_runs import let_tasks_wait, run_due_tasks
from tests.support.together import held_lock

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_note_of_a_pending_decision_is_erased_with_a_person(
    undo_seconds: int, job: UUID
) -> None:
    decision = made(job, "Ana Li", "Cy Okafor", note="Ana Li knows Cy.")
    other = made(job, "Dee Rao", note="Come back in a year.")

    erase_person(applicant_id=named(job, "Cy Okafor").applicant_id)

    notes = PendingDecision.objects.filter(id__in=[decision.id, other.id])
    assert dict(notes.values_list("id", "note")) == {
        decision.id: "",
        other.id: "Come back in a year.",
    }


def test_of_many_decisions_the_pages_show_those_that_wait(undo_seconds: int, job: UUID) -> None:
    refused = [made(job, "Cy Okafor", outcome=Outcome.HIRED) for _ in range(MOST_SHOWN)]
    waiting = made(job, "Ana Li")

    shown = [each.id for each in shown_pending_decisions(job)]

    assert (len(shown), waiting.id in shown, refused[0].id in shown) == (MOST_SHOWN, True, False)


def test_nobody_can_be_ticked_whose_decision_is_not_shown(undo_seconds: int, job: UUID) -> None:
    crowd = factories.applications(job, MOST_SHOWN + 1)
    for person in crowd:
        made(job, person.name)

    assert read_awaited_decisions(job_id=job).keys() == {person.id for person in crowd}


@pytest.fixture
def impatient(db: None) -> Iterator[None]:
    """Wait only shortly for locks."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 50")
        yield
        cursor.execute("RESET lock_timeout")


@pytest.mark.usefixtures("impatient")
def test_at_once_but_the_line_is_busy_a_task_follows(job: UUID) -> None:
    with held_lock(job):
        decision = made(job, "Ana Li")

    assert (states(decision), removals(job)) == (["DECIDING"], 0)
    let_tasks_wait(RESCUE_AFTER.total_seconds())
    assert run_due_tasks(TASK) == ["SUCCEEDED"]
    assert (states(decision), removals(job)) == (["DONE"], 1)


def test_at_once_but_the_process_dies_a_task_follows(
    job: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_decision_id: UUID) -> None:
        raise MemoryError

    with monkeypatch.context() as dying:
        dying.setattr("pipeline.review.decisions.carry_out", die)
        with pytest.raises(MemoryError):
            made(job, "Ana Li")
    let_tasks_wait(RESCUE_AFTER.total_seconds())
    run_due_tasks(TASK)

    assert factories.status_of(named(job, "Ana Li")) == "REJECTED"
