"""Sending an email about an application again, because a company asks for it."""

from __future__ import annotations

from django.db.models import Max

from pipeline.models import Application, Email, EmailState, Event
from pipeline.notifications.applicant_emails import is_emailed_offer_over
from pipeline.notifications.outbox import EVENT, EVENT_PRIORITY
from tasks.enqueue import enqueue

MOST_REPEATS = 5


class NotRepeatable(Exception):
    """Refusal to send an email again; the message says why."""


def repeat_email(email: Email, *, producer: str) -> None:
    """Send an email again, as one of its own. Raises NotRepeatable.

    It is composed anew, so a person whose address was erased gets none.
    """
    application = Application.objects.select_related("applicant").get(id=email.application_id)
    if application.applicant.is_erased:
        raise NotRepeatable("The address was erased at the person's request.")
    if email.state == EmailState.QUEUED:
        raise NotRepeatable("This email is still being sent.")
    event = Event.objects.get(job_id=application.job_id, seq=email.seq)
    if is_emailed_offer_over(application, event):
        raise NotRepeatable("This offer is no longer open.")
    same = Email.objects.filter(application_id=application.id, seq=email.seq, kind=email.kind)
    number = same.aggregate(last=Max("number"))["last"] + 1
    if number > MOST_REPEATS:
        raise NotRepeatable(f"This email was already sent again {MOST_REPEATS} times.")
    enqueue(
        EVENT,
        {"application": str(application.id), "seq": email.seq, "number": number},
        priority=EVENT_PRIORITY,
        idempotency_key=f"{application.id}:{email.seq}:{email.kind}:{number}",
        producer=producer,
    )
