"""Questions and forms as tests need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from jobs.models import Job
from pipeline.form.answers import Filled, fill
from pipeline.form.questions import Kind, Question, build_question
from pipeline.form.versions import publish
from tests.support import factories

LICENCE = "This work needs a forklift licence."


def question(kind: Kind, key: str = "", **given: Any) -> Question:
    """A question with what its kind needs."""
    known: dict[str, Any] = {"choices": ["Red", "Green", "Blue"]}
    usual = {"kind": kind, "key": key or kind.lower(), "label": f"Question {kind.lower()}"}
    return build_question(known | usual | given)


def must_have_licence() -> Question:
    """A question that decides who may apply."""
    must = {"answer": True, "refusal": LICENCE}
    return question(Kind.YES_NO, "licence", label="Have you a forklift licence?", must=must)


FIVE = (
    question(Kind.SHORT_TEXT, "town", label="Town", in_summary=True, searchable=True),
    question(Kind.NUMBER, "years", label="Experience", unit="years", minimum=0, maximum=60),
    question(Kind.CHOICE, "shift", label="Shift", choices=["Early", "Late"], other=True),
    question(Kind.CHOICES, "days", label="Days", choices=["Mon", "Tue", "Wed"]),
    question(Kind.LONG_TEXT, "why", label="Why this job?"),
)
FIVE_ANSWERS: dict[str, Any] = {
    "town": "Kiel",
    "years": 4,
    "shift": "Early",
    "days": ["Mon", "Wed"],
    "why": "I like boats.\nAnd the sea.",
}


def job_with(questions: Sequence[Question] = FIVE, **fields: Any) -> UUID:
    """An open job with a published form."""
    job_id = factories.job(**fields)
    publish(job_id=job_id, questions=questions, actor=factories.RECRUITER)
    return job_id


def filled(job_id: UUID, **answers: Any) -> Filled | None:
    """Answers to a job's current form, checked."""
    return fill(Job.objects.get(id=job_id), answers or FIVE_ANSWERS)
