"""Forged contests: asked once and in time, and only an answer gives a place back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction

from pipeline.audit.verify import verify_job
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Actor, Move, Outcome
from pipeline.line.event_log import logged_time
from pipeline.line.lock import lock_job_of
from pipeline.line.moves import make_move
from pipeline.line.write import write
from pipeline.models import Application, Contest, Event
from pipeline.services.contests import answer_contest, contest
from pipeline.services.leaving import remove
from tests.audit.test_forged_logs import first_bad_seq, forge, set_data
from tests.support import factories
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)

ANOTHER = str(uuid4())
DAY = 86_400


@pytest.fixture
def rejected() -> Application:
    """The first of two people who wait, rejected."""
    _seated, first, _second = factories.applications(factories.job(), 3)
    remove(application_id=first.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    return factories.fresh(first)


def ask(person: Application) -> Contest:
    return contest(application_id=person.id, text="Why?", actor=factories.owner_of(person))


def answer(asked: Contest, what: ContestAnswer, reason: ContestReason) -> None:
    answer_contest(
        contest_id=asked.id,
        application_id=asked.application_id,
        answer=what,
        reason=reason,
        actor=factories.RECRUITER,
    )


def take_back(person: Application) -> None:
    answer(ask(person), ContestAnswer.CHANGED, ContestReason.OUR_ERROR)


def uphold(person: Application) -> None:
    answer(ask(person), ContestAnswer.UPHELD, ContestReason.DECISION_STANDS)


def add(person: Application, move: Move, actor: Actor, **facts: Any) -> int:
    """Add an event as no service would, and return its seq."""
    with transaction.atomic():
        job = lock_job_of(person.id)
        seq = make_move(job, job.application(person.id), move, actor=actor, facts=facts).seq
        write(job)
    return seq


def end_of(person: Application) -> int:
    return Event.objects.filter(application_id=person.id, event="REMOVED").latest("seq").seq


def add_question(person: Application, **other: Any) -> int:
    at = factories.row_of(person.job_id).last_event_at
    asked = {"contest_id": ANOTHER, "contested_seq": end_of(person)}
    asked["answer_by"] = logged_time(at + timedelta(days=90))
    return add(person, Move.CONTEST, factories.owner_of(person), **asked | other)


def add_answer(person: Application, contest_id: UUID | str, **other: Any) -> int:
    said = {"contest_id": str(contest_id), "answer": "UPHELD", "reason": "DECISION_STANDS"}
    return add(person, Move.ANSWER_CONTEST, factories.RECRUITER, **said | other)


def test_questions_and_answers_as_the_services_write_them_are_sound(rejected: Application) -> None:
    take_back(rejected)
    remove(application_id=rejected.id, outcome=Outcome.REMOVED, actor=factories.RECRUITER)
    uphold(rejected)

    assert verify_job(rejected.job_id).is_sound


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("CONTESTED", set_data(contested_seq=1)),
        ("CONTESTED", set_data(contest_id=ANOTHER)),
        ("CONTESTED", set_data(answer_by="2026-01-01T00:00:00.000000Z")),
        ("CONTESTED", set_data(decay_count=1)),
        ("CONTESTED", set_data(eligible_at="2126-01-01T00:00:00.000000Z")),
        ("CONTESTED", lambda row: row.data.pop("answer_by")),
        ("CONTESTED", lambda row: setattr(row, "actor_kind", "COMPANY")),
        ("CONTESTED", lambda row: setattr(row, "outcome", "REMOVED")),
        ("CONTEST_ANSWERED", set_data(contest_id=ANOTHER)),
        ("CONTEST_ANSWERED", set_data(reason="DECISION_STANDS")),
        ("CONTEST_ANSWERED", set_data(answer="DROPPED", reason="PERSON_ERASED")),
        ("CONTEST_ANSWERED", lambda row: row.data.pop("answer")),
        ("CONTEST_ANSWERED", lambda row: setattr(row, "actor_kind", "APPLICANT")),
        ("REINSTATED", lambda row: row.data.pop("answer_seq")),
        ("REINSTATED", set_data(answer_seq=1)),
        ("REINSTATED", set_data(reason="ACCOMMODATION")),
        ("REINSTATED", set_data(ticket=0)),
        ("REINSTATED", set_data(tie=1)),
        ("REINSTATED", set_data(decay_count=1)),
        ("REINSTATED", lambda row: setattr(row, "cause_seq", 1)),
        ("REINSTATED", lambda row: setattr(row, "actor_kind", "APPLICANT")),
    ],
)
def test_a_forged_row_of_a_contest_is_named(
    rejected: Application, event: str, change: Callable[[Event], Any]
) -> None:
    take_back(rejected)
    assert verify_job(rejected.job_id).is_sound

    forged = forge(rejected.job_id, event, change)

    # An id or a reason that was changed shows only where the next row does not fit it.
    assert first_bad_seq(rejected.job_id) in (forged, forged + 1)


def test_an_answer_that_says_it_stays_gives_no_place_back(rejected: Application) -> None:
    take_back(rejected)

    stays = set_data(answer="UPHELD", reason="DECISION_STANDS")
    forged = forge(rejected.job_id, "CONTEST_ANSWERED", stays)

    assert first_bad_seq(rejected.job_id) == forged + 1


def test_an_answer_without_a_question_is_named(rejected: Application) -> None:
    forged = add_answer(rejected, ANOTHER)

    assert first_bad_seq(rejected.job_id) == forged


def test_a_second_answer_is_named(rejected: Application) -> None:
    uphold(rejected)
    asked = Contest.objects.get(application_id=rejected.id)

    forged = add_answer(rejected, asked.id)

    assert first_bad_seq(rejected.job_id) == forged


def test_a_second_question_about_one_end_is_named(rejected: Application) -> None:
    uphold(rejected)

    forged = add_question(rejected)

    assert first_bad_seq(rejected.job_id) == forged


def test_a_question_after_its_time_is_named(rejected: Application) -> None:
    let_time_pass(rejected.job_id, 30 * DAY)

    forged = add_question(rejected)

    assert first_bad_seq(rejected.job_id) == forged


def test_a_question_about_an_end_that_nobody_can_contest_is_named() -> None:
    person = factories.application(factories.job())
    remove(application_id=person.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)

    forged = add_question(person)

    assert first_bad_seq(person.job_id) == forged


def test_a_log_that_ends_before_the_place_is_given_back_is_named(rejected: Application) -> None:
    asked = ask(rejected)

    last = add_answer(rejected, asked.id, answer="CHANGED", reason="OUR_ERROR")

    assert first_bad_seq(rejected.job_id) == last + 1
    [said] = verify_job(rejected.job_id).differences
    assert said.endswith("the log ends before an answer has given a place back")


def test_another_event_in_place_of_the_place_given_back_is_named(rejected: Application) -> None:
    asked = ask(rejected)
    add_answer(rejected, asked.id, answer="CHANGED", reason="OUR_ERROR")

    factories.alter(rejected.job_id, capacity=2)

    assert first_bad_seq(rejected.job_id) == factories.row_of(rejected.job_id).seq - 1


@pytest.mark.parametrize("asks", [False, True])
def test_a_decision_taken_back_without_an_answer_is_named(
    rejected: Application, asks: bool
) -> None:
    if asks:
        ask(rejected)
    end = Event.objects.get(job_id=rejected.job_id, seq=end_of(rejected))
    stood = Event.objects.filter(application_id=rejected.id, to_status="WAITLIST").latest("seq")

    with transaction.atomic():
        job = lock_job_of(rejected.id)
        row = job.application(rejected.id)
        row.ticket, row.tie = stood.data["ticket"], stood.data["tie"]
        row.outcome = row.ended_at = None
        row.status_since, job.head_ticket = job.now, min(job.head_ticket, row.ticket)
        why = {"cause_seq": end.seq, "facts": {"reason": "OUR_ERROR"}}
        forged = make_move(job, row, Move.REINSTATE, actor=factories.RECRUITER, **why).seq
        write(job)

    assert first_bad_seq(rejected.job_id) == forged
