"""Leaving a line, by oneself or by the company's decision: the seat goes to the next at once."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import ApplicationNotFound
from pipeline.models import DecisionNote
from pipeline.services.remove import remove
from pipeline.services.withdraw import withdraw
from pipeline.states import Outcome, Reason
from tests import make
from tests.clock import let_time_pass
from tests.sound import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def end(person: make.Application, outcome: str, **how: Any) -> make.Application:
    if outcome == "WITHDRAWN":
        return withdraw(application_id=person.id, actor=make.owner_of(person))
    return remove(application_id=person.id, outcome=Outcome(outcome), actor=make.RECRUITER, **how)


@pytest.mark.parametrize("outcome", ["WITHDRAWN", "REMOVED", "REJECTED", "HIRED"])
def test_the_seat_of_who_leaves_is_offered_to_the_next_in_line(outcome: str) -> None:
    job_id = make.job()
    leaving, first, second = make.applications(job_id, 3)

    end(leaving, outcome)

    assert make.statuses(leaving, first, second) == [
        outcome,
        "PENDING_ACKNOWLEDGMENT",
        "WAITLIST",
    ]
    left, promoted = make.events(job_id)[-2:]
    assert (promoted.event, promoted.cause_seq) == ("PROMOTED", left.seq)
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("outcome", ["WITHDRAWN", "REMOVED", "REJECTED"])
def test_who_leaves_the_waitlist_closes_the_gap_and_opens_no_seat(outcome: str) -> None:
    job_id = make.job()
    holder, first, leaving, last = make.applications(job_id, 4)

    end(leaving, outcome)

    assert make.statuses(holder, first, last) == ["ACTIVE", "WAITLIST", "WAITLIST"]
    assert make.line(job_id) == [first.id, last.id]
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("outcome", ["WITHDRAWN", "REMOVED", "REJECTED"])
def test_who_leaves_an_offer_before_its_deadline_has_not_missed_it(outcome: str) -> None:
    job_id = make.job(acknowledge_first_seat=True)
    leaving, waiting = make.applications(job_id, 2)

    end(leaving, outcome)

    assert make.fresh(leaving).decay_count == 0
    assert make.statuses(leaving, waiting) == [outcome, "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("outcome", ["WITHDRAWN", "REMOVED", "REJECTED"])
def test_who_leaves_after_the_deadline_has_missed_it_first(outcome: str) -> None:
    job_id = make.job(acknowledge_first_seat=True)
    leaving, waiting = make.applications(job_id, 2)
    let_time_pass(job_id, make.WINDOW)

    end(leaving, outcome)

    assert make.fresh(leaving).decay_count == 1
    assert make.event_names(job_id)[-3:][:2] == ["DECAYED", "PROMOTED"]
    assert make.statuses(leaving, waiting) == [outcome, "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)


def test_a_reason_is_a_code_in_the_log_and_the_words_stand_elsewhere() -> None:
    person = make.application(make.job())

    end(person, "REJECTED", reason=Reason.MISSED_INTERVIEW, note="Did not call.")

    data = make.events(person.job_id)[-1].data
    assert data["reason"] == "MISSED_INTERVIEW"
    assert "Did not call." not in str(data)
    assert DecisionNote.objects.get(application_id=person.id).text == "Did not call."


def test_an_unknown_application_is_named_as_such() -> None:
    nobody = make.applicant().id

    with pytest.raises(ApplicationNotFound):
        withdraw(application_id=nobody, actor=make.RECRUITER)
    with pytest.raises(ApplicationNotFound):
        remove(application_id=nobody, outcome=Outcome.REMOVED, actor=make.RECRUITER)
