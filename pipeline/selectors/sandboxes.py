"""Reads of a sandbox: the advances of its clock, and the emails that it did not send."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q

from pipeline.domain.errors import EmailNotFound
from pipeline.models import ClockAdvance, Email, Event
from pipeline.selectors.pages import Page


def read_sandbox_clock_advances(company_id: UUID, *, most: int) -> list[ClockAdvance]:
    """Return the last advances of a sandbox's clock, latest first, in one query."""
    advances = ClockAdvance.objects.filter(company_id=company_id)
    return list(advances.order_by("-clock_offset_seconds")[:most])


def sandbox_events_since(company_id: UUID, at: datetime) -> list[tuple[str, int]]:
    """Return the number of events of each kind in a sandbox since a time, in one query."""
    events = Event.objects.filter(company_id=company_id, at__gte=at)
    counted = events.values_list("event").annotate(count=Count("id"))
    return list(counted.order_by("event"))


def read_sandbox_emails(
    company_id: UUID, *, after: tuple[datetime, UUID] | None, limit: int
) -> Page[Email]:
    """Return the emails of a sandbox, latest first by its clock, with their people. One query."""
    emails = Email.objects.filter(
        application__job__company_id=company_id, application__job__is_test=True
    ).select_related("application__applicant", "application__job__posting")
    if after:
        at, email_id = after
        emails = emails.filter(Q(state_at__lt=at) | Q(state_at=at, id__lt=email_id))
    return Page.cut(list(emails.order_by("-state_at", "-id")[: limit + 1]), limit)


def read_sandbox_email(company_id: UUID, email_id: UUID) -> Email:
    """Return an email of a sandbox with its person, in one query. Raises EmailNotFound."""
    emails = Email.objects.filter(
        application__job__company_id=company_id, application__job__is_test=True
    ).select_related("application__applicant", "application__job__posting")
    found = emails.filter(id=email_id).first()
    if found is None:
        raise EmailNotFound
    return found
