"""Endpoints for answers after applying: changed while a person waits, or asked for in a seat."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypedDict, cast
from uuid import UUID

from django.utils.translation import gettext as _
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.auth import (
    caller_of,
    own_application,
    received_application,
    visible_application,
)
from pipeline.api.endpoint import Endpoint, answer_read, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.schemas import Tag, describes, describes_move
from pipeline.api.v1.applications.shapes import (
    AnswersIn,
    ApplicationOut,
    GivenAnswersOut,
    answer_changed,
    answers_as_fields,
    given_answers_out,
)
from pipeline.api.v1.fields import AnswerValue, Moment, Nothing, Shape
from pipeline.api.v1.jobs.questions import QuestionIn, built_question
from pipeline.api.v1.jobs.shapes import QuestionOut
from pipeline.api.v1.outputs import Count
from pipeline.api.v1.uploads import holder_of_caller
from pipeline.domain.errors import FurtherQuestionNotFound
from pipeline.domain.permissions import Action
from pipeline.domain.states import Move
from pipeline.form import later
from pipeline.form.answers import read_given, read_latest
from pipeline.form.questions import AnswerRefused, Kind
from pipeline.line.clock import read_company_clock
from pipeline.models import FurtherQuestion
from pipeline.selectors.jobs import read_job_facts


class FurtherQuestionIn(Shape):
    """One more question to a person in review, to be answered by a time."""

    question = QuestionIn()
    answer_by = Moment()


class FurtherAnswerIn(Shape):
    """The answer to a further question."""

    answer = AnswerValue()


class FurtherQuestionOut(TypedDict):
    """A further question of the company, and its answer."""

    id: UUID
    application_id: UUID
    question: QuestionOut
    asked_at: datetime
    answer_by: datetime
    is_overdue: bool
    withdrawn_at: datetime | None
    answered_at: datetime | None
    answer: Any
    seq: Count
    answer_seq: Count | None
    server_time: datetime


class AnswersOut(TypedDict):
    """All answers of an application, the last ones first, and the further questions."""

    application_id: UUID
    answers: list[GivenAnswersOut]
    further_questions: list[FurtherQuestionOut]
    server_time: datetime


class Answers(Endpoint):
    """`/applications/{id}/answers`"""

    @describes(
        "list_answers",
        Tag.APPLICATIONS,
        Action.READ_APPLICATION,
        AnswersOut,
        tagged=True,
        about="Each version of the answers is kept until the person is erased. At most 20.",
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """Return all answers of an application, to its person or the company that received it."""
        facts = visible_application(caller_of(request), application_id)
        return answer_read(request, _answers_out(application_id, facts.company_id))

    @describes_move(
        "change_answers",
        Move.CHANGE_ANSWERS,
        ApplicationOut,
        takes=(AnswersIn,),
        about="For a verified person on the waitlist, until a seat is theirs. They answer the"
        " current version, in full: an answer that is left out is empty from now on. Only files"
        " stay if their question is left out; a list replaces them, of uploads or of files that the"
        " application has, and the earlier files stay with the earlier answers. The place in line"
        " stays the same, whatever they answer, and earlier answers are kept. The same answers"
        " again change nothing.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Change the answers to the job's questions, while waiting."""
        caller, facts = own_application(caller_of(request), application_id, Action.CHANGE_ANSWERS)
        given = read_body(request, AnswersIn)
        job = read_job_facts(facts.job_id)
        latest = read_latest([application_id]).get(application_id)
        with answers_as_fields("answers"):
            filled = later.fill_later(
                job,
                given["answers"],
                earlier=latest.answers if latest else None,
                number=given.get("form_version"),
                holder=holder_of_caller(caller),
            )
        changed = later.change_answers(
            application_id=application_id, filled=filled, actor=caller.actor
        )
        return answer_changed(facts, changed)


class FurtherQuestions(Endpoint):
    """`/applications/{id}/further-questions`"""

    @describes_move(
        "ask_further_question",
        Move.ASK_QUESTION,
        {201: FurtherQuestionOut},
        takes=(FurtherQuestionIn,),
        located=False,
        about="For a person in review (ACTIVE). One question at a time, without a `must` and not"
        " for a file. The person gets an email, and answers on their page or through the API."
        " Nothing happens if `answer_by` passes without an answer: `is_overdue` says so.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Ask a person in review one more question: 201."""
        caller, facts = received_application(
            caller_of(request), application_id, Action.ASK_QUESTION
        )
        given = read_body(request, FurtherQuestionIn)
        kind = given["question"]["kind"]
        if kind == Kind.FILE or given["question"].get("must"):
            why = _("A further question can neither ask for a file nor have a condition.")
            raise ValidationError({"question": {"kind": [ErrorDetail(why, "invalid")]}})
        question = built_question(given["question"] | {"key": "further", "required": True})
        asked = later.ask(
            application_id=application_id,
            question=question,
            answer_by=given["answer_by"],
            actor=caller.actor,
            question_id=idempotent_row_id(request),
        )
        now = read_company_clock(facts.company_id).now
        return Response(further_question_out(asked, now), status=201)


class AnswerFurtherQuestion(Endpoint):
    """`/applications/{id}/further-questions/{id}/answer`"""

    @describes_move(
        "answer_further_question",
        Move.CHANGE_ANSWERS,
        FurtherQuestionOut,
        takes=(FurtherAnswerIn,),
        about="An answer after `answer_by` is taken too. It cannot be changed.",
    )
    def post(self, request: Request, application_id: UUID, question_id: UUID) -> Response:
        """Answer a further question of the company."""
        caller, facts = own_application(caller_of(request), application_id, Action.CHANGE_ANSWERS)
        given = read_body(request, FurtherAnswerIn)["answer"]
        found = later.open_question(application_id)
        if found is None or found[0].id != question_id:
            raise FurtherQuestionNotFound
        try:
            answer = found[1].check(given)
        except AnswerRefused as error:
            raise ValidationError({"answer": [ErrorDetail(str(error), "invalid")]}) from None
        if answer is None:
            raise ValidationError({"answer": [ErrorDetail(_("Answer this question."), "blank")]})
        answered = later.answer(
            application_id=application_id,
            question_id=question_id,
            given=answer,
            actor=caller.actor,
        )
        now = read_company_clock(facts.company_id).now
        return Response(further_question_out(answered, now))


class WithdrawFurtherQuestion(Endpoint):
    """`/applications/{id}/further-questions/{id}/withdraw`"""

    @describes(
        "withdraw_further_question",
        Tag.APPLICATIONS,
        Action.ASK_QUESTION,
        AnswersOut,
        takes=(Nothing,),
        about="404 `NOT_FOUND` if it was answered or withdrawn.",
    )
    def post(self, request: Request, application_id: UUID, question_id: UUID) -> Response:
        """Withdraw a further question that is still open."""
        _caller, facts = received_application(
            caller_of(request), application_id, Action.ASK_QUESTION
        )
        read_body(request, Nothing)
        later.withdraw_question(application_id=application_id, question_id=question_id)
        return Response(_answers_out(application_id, facts.company_id))


def _answers_out(application_id: UUID, company_id: UUID) -> AnswersOut:
    now = read_company_clock(company_id).now
    asked = later.read_further(application_id)
    return {
        "application_id": application_id,
        "answers": [given_answers_out(row) for row in read_given(application_id)],
        "further_questions": [further_question_out(each, now) for each in asked],
        "server_time": now,
    }


def further_question_out(asked: FurtherQuestion, now: datetime) -> FurtherQuestionOut:
    """Return a further question at a time of the company's clock."""
    hidden = {"in_summary": None, "searchable": None}
    return {
        "id": asked.id,
        "application_id": asked.application_id,
        "question": cast(QuestionOut, asked.question | hidden),
        "asked_at": asked.asked_at,
        "answer_by": asked.answer_by,
        "is_overdue": asked.is_overdue(now),
        "withdrawn_at": asked.withdrawn_at,
        "answered_at": asked.answered_at,
        "answer": asked.answer,
        "seq": asked.seq,
        "answer_seq": asked.answer_seq,
        "server_time": now,
    }
