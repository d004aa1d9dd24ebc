"""Task handlers of emails to companies, and the schedules that start them."""

from __future__ import annotations

from typing import Any

from pipeline.maintenance.site_task import refuse_task_of_company
from pipeline.notifications.alerts import raise_company_alerts
from pipeline.notifications.company_emails import (
    ALERT_TASK,
    ALERT_WORDS,
    DIGEST_TASK,
    enqueue_company_digest_emails,
    send_company_alert_email,
    send_company_digest_email,
)
from tasks.context import Context
from tasks.registry import task_type
from tasks.scheduling import schedules

EVERY_FIVE_MINUTES, EVERY_MORNING = "*/5 * * * *", "0 6 * * *"
DIGESTS, CONDITIONS = "email.digests", "email.alerts"
_NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}


def _company_task_schema(**more: Any) -> dict[str, Any]:
    member = {"type": "integer", "minimum": 1}
    properties = {"membership": member, "day": {"type": "string", "format": "date"}, **more}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@task_type(
    key=ALERT_TASK,
    queue="email",
    timeout_seconds=60,
    max_attempts=10,
    schema=_company_task_schema(kind={"enum": list(ALERT_WORDS)}),
)
def send_company_alert_in_task(payload: dict[str, Any], context: Context) -> dict[str, str]:
    """Send an alert to a member: {"outcome"}."""
    outcome = send_company_alert_email(
        payload["membership"], payload["kind"], payload["day"], context.task_id
    )
    return {"outcome": outcome}


@task_type(
    key=DIGEST_TASK,
    queue="email",
    timeout_seconds=60,
    max_attempts=10,
    schema=_company_task_schema(),
)
def send_company_digest_in_task(payload: dict[str, Any], context: Context) -> dict[str, str]:
    """Send a digest to a member: {"outcome"}."""
    return {
        "outcome": send_company_digest_email(payload["membership"], payload["day"], context.task_id)
    }


@task_type(key=DIGESTS, queue="email", cap=1, schema=_NOTHING)
def start_company_digests_in_task(payload: dict[str, Any], context: Context) -> dict[str, int]:
    """Enqueue the digests of this day: {"digests"}."""
    refuse_task_of_company(context)
    return {"digests": enqueue_company_digest_emails()}


@task_type(key=CONDITIONS, queue="upkeep", cap=1, schema=_NOTHING)
def raise_company_alerts_in_task(payload: dict[str, Any], context: Context) -> dict[str, int]:
    """Alert companies to matters that need them: the number of emails of each kind."""
    refuse_task_of_company(context)
    return raise_company_alerts()


def ensure_company_tasks() -> None:
    """Schedule both. Safe to call at every start, and by many processes at once."""
    schedules.ensure_schedule("Digests", EVERY_MORNING, DIGESTS)
    schedules.ensure_schedule("Alerts", EVERY_FIVE_MINUTES, CONDITIONS)
