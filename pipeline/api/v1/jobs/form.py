"""Endpoint for the form of a job: its questions, and publishing others."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api import parameters
from pipeline.api.auth import caller_of, own_job
from pipeline.api.endpoint import Endpoint, answer_read, read_body
from pipeline.api.openapi.parameters import FORM_VERSION
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import refuse_parameter
from pipeline.api.problem_types import INVALID_TRANSITION
from pipeline.api.v1.fields import Bound, Choice, Flag, Letter, Line, Name, Shape, Whole
from pipeline.api.v1.jobs.shapes import QuestionOut, questions_out
from pipeline.api.v1.outputs import Count
from pipeline.domain.permissions import Action
from pipeline.form.questions import (
    CHOICE_LENGTH,
    HELP_LENGTH,
    KEY_LENGTH,
    MOST_CHOICES,
    MOST_FILES,
    MOST_QUESTIONS,
    QUESTION_LENGTH,
    SENTENCE_LENGTH,
    UNIT_LENGTH,
    Kind,
    Question,
    QuestionRefused,
    build_question,
    check_form,
    suggest_key,
)
from pipeline.form.versions import MOST_VERSIONS, publish, questions_of
from pipeline.models import FormVersion


def _choices_field() -> serializers.ListField:
    child = Name(max_length=CHOICE_LENGTH)
    return serializers.ListField(child=child, max_length=MOST_CHOICES, required=False)


class MustIn(Shape):
    """A condition on the answer to a question, and the sentence for people who do not meet it."""

    answer = Flag(allow_null=True, required=False)
    minimum = Bound(allow_null=True, required=False)
    maximum = Bound(allow_null=True, required=False)
    choices = _choices_field()
    refusal = Name(max_length=SENTENCE_LENGTH)


class QuestionIn(Shape):
    """A question of a form. Fields that do not fit its kind are left out."""

    key = Line(max_length=KEY_LENGTH, required=False)
    kind = Choice(choices=[kind.value for kind in Kind])
    label = Name(max_length=QUESTION_LENGTH)  # type: ignore[assignment]  # a field of the body
    help = Letter(max_length=HELP_LENGTH, allow_blank=True, required=False)
    required = Flag(required=False)  # type: ignore[assignment]  # the same
    minimum = Bound(allow_null=True, required=False)
    maximum = Bound(allow_null=True, required=False)
    unit = Name(max_length=UNIT_LENGTH, allow_blank=True, required=False)
    choices = _choices_field()
    other = Flag(required=False)
    file_kinds = serializers.ListField(
        child=Line(max_length=20), max_length=20, required=False, allow_empty=True
    )
    file_count = Whole(min_value=1, max_value=MOST_FILES, required=False)
    must = MustIn(allow_null=True, required=False)
    in_summary = Flag(allow_null=True, required=False)
    searchable = Flag(allow_null=True, required=False)


class FormIn(Shape):
    """The questions of a job, in their order. An empty list means that it asks none."""

    questions = serializers.ListField(child=QuestionIn(), max_length=MOST_QUESTIONS)


class FormOut(TypedDict):
    """A published version of a job's form. It never changes. Version 0 has no questions."""

    job_id: UUID
    version: Count
    is_current: bool
    questions: list[QuestionOut]
    published_at: datetime | None


class FormOfJob(Endpoint):
    """`/jobs/{id}/form`"""

    @describes(
        "get_form",
        Tag.JOBS,
        Action.READ_COMPANY,
        FormOut,
        parameters=(FORM_VERSION,),
        tagged=True,
        about="`GET /jobs/{id}` has the current questions for everyone.",
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the current form of a job, or an earlier version."""
        _, job = own_job(caller_of(request), job_id, Action.READ_COMPANY)
        version = parameters.integer(request, "version", low=0, high=MOST_VERSIONS)
        number = job.form_version if version is None else version
        return answer_read(request, _form_out(job_id, number, job.form_version))

    @describes(
        "publish_form",
        Tag.JOBS,
        Action.EDIT_FORM,
        FormOut,
        takes=(FormIn,),
        refuses=(INVALID_TRANSITION,),
        about="People who apply from now on answer this version; earlier answers stay with theirs."
        " The same questions again make no new version. A question without a `key` gets one from"
        " its label; keep a key, so that the answers of all versions can be found under it. A"
        " `must` refuses a person before the line, with its `refusal`, and never afterwards; it is"
        " public, and so is how many people it has refused.",
    )
    def post(self, request: Request, job_id: UUID) -> Response:
        """Publish the questions that people answer when they apply."""
        caller, _ = own_job(caller_of(request), job_id, Action.EDIT_FORM)
        questions = _built(read_body(request, FormIn)["questions"])
        number = publish(job_id=job_id, questions=questions, actor=caller.actor)
        return Response(_form_out(job_id, number, number))


def _built(given: list[dict[str, Any]]) -> list[Question]:
    built: list[Question] = []
    wrong: dict[str, Any] = {}
    named = [each["key"] for each in given if each.get("key")]
    for number, each in enumerate(given):
        taken = {*named, *(question.key for question in built)}
        key = each.get("key") or suggest_key(each["label"], taken)
        try:
            built.append(built_question(each | {"key": key}))
        except ValidationError as error:
            wrong[str(number)] = error.detail
    if wrong:
        raise ValidationError({"questions": wrong})
    try:
        check_form(built)
    except QuestionRefused as error:
        raise ValidationError({"questions": next(iter(_as_fields(error).values()))}) from None
    return built


def built_question(given: dict[str, Any]) -> Question:
    """Return a question that was given with its key. Raises ValidationError."""
    try:
        return build_question(given | {"choices": given.get("choices", [])})
    except QuestionRefused as error:
        raise ValidationError(_as_fields(error)) from None


def _as_fields(error: QuestionRefused) -> dict[str, Any]:
    """Return the errors of a question by the fields of its object."""
    wrong: dict[str, Any] = {}
    for name, why in error.wrong.items():
        inner = "refusal" if name == "refusal" else name.removeprefix("must_")
        told = [ErrorDetail(why, "invalid")]
        if name == "refusal" or name.startswith("must_"):
            wrong.setdefault("must", {})[inner] = told
        else:
            wrong[name] = told
    return wrong


def _form_out(job_id: UUID, number: int, current: int) -> FormOut:
    try:
        questions = questions_of(job_id, number)
    except LookupError:
        refuse_parameter("version", "The job has no such version of its form.")
    version = FormVersion.objects.filter(job_id=job_id, number=number)
    return {
        "job_id": job_id,
        "version": number,
        "is_current": number == current,
        "questions": questions_out(questions),
        "published_at": version.values_list("published_at", flat=True).first(),
    }
