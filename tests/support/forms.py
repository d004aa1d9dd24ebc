"""Questions and forms as tests need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from jobs.models import Job
from pipeline.form import later
from pipeline.form.answers import Filled, fill
from pipeline.form.questions import Kind, Question, build_question
from pipeline.form.versions import publish
from pipeline.models import Application, FurtherQuestion
from tests.support import factories
from tests.support.callers import Caller, key_of, signed_in
from tests.support.clock import database_now

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


def asked(person: Application, *, days: int = 3) -> FurtherQuestion:
    """A further question to a person in review."""
    return later.ask(
        application_id=person.id,
        question=question(Kind.LONG_TEXT, "further", label="When can you start?", required=True),
        answer_by=database_now() + timedelta(days=days),
        actor=factories.RECRUITER,
    )


def waiting_with_answers(**job: Any) -> Application:
    """A person on the waitlist who has answered the five questions."""
    job_id = job_with(capacity=1, **job)
    factories.application(job_id, filled=filled(job_id))
    return factories.application(job_id, filled=filled(job_id))


def form_post() -> tuple[Caller, str, Any]:
    """The company publishes a form."""
    company = factories.company().id
    body = {"questions": [{"kind": "SHORT_TEXT", "label": "Town"}]}
    return key_of(company), f"/jobs/{factories.job(company_id=company)}/form", body


def answers_post() -> tuple[Caller, str, Any]:
    """A person who waits changes their answers."""
    person = waiting_with_answers()
    body = {"answers": FIVE_ANSWERS | {"town": "Rostock"}}
    return signed_in(person.applicant), f"/applications/{person.id}/answers", body


def question_post() -> tuple[Caller, str, Any]:
    """The company asks one more question."""
    company = factories.company().id
    person = factories.application(factories.job(company_id=company))
    until = (database_now() + timedelta(days=2)).isoformat()
    body = {"question": {"kind": "YES_NO", "label": "Still interested?"}, "answer_by": until}
    return key_of(company), f"/applications/{person.id}/further-questions", body


def further_answer_post() -> tuple[Caller, str, Any]:
    """The person answers it."""
    person = factories.application(factories.job())
    path = f"/applications/{person.id}/further-questions/{asked(person).id}/answer"
    return signed_in(person.applicant), path, {"answer": "In May"}


def question_withdrawal_post() -> tuple[Caller, str, Any]:
    """The company withdraws it."""
    company = factories.company().id
    person = factories.application(factories.job(company_id=company))
    path = f"/applications/{person.id}/further-questions/{asked(person).id}/withdraw"
    return key_of(company), path, {}


_FURTHER = "applications/<uuid:application_id>/further-questions"
FORM_POSTS: dict[str, Callable[[], tuple[Caller, str, Any]]] = {
    "jobs/<uuid:job_id>/form": form_post,
    "applications/<uuid:application_id>/answers": answers_post,
    _FURTHER: question_post,
    f"{_FURTHER}/<uuid:question_id>/answer": further_answer_post,
    f"{_FURTHER}/<uuid:question_id>/withdraw": question_withdrawal_post,
}
