"""Tasks of messages: the email to the applicant, what follows an answer, and bulk messages."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.db import transaction

from applicants.mail import NOWHERE
from pipeline.correspondence import bulk as bulk_messages
from pipeline.correspondence import emails
from pipeline.correspondence.threads import EMAIL_TASK, FOLLOW_TASK
from pipeline.models import ApplicationMessage
from pipeline.review.notices import News, tell
from pipeline.webhooks import queue
from pipeline.webhooks.queue import MESSAGE_RECEIVED, QueuedOccurrence
from tasks.registry import task_type
from tasks.retry import Backoff


def _give_up(message: UUID) -> None:
    """Record that the email of a message will not be tried again."""
    emails.give_up(message)


@task_type(
    key=EMAIL_TASK,
    queue="email",
    timeout_seconds=60,
    max_attempts=20,
    backoff=Backoff(base_seconds=15, cap_seconds=3_600, jitter_seconds=5),
    on_fail=_give_up,
    waits_for_service=True,
)
def send_message_email(message: UUID) -> dict[str, str]:
    """Send the email that brings a company's message: {"state"}."""
    return {"state": emails.send(message)}


@task_type(key=FOLLOW_TASK, queue="email", timeout_seconds=60, max_attempts=10)
def follow_message(message: UUID) -> dict[str, int]:
    """Tell a company's members and its own systems of an applicant's message: {"emails"}."""
    rows = ApplicationMessage.objects.select_related("job__company")
    row = rows.filter(id=message).first()
    if row is None:
        return {"emails": 0}
    received = QueuedOccurrence(
        source=f"message:{row.id}",
        type=MESSAGE_RECEIVED,
        at=row.written_at,
        data={
            "company_id": row.job.company_id,
            "job_id": row.job_id,
            "application_id": row.application_id,
            "message_id": row.id,
        },
    )
    with transaction.atomic():
        queued = queue.add(row.job.company_id, [received])
        is_told = settings.NOTIFY and settings.EMAIL_BACKEND != NOWHERE and not row.job.is_test
        told = tell(row.job, News.MESSAGE, [row.application_id]) if is_told else 0
    if queued:
        queue.wake()
    return {"emails": told}


def _give_up_bulk(bulk: UUID) -> None:
    """Leave out the people to whom a bulk message has not gone."""
    bulk_messages.give_up(bulk)


@task_type(
    key=bulk_messages.TASK,
    queue="email",
    timeout_seconds=120,
    max_attempts=20,
    backoff=Backoff(base_seconds=5, cap_seconds=300, jitter_seconds=2),
    on_fail=_give_up_bulk,
)
def send_bulk_slice(bulk: UUID) -> dict[str, int]:
    """Send the next messages of a bulk message: {"left"}."""
    return {"left": bulk_messages.send_slice(bulk)}
