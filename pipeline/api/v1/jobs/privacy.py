"""Endpoint for what a person must know before applying: who keeps what, and until when."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.retention import period_of
from pipeline.api.auth import caller_of, visible_job
from pipeline.api.endpoint import Endpoint, answer_read
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.v1.outputs import Count
from pipeline.consents.versions import shown_by
from pipeline.domain.permissions import Action
from pipeline.equality.questions import EqualityQuestion, asked
from pipeline.models import ConsentVersion
from pipeline.selectors.jobs import read_job


class ControllerOut(TypedDict):
    """Company that is responsible for people's data, and its contact; empty if it names none."""

    name: str
    contact: str


class ConsentOut(TypedDict):
    """A version of a notice, or of something to agree to. It never changes."""

    id: UUID
    kind: Annotated[str, ConsentVersion.Kind]
    version: Count
    text: str
    required: bool
    published_at: datetime


class EqualityChoiceOut(TypedDict):
    """Choice of an equal-opportunity question: its code to send, and its words."""

    code: str
    label: str


class EqualityQuestionOut(TypedDict):
    """Equal-opportunity question that a person can answer when applying; nobody has to."""

    code: str
    label: str
    choices: list[EqualityChoiceOut]


class PrivacyOut(TypedDict):
    """Responsible company, retention and texts for people who apply to a job."""

    controller: ControllerOut
    keep_days: Count
    legal_hold: bool
    consents: list[ConsentOut]
    equal_opportunity: list[EqualityQuestionOut]


class PrivacyOfJob(Endpoint):
    """`/jobs/{id}/privacy`"""

    @describes(
        "get_privacy",
        Tag.JOBS,
        Action.SEE_JOBS,
        PrivacyOut,
        tagged=True,
        about="Show `consents` to people before they apply, and send the ids of the notice and of"
        " what they agree to as `consents` with the application, and what they choose of"
        " `equal_opportunity`, if anything. After `keep_days` from its end, or"
        " later under a legal hold, an application is erased.",
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the privacy notice, the consents and the retention of a job."""
        visible_job(caller_of(request), job_id)
        job = read_job(job_id)
        period = period_of(job)
        payload: PrivacyOut = {
            "controller": {
                "name": job.company.controller_name,
                "contact": job.company.privacy_contact,
            },
            "keep_days": period.days,
            "legal_hold": period.legal_hold,
            "consents": [consent_out(each) for each in shown_by(job.company)],
            "equal_opportunity": [
                question_out(code, each)
                for code, each in asked(job.company.equality_questions).items()
            ],
        }
        return answer_read(request, payload)


def question_out(code: str, question: EqualityQuestion) -> EqualityQuestionOut:
    """Return an equal-opportunity question with its choices."""
    choices = question.choices.items()
    return {
        "code": code,
        "label": str(question.label),
        "choices": [{"code": choice, "label": str(words)} for choice, words in choices],
    }


def consent_out(row: ConsentVersion) -> ConsentOut:
    """Return a version."""
    return {
        "id": row.id,
        "kind": row.kind,
        "version": row.number,
        "text": row.shown_text,
        "required": row.is_required,
        "published_at": row.published_at,
    }
