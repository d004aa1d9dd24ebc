"""Fold of contests: bounds of their times, and who asks and answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from pipeline.audit.verify import verify_job
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Outcome
from pipeline.line.admission import give_missed_place_back
from pipeline.line.event_log import logged_time
from pipeline.line.lock import line_transaction, lock_job_of
from pipeline.line.misses import read_last_miss
from pipeline.line.write import write
from pipeline.models import Application, Contest, Event
from pipeline.services.contests import answer_contest, close_answered, contest
from pipeline.services.leaving import remove
from tests.audit.test_forged_logs import first_bad_seq, forge, set_data
from tests.support import factories
from tests.support.contests import rejected_application
from tests.support.offers import job_with_a_seat_on_offer, let_the_offer_run_out

pytestmark = pytest.mark.django_db(transaction=True)
Change = Callable[[Event], Any]


def asked() -> Contest:
    """Someone was rejected and asks the company to look again."""
    row = rejected_application()
    return contest(application_id=row.id, text="Why?", actor=factories.owner_of(row))


def answer(found: Contest, what: str = "UPHELD", reason: str = "DECISION_STANDS") -> None:
    answer_contest(
        contest_id=found.id,
        application_id=found.application_id,
        answer=ContestAnswer(what),
        reason=ContestReason(reason),
        actor=factories.RECRUITER,
    )


def said_by(kind: str) -> Change:
    return lambda row: setattr(row, "actor_kind", kind)


def other_times(row: Event) -> None:
    """Ask a month after the end."""
    row.at += timedelta(days=31)
    row.effective_at = row.at
    row.data["answer_by"] = logged_time(row.at + timedelta(days=14))


def without_time_for_an_answer(row: Event) -> None:
    row.data["answer_by"] = logged_time(row.at + timedelta(hours=23))


@pytest.mark.parametrize(
    "change",
    [
        set_data(contested_seq=1),
        set_data(contested_seq=99),
        set_data(answer_by=None),
        without_time_for_an_answer,
        other_times,
        said_by("COMPANY"),
        said_by("SYSTEM"),
        set_data(contest_id="no id"),
        set_data(decay_count=1),
        set_data(eligible_at="2126-01-01T00:00:00.000000Z"),
        set_data(decay_count=-1),
        lambda row: setattr(row, "outcome", "REMOVED"),
        lambda row: setattr(row, "outcome", "LAPSED"),
    ],
)
def test_a_contest_that_cannot_have_been_made_is_named(change: Change) -> None:
    found = asked()

    seq = forge(found.job_id, "CONTESTED", change)

    assert first_bad_seq(found.job_id) == seq


@pytest.mark.parametrize(
    "change",
    [
        set_data(reason="OUR_ERROR"),
        set_data(answer="DROPPED"),
        set_data(answer="DROPPED", reason="PERSON_ERASED"),
        set_data(answer="CHANGED", reason="OUR_ERROR"),
        set_data(answer="PERHAPS"),
        set_data(contest_id=str(UUID(int=0))),
        set_data(contest_id=str(UUID(int=2**128 - 1))),
        set_data(decay_count=1),
        said_by("APPLICANT"),
    ],
)
def test_an_answer_that_cannot_have_been_given_is_named(change: Change) -> None:
    found = asked()
    answer(found)
    factories.application(found.job_id)  # something follows: the log does not just end

    seq = forge(found.job_id, "CONTEST_ANSWERED", change)

    assert first_bad_seq(found.job_id) in (seq, seq + 1)


def test_an_answer_that_gives_a_place_back_does_so_in_the_next_row() -> None:
    found = asked()
    answer(found)

    seq = forge(found.job_id, "CONTEST_ANSWERED", set_data(answer="CHANGED", reason="OUR_ERROR"))

    assert first_bad_seq(found.job_id) == seq + 1


@pytest.mark.parametrize("change", [{"answer_seq": 1}, {"answer_seq": None}])
def test_a_place_that_another_answer_gave_back_is_named(change: dict[str, Any]) -> None:
    found = asked()
    answer(found, "CHANGED", "OUR_ERROR")

    seq = forge(found.job_id, "REINSTATED", set_data(**change))

    assert first_bad_seq(found.job_id) == seq


def test_somebody_else_does_not_get_the_place_that_an_answer_gave_back() -> None:
    job_id = factories.job(capacity=2)
    first, second = factories.applications(job_id, 2)
    for each in (first, second):
        remove(application_id=each.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    found = contest(application_id=first.id, text="Why?", actor=factories.owner_of(first))
    answer(found, "CHANGED", "OUR_ERROR")

    seq = forge(job_id, "REINSTATED", lambda row: setattr(row, "application_id", second.id))

    assert first_bad_seq(job_id) == seq


@line_transaction
def _answer_again(row: Application, found: Contest) -> None:
    job = lock_job_of(row.id)
    how = (ContestAnswer.UPHELD, ContestReason.DECISION_STANDS)
    ended = job.application(row.id)
    close_answered(job, ended, found, answer=how[0], reason=how[1], actor=factories.RECRUITER)
    write(job, commit=True)


def test_a_second_answer_is_named() -> None:
    found = asked()
    answer(found)
    _answer_again(Application.objects.get(id=found.application_id), found)

    assert first_bad_seq(found.job_id) == factories.row_of(found.job_id).seq


def test_a_second_contest_of_one_end_is_named() -> None:
    found = asked()
    answer(found)
    Contest.objects.all().delete()
    row = Application.objects.get(id=found.application_id)
    contest(application_id=row.id, text="And now?", actor=factories.owner_of(row))

    assert first_bad_seq(found.job_id) == factories.row_of(found.job_id).seq


def test_a_contest_of_an_end_that_cannot_be_contested_is_named() -> None:
    found = asked()
    seq = forge(found.job_id, "CONTESTED", lambda row: setattr(row, "outcome", "HIRED"))

    forge(found.job_id, "REMOVED", lambda row: setattr(row, "outcome", "HIRED"))

    assert first_bad_seq(found.job_id) == seq


def test_an_answer_may_be_due_after_a_day() -> None:
    found = asked()

    forge(
        found.job_id,
        "CONTESTED",
        lambda row: row.data.update(answer_by=logged_time(row.at + timedelta(days=1))),
    )

    assert verify_job(found.job_id).chain == "ok"


def test_the_last_moment_to_contest_an_end_is_before_the_thirtieth_day_is_over() -> None:
    found = asked()
    ended = factories.events(found.job_id)[-2].at
    for late, is_named in ((timedelta(0), True), (timedelta(microseconds=-1), False)):

        def move(row: Event, at: datetime = ended + timedelta(days=30) + late) -> None:
            row.at = row.effective_at = at
            row.data["answer_by"] = logged_time(at + timedelta(days=14))

        seq = forge(found.job_id, "CONTESTED", move)

        assert (verify_job(found.job_id).first_bad_seq == seq) is is_named


@pytest.mark.parametrize("what", ["UPHELD", "CHANGED"])
def test_the_log_of_an_answer_is_sound(what: str) -> None:
    found = asked()

    answer(found, what, "OUR_ERROR" if what == "CHANGED" else "DECISION_STANDS")

    assert verify_job(found.job_id).is_sound


def test_a_miss_may_be_taken_back_without_a_contest() -> None:
    job_id, missed = job_with_a_seat_on_offer(max_decays=0)
    let_the_offer_run_out(job_id)
    assert factories.status_of(missed) == "LAPSED"

    _give_back(missed)

    assert verify_job(job_id).chain == "ok"


@line_transaction
def _give_back(row: Application) -> None:
    """Give the place back as if nobody had asked, or had to ask."""
    job = lock_job_of(row.id)
    ended = job.application(row.id)
    place, facts = read_last_miss(ended), {"reason": "OUR_ERROR"}
    give_missed_place_back(job, ended, place, actor=factories.RECRUITER, facts=facts)
    write(job, commit=True)


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_decision_taken_back_without_an_answer_is_named(is_asked: bool) -> None:
    row = rejected_application()
    if is_asked:
        contest(application_id=row.id, text="Why?", actor=factories.owner_of(row))
    _give_back(row)

    assert first_bad_seq(row.job_id) == factories.events(row.job_id)[-2].seq
