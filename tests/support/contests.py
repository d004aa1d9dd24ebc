"""Requests to look again, and answers to them, as sent over the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from pipeline.domain.states import Outcome
from pipeline.models import Application
from pipeline.services.contests import contest
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.callers import Caller, key_of, signed_in


def rejected_application(company_id: UUID | None = None) -> Application:
    """Make an application that had the only seat and was rejected."""
    row = factories.application(factories.job(company_id=company_id))
    remove(application_id=row.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    return row


def contest_post() -> tuple[Caller, str, Any]:
    """The person asks to look again."""
    row = rejected_application()
    path = f"/applications/{row.id}/contests"
    return signed_in(row.applicant), path, {"text": "Please look again."}


def contest_answer_post() -> tuple[Caller, str, Any]:
    """The company gives the place back."""
    company = factories.company().id
    row = rejected_application(company)
    asked = contest(application_id=row.id, text="Why?", actor=factories.owner_of(row))
    body = {"answer": "CHANGED", "reason": "OUR_ERROR", "text": "You are right."}
    return key_of(company), f"/applications/{row.id}/contests/{asked.id}/answer", body


CONTEST_POSTS: dict[str, Callable[[], tuple[Caller, str, Any]]] = {
    "applications/<uuid:application_id>/contests": contest_post,
    "applications/<uuid:application_id>/contests/<uuid:contest_id>/answer": contest_answer_post,
}
