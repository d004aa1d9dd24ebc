"""Answers after applying: changed while waiting, asked for in a seat. They move nobody."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from pipeline.domain.errors import (
    AnswersNotChangeable,
    FormChanged,
    FurtherQuestionNotFound,
    IllegalMove,
    QuestionNotAskable,
)
from pipeline.domain.states import ANSWERS, QUESTION_ID
from pipeline.form import later
from pipeline.form.answers import digest_of, read_given
from pipeline.form.questions import Kind
from pipeline.form.versions import publish
from pipeline.models import Application, FurtherQuestion
from tests.support import factories
from tests.support.forms import (
    FIVE,
    FIVE_ANSWERS,
    filled,
    job_with,
    must_have_licence,
    question,
)
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = question(Kind.LONG_TEXT, "further", label="When can you start?", required=True)


def change(person: Application, **answers: object) -> Application:
    job = factories.row_of(person.job_id)
    given = later.fill_later(job, FIVE_ANSWERS | answers)
    actor = factories.owner_of(person)
    return later.change_answers(application_id=person.id, filled=given, actor=actor)


def ask(person: Application, *, days: float = 3) -> FurtherQuestion:
    answer_by = timezone.now() + timedelta(days=days)
    return later.ask(
        application_id=person.id,
        question=ASKED,
        answer_by=answer_by,
        actor=factories.RECRUITER,
    )


def test_a_person_who_waits_changes_answers_and_keeps_the_place() -> None:
    job_id = job_with(capacity=1)
    _seated, first, second = (
        factories.application(job_id, filled=filled(job_id)) for _ in range(3)
    )
    before = factories.line(job_id)

    change(first, town="Rostock")
    change(first, town="Rostock")

    rows = read_given(first.id)
    assert [(row.number, row.answers["town"]) for row in rows] == [(2, "Rostock"), (1, "Kiel")]
    last = factories.events(job_id)[-1]
    assert (last.event, last.application_id, last.actor_kind) == (
        "ANSWERS_CHANGED",
        first.id,
        "APPLICANT",
    )
    assert last.data[ANSWERS]["digest"] == bytes(rows[0].digest).hex()
    assert factories.line(job_id) == before == [first.id, second.id]
    assert_line_is_sound(job_id)


def test_answers_are_fixed_once_a_seat_is_theirs_and_after_the_end() -> None:
    job_id = job_with(capacity=1)
    seated = factories.application(job_id, filled=filled(job_id))

    with pytest.raises(IllegalMove):
        change(seated, town="Rostock")

    assert len(read_given(seated.id)) == 1


def test_a_late_answer_is_never_ruled_out_by_a_condition() -> None:
    job_id = job_with(FIVE, capacity=1)
    _seated, person = (factories.application(job_id, filled=filled(job_id)) for _ in range(2))
    whole = [must_have_licence(), *FIVE]
    publish(job_id=job_id, questions=whole, actor=factories.RECRUITER)

    change(person, licence=False)

    assert read_given(person.id)[0].answers["licence"] is False
    assert factories.status_of(person) == "WAITLIST"
    with pytest.raises(FormChanged):
        later.fill_later(factories.row_of(job_id), FIVE_ANSWERS, number=1)


def test_changes_have_a_limit_because_the_log_keeps_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later, "MOST_CHANGES", 2)
    job_id = job_with(capacity=1)
    _seated, person = (factories.application(job_id, filled=filled(job_id)) for _ in range(2))
    change(person, town="A")

    with pytest.raises(AnswersNotChangeable):
        change(person, town="B")


def test_one_further_question_at_a_time_is_asked_and_answered_in_a_seat() -> None:
    job_id = job_with(capacity=1)
    seated, waiting = (factories.application(job_id, filled=filled(job_id)) for _ in range(2))

    asked = ask(seated)
    with pytest.raises(QuestionNotAskable):
        ask(seated)
    with pytest.raises(IllegalMove):
        ask(waiting)
    answered = later.answer(
        application_id=seated.id,
        question_id=asked.id,
        given="In May",
        actor=factories.owner_of(seated),
    )

    assert (answered.answer, answered.is_open) == ("In May", False)
    first, second = factories.events(job_id)[-2:]
    assert [first.event, second.event] == ["QUESTION_ASKED", "ANSWERS_CHANGED"]
    assert first.data[QUESTION_ID] == second.data[QUESTION_ID] == str(asked.id)
    assert answered.salt
    assert answered.digest
    assert second.data[ANSWERS]["digest"] == digest_of(answered.salt, 0, "In May").hex()
    with pytest.raises(FurtherQuestionNotFound):
        later.answer(
            application_id=seated.id,
            question_id=asked.id,
            given="In June",
            actor=factories.owner_of(seated),
        )
    assert ask(seated).id != asked.id
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("days", [-1, 61])
def test_a_further_question_has_a_time_that_can_be_kept(days: int) -> None:
    job_id = job_with(capacity=1)
    seated = factories.application(job_id, filled=filled(job_id))

    with pytest.raises(QuestionNotAskable):
        ask(seated, days=days)


def test_a_withdrawn_question_cannot_be_answered_and_another_can_be_asked() -> None:
    job_id = job_with(capacity=1)
    seated = factories.application(job_id, filled=filled(job_id))
    asked = ask(seated)

    later.withdraw_question(application_id=seated.id, question_id=asked.id)

    with pytest.raises(FurtherQuestionNotFound):
        later.withdraw_question(application_id=seated.id, question_id=asked.id)
    assert later.open_question(seated.id) is None
    ask(seated)


def test_repeating_a_question_under_its_id_asks_it_once() -> None:
    job_id = job_with(capacity=1)
    seated = factories.application(job_id, filled=filled(job_id))
    same, until = uuid4(), timezone.now() + timedelta(days=2)

    first, second = (
        later.ask(
            application_id=seated.id,
            question=ASKED,
            answer_by=until,
            actor=factories.RECRUITER,
            question_id=same,
        )
        for _ in range(2)
    )

    assert first.id == second.id == same
    assert factories.event_names(job_id).count("QUESTION_ASKED") == 1


def test_an_overdue_question_can_still_be_answered() -> None:
    job_id = job_with(capacity=1)
    seated = factories.application(job_id, filled=filled(job_id))
    asked = ask(seated)
    FurtherQuestion.objects.filter(id=asked.id).update(answer_by=timezone.now())

    asked.refresh_from_db()
    assert asked.is_overdue(timezone.now())
    later.answer(
        application_id=seated.id,
        question_id=asked.id,
        given="Now",
        actor=factories.owner_of(seated),
    )
