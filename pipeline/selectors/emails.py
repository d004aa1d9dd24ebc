"""Reads of the emails about an application."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from pipeline.domain.errors import EmailNotFound
from pipeline.models import Email, EmailState
from pipeline.selectors.pages import Page
from pipeline.wording.events import KIND_WORDS, STATE_WORDS, describe_email_problem

MOST_EMAILS = 50


@dataclass(frozen=True, slots=True)
class ShownEmail:
    """An email as people see it: when it was requested, and its outcome."""

    row: Email
    title: str
    state: str
    tone: str
    problem: str

    @classmethod
    def of_email(cls, row: Email) -> ShownEmail:
        """Describe an email."""
        title = str(KIND_WORDS.get(row.kind, pgettext("noun", "Email")))
        if row.number:
            title = _("%(email)s (sent again)") % {"email": title}
        state, tone = STATE_WORDS[row.state]
        return cls(row, title, str(state), tone, describe_email_problem(row.problem))

    @property
    def id(self) -> UUID:
        """Return the email's id."""
        return self.row.id

    @property
    def state_at(self) -> datetime:
        """Return when it reached its state."""
        return self.row.state_at

    @property
    def may_repeat(self) -> bool:
        """Tell whether it can be sent again, judging by its own row alone."""
        return self.row.state != EmailState.QUEUED and not self.row.is_reminder


def read_newest_emails(application_id: UUID) -> list[ShownEmail]:
    """Return the newest emails about an application, newest first, in one query."""
    return read_email_page(application_id, after=None, limit=MOST_EMAILS).rows


def read_email_page(
    application_id: UUID, *, after: tuple[datetime, UUID] | None, limit: int
) -> Page[ShownEmail]:
    """Return a page of the emails about an application, newest first, in one query.

    `after`: the time of creation and the id of the last email of the page before.
    """
    rows = Email.objects.filter(application_id=application_id).order_by("-created_at", "-id")
    if after:
        created_at, email_id = after
        rows = rows.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, id__lt=email_id))
    return Page.cut([ShownEmail.of_email(row) for row in rows[: limit + 1]], limit)


def emails_cache_tag(emails: list[ShownEmail]) -> str:
    """Return a text that changes whenever one of the emails does."""
    return max((f"{each.state_at:%Y%m%d%H%M%S%f}" for each in emails), default="")


def read_email(application_id: UUID, email_id: UUID) -> Email:
    """Return an email about an application. Raises EmailNotFound if it is another's."""
    row = Email.objects.filter(application_id=application_id, id=email_id).first()
    if row is None:
        raise EmailNotFound
    return row
