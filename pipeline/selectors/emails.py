"""Reads of the emails about an application."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pipeline.domain.errors import ApplicationNotFound
from pipeline.models import Email, EmailState
from pipeline.wording.email_words import KIND_WORDS, STATE_WORDS, email_problem_in_words

MOST_EMAILS = 50


@dataclass(frozen=True, slots=True)
class SentEmail:
    """An email as people see it: when it was asked for, and what became of it when."""

    id: UUID
    title: str
    state: str
    tone: str
    problem: str
    created_at: datetime
    state_at: datetime
    may_repeat: bool


def emails_of_application(application_id: UUID) -> list[SentEmail]:
    """Return the newest emails about an application, newest first, in one query."""
    rows = Email.objects.filter(application_id=application_id).order_by("-created_at", "-id")
    return [
        SentEmail(
            row.id,
            KIND_WORDS.get(row.kind, "Email") + (" (sent again)" if row.number else ""),
            *STATE_WORDS[row.state],
            email_problem_in_words(row.problem),
            row.created_at,
            row.state_at,
            may_repeat=row.state != EmailState.QUEUED and not row.kind.startswith("REMINDER"),
        )
        for row in rows[:MOST_EMAILS]
    ]


def emails_stamp(emails: list[SentEmail]) -> str:
    """Return a text that changes whenever one of the emails does."""
    return max((f"{each.state_at:%Y%m%d%H%M%S%f}" for each in emails), default="")


def email_of_application(application_id: UUID, email_id: UUID) -> Email:
    """Return an email about an application. Raises ApplicationNotFound if it is another's."""
    row = Email.objects.filter(application_id=application_id, id=email_id).first()
    if row is None:
        raise ApplicationNotFound
    return row
