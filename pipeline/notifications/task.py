"""Task handlers of emails about applications."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings

from pipeline.models import EmailState
from pipeline.notifications import applicant_emails, offers
from pipeline.notifications.applicant_emails import Cause
from pipeline.notifications.outbox import BULK, EVENT
from pipeline.notifications.sandbox_emails import RECORD, record_sandbox_emails
from pipeline.notifications.yes_reminders import REMIND_OF_YES, remind_of_yes
from tasks.context import Context
from tasks.registry import task_type
from tasks.retry import Backoff

# Fifteen seconds, then twice as long each time up to an hour: half a day until it is given up.
_BACKOFF = Backoff(base_seconds=15, cap_seconds=3_600, jitter_seconds=5)
# None of these types is `trusted_short`: behind a slow mail server their attempts would queue at a
# child, and a sign-in code behind them.
_SCHEMA = {
    "type": "object",
    "properties": {
        "application": {"type": "string", "format": "uuid"},
        "seq": {"type": "integer", "minimum": 1},
        "number": {"type": "integer", "minimum": 0},
    },
    "required": ["application", "seq"],
    "additionalProperties": False,
}


def give_up_email_in_task(payload: dict[str, Any], _context: Context) -> None:
    """Record that an email will not be tried again."""
    applicant_emails.give_up_applicant_email(_cause_of_email_task(payload))


@task_type(
    key=EVENT,
    queue="email",
    urgent=True,
    timeout_seconds=60,
    max_attempts=20,
    backoff=_BACKOFF,
    on_fail=give_up_email_in_task,
    waits_for_service=True,
    schema=_SCHEMA,
)
def send_event_email_in_task(payload: dict[str, Any], context: Context) -> dict[str, str]:
    """Send the email about an event: {"state"}. A late offer gets the lost time back."""
    cause = _cause_of_email_task(payload)
    state = applicant_emails.send_applicant_email(cause)
    if state == EmailState.SENT:
        offers.extend_offer_for_email_delay(cause.application_id, cause.seq)
    return {"state": state}


@task_type(
    key=BULK,
    queue="email",
    timeout_seconds=60,
    max_attempts=20,
    rate=(settings.EMAIL_RATE_PER_MINUTE, 60.0),
    backoff=_BACKOFF,
    on_fail=give_up_email_in_task,
    waits_for_service=True,
    schema=_SCHEMA,
)
def send_bulk_email_in_task(payload: dict[str, Any], context: Context) -> dict[str, str]:
    """Send one of very many emails (of an import or a closed line), at the site's rate."""
    return {"state": applicant_emails.send_applicant_email(_cause_of_email_task(payload))}


def give_up_reminder_in_task(payload: dict[str, Any], _context: Context) -> None:
    """Record that a reminder will not be tried again."""
    application_id = UUID(payload["application"])
    offers.close_offer_reminders(application_id, payload["seq"], applicant_emails.UNREACHABLE)


@task_type(
    key=offers.WATCH,
    queue="email",
    urgent=True,
    timeout_seconds=60,
    max_attempts=20,
    backoff=Backoff(base_seconds=5, cap_seconds=300, jitter_seconds=2),
    on_fail=give_up_reminder_in_task,
    waits_for_service=True,
    schema=_SCHEMA,
)
def watch_offer_in_task(payload: dict[str, Any], context: Context) -> dict[str, str]:
    """Send a reminder of an open offer: {"done"}."""
    return {"done": offers.watch_offer(UUID(payload["application"]), payload["seq"])}


@task_type(
    key=REMIND_OF_YES,
    queue="email",
    timeout_seconds=60,
    max_attempts=20,
    backoff=_BACKOFF,
    on_fail=give_up_reminder_in_task,
    waits_for_service=True,
    schema=_SCHEMA,
)
def remind_of_yes_in_task(payload: dict[str, Any], context: Context) -> dict[str, str]:
    """Remind a person that their yes in advance ends soon: {"done"}."""
    return {"done": remind_of_yes(UUID(payload["application"]), payload["seq"])}


@task_type(
    key=offers.GUARD_TASK,
    queue="email",
    urgent=True,
    timeout_seconds=60,
    max_attempts=20,
    backoff=Backoff(base_seconds=1, cap_seconds=300, jitter_seconds=1),
    schema=_SCHEMA,
)
def extend_offer_without_email_in_task(payload: dict[str, Any], context: Context) -> dict[str, str]:
    """Extend the deadline of an offer whose email was not handed over: {"done"}."""
    return {"done": offers.extend_offer_without_email(UUID(payload["application"]), payload["seq"])}


@task_type(
    key=RECORD,
    queue="email",
    timeout_seconds=120,
    max_attempts=10,
    trusted_short=True,
    schema={
        "type": "object",
        "properties": {
            "job_id": {"type": "string", "format": "uuid"},
            "first_seq": {"type": "integer", "minimum": 1},
            "last_seq": {"type": "integer", "minimum": 1},
        },
        "required": ["job_id", "first_seq", "last_seq"],
        "additionalProperties": False,
    },
)
def record_sandbox_emails_in_task(payload: dict[str, Any], context: Context) -> dict[str, int]:
    """Record the emails about events of a sandbox, which go to nobody: {"emails"}."""
    job_id = UUID(payload["job_id"])
    emails = record_sandbox_emails(job_id, payload["first_seq"], payload["last_seq"])
    return {"emails": emails}


def _cause_of_email_task(payload: dict[str, Any]) -> Cause:
    return Cause(UUID(payload["application"]), payload["seq"], number=int(payload.get("number", 0)))
