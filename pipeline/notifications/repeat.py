"""Repetition of an email about an application, at a company's request."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Max

from pipeline.domain.errors import EmailNotRepeatable, EmailRepeatedTooSoon
from pipeline.limits.rate_limit import Rate, count_against_rate
from pipeline.models import Application, Email, EmailState, Event
from pipeline.notifications.applicant_emails import is_offer_in_applicant_email_over
from pipeline.notifications.outbox import EVENT, EVENT_PRIORITY
from pipeline.selectors.emails import email_of_application
from tasks.enqueue import enqueue

MOST_REPEATS = 5
REPEATS = Rate(3, 60)  # emails that a company may have sent again about one application


def repeat_email(
    *, application_id: UUID, email_id: UUID, producer: str, request_id: UUID | None = None
) -> None:
    """Send an email about an application again, as a new email.

    It is composed again, so a person whose address was erased gets none. `request_id` identifies
    the
    company's request: repeating it sends nothing more. Raises EmailNotFound, EmailNotRepeatable,
    EmailRepeatedTooSoon.
    """
    email = email_of_application(application_id, email_id)
    tally = count_against_rate("email_again", str(application_id), REPEATS)
    if not tally.allowed:
        raise EmailRepeatedTooSoon(wait_seconds=tally.wait_seconds)
    application = Application.objects.select_related("applicant").get(id=application_id)
    if application.applicant.is_erased:
        raise EmailNotRepeatable(why="The address was erased because the person asked for this.")
    if email.state == EmailState.QUEUED:
        raise EmailNotRepeatable(why="This email is still being sent.")
    if email.is_reminder:
        raise EmailNotRepeatable(why="Reminders are not sent again. Send the offer again.")
    event = Event.objects.filter(job_id=application.job_id, seq=email.seq).first()
    if event is None:
        raise EmailNotRepeatable(why="The log of this job is in the archive.")
    if is_offer_in_applicant_email_over(application, event):
        raise EmailNotRepeatable(why="This offer is no longer open.")
    same = Email.objects.filter(application_id=application.id, seq=email.seq, kind=email.kind)
    number = same.aggregate(last=Max("number"))["last"] + 1
    if number > MOST_REPEATS:
        raise EmailNotRepeatable(why=f"This email was already sent again {MOST_REPEATS} times.")
    enqueue(
        EVENT,
        {"application": str(application.id), "seq": email.seq, "number": number},
        priority=EVENT_PRIORITY,
        idempotency_key=f"{application.id}:{email.seq}:{email.kind}:{request_id or number}",
        producer=producer,
    )
