"""Answers in imported rows: columns that name questions, and the check of each cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from jobs.models import Job
from pipeline.files.imports.rows import ImportRow
from pipeline.form.answers import Filled
from pipeline.form.questions import AnswerRefused, Question, find_unmet
from pipeline.form.versions import questions_of

# The longest text about a refused cell that is kept.
LONGEST_DETAIL = 400


class CellRefused(ValueError):
    """A cell does not answer its question. The text names the question and what to do."""


def current_form(job_id: UUID) -> tuple[int, tuple[Question, ...]]:
    """Return the number of a job's form and its questions, in at most two queries."""
    number = Job.objects.filter(id=job_id).values_list("form_version", flat=True).first() or 0
    return number, questions_of(job_id, number)


def fill_row(number: int, questions: tuple[Question, ...], row: ImportRow) -> Filled | None:
    """Return the answers in a row, checked; None if it has none.

    A list may leave questions out, as a company may. Raises CellRefused.
    """
    given = {key: value for key, value in (row.answers or {}).items() if value not in ("", None)}
    if not given:
        return None
    known = {question.key: question for question in questions}
    answers: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            raise CellRefused(_("“%(column)s”: the form has no such question.") % {"column": key})
        question = known[key]
        try:
            answer = question.parse(value) if isinstance(value, str) else question.check(value)
        except AnswerRefused as error:
            raise CellRefused(f"“{question.label}”: {error}"[:LONGEST_DETAIL]) from None
        if answer is not None:
            answers[key] = answer
    asked = [question for question in questions if question.key in answers]
    if (unmet := find_unmet(asked, answers)) and unmet.must:
        raise CellRefused(f"“{unmet.label}”: {unmet.must.refusal}"[:LONGEST_DETAIL])
    in_order = {question.key: answers[question.key] for question in asked}
    return Filled(number, number, in_order) if in_order else None


def titles_of(questions: tuple[Question, ...]) -> Mapping[str, str]:
    """Return the key of each question by the titles that a column can have: label or key."""
    named: dict[str, str] = {}
    for question in questions:
        for title in (f"answer {question.key}", question.key, question.label):
            named.setdefault(title, question.key)
    return named
