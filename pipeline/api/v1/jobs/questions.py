"""Questions of a form as companies send them: their shapes, and what is wrong with them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from pipeline.api.v1.fields import Bound, Choice, Flag, Letter, Line, Name, Shape, Whole
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


def declare_questions(*, required: bool = True) -> serializers.ListField:
    """Return the field for the questions of a form."""
    return serializers.ListField(child=QuestionIn(), max_length=MOST_QUESTIONS, required=required)


def built_questions(given: list[dict[str, Any]]) -> list[Question]:
    """Return the questions of a form as they were given, with keys. Raises ValidationError."""
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
