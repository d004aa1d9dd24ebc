"""Leaving a line, by oneself or by the company's decision: the seat goes to the next at once."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from pipeline.domain.errors import ApplicationNotFound, IllegalMove
from pipeline.domain.states import Outcome, Reason
from pipeline.models import DecisionNote
from pipeline.services.leaving import remove, withdraw
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def end(person: factories.Application, outcome: str, **how: Any) -> factories.Application:
    if outcome == "WITHDRAWN":
        return withdraw(application_id=person.id, actor=factories.owner_of(person))
    return remove(
        application_id=person.id, outcome=Outcome(outcome), actor=factories.RECRUITER, **how
    )


@pytest.mark.parametrize("outcome", ["WITHDRAWN", "REMOVED", "REJECTED", "HIRED"])
def test_the_seat_of_who_leaves_is_offered_to_the_next_in_line(outcome: str) -> None:
    job_id = factories.job()
    leaving, first, second = factories.applications(job_id, 3)

    end(leaving, outcome)

    assert factories.statuses(leaving, first, second) == [
        outcome,
        "PENDING_ACKNOWLEDGMENT",
        "WAITLIST",
    ]
    left, promoted = factories.events(job_id)[-2:]
    assert (promoted.event, promoted.cause_seq) == ("PROMOTED", left.seq)
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("outcome", ["WITHDRAWN", "REMOVED", "REJECTED"])
def test_who_leaves_the_waitlist_closes_the_gap_and_opens_no_seat(outcome: str) -> None:
    job_id = factories.job()
    holder, first, leaving, last = factories.applications(job_id, 4)

    end(leaving, outcome)

    assert factories.statuses(holder, first, last) == ["ACTIVE", "WAITLIST", "WAITLIST"]
    assert factories.line(job_id) == [first.id, last.id]
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("outcome", ["WITHDRAWN", "REMOVED", "REJECTED"])
def test_who_leaves_an_offer_before_its_deadline_has_not_missed_it(outcome: str) -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    leaving, waiting = factories.applications(job_id, 2)

    end(leaving, outcome)

    assert factories.fresh(leaving).decay_count == 0
    assert factories.statuses(leaving, waiting) == [outcome, "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("outcome", ["WITHDRAWN", "REMOVED", "REJECTED"])
def test_who_leaves_after_the_deadline_has_missed_it_first(outcome: str) -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    leaving, waiting = factories.applications(job_id, 2)
    let_time_pass(job_id, factories.WINDOW)

    end(leaving, outcome)

    assert factories.fresh(leaving).decay_count == 1
    assert factories.event_names(job_id)[-3:][:2] == ["DECAYED", "PROMOTED"]
    assert factories.statuses(leaving, waiting) == [outcome, "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)


def test_a_reason_is_a_code_in_the_log_and_the_words_stand_elsewhere() -> None:
    person = factories.application(factories.job())

    end(person, "REJECTED", reason=Reason.MISSED_INTERVIEW, note="Did not call.")

    data = factories.events(person.job_id)[-1].data
    assert data["reason"] == "MISSED_INTERVIEW"
    assert "Did not call." not in str(data)
    assert DecisionNote.objects.get(application_id=person.id).text == "Did not call."


def test_an_unknown_application_is_named_as_such() -> None:
    nobody = factories.applicant().id

    with pytest.raises(ApplicationNotFound):
        withdraw(application_id=nobody, actor=factories.RECRUITER)
    with pytest.raises(ApplicationNotFound):
        remove(application_id=nobody, outcome=Outcome.REMOVED, actor=factories.RECRUITER)


def test_a_repeated_request_decides_once_and_another_one_is_refused() -> None:
    person = factories.application(factories.job())
    request_id = uuid4()

    first = end(person, "REJECTED", request_id=request_id)
    again = end(person, "REJECTED", request_id=request_id)

    assert (first.id, again.id) == (person.id, person.id)
    assert factories.event_names(person.job_id).count("REMOVED") == 1
    with pytest.raises(IllegalMove):
        end(person, "REJECTED", request_id=uuid4())
