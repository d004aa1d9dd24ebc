"""Tasks that post messages to chats, and the alert when a channel was switched off."""

from __future__ import annotations

from pipeline.chat.channels import reencrypt_addresses
from pipeline.chat.delivery import deliver_due
from pipeline.chat.queue import DELIVER
from pipeline.models import ChatChannel
from pipeline.notifications.chats import compose
from pipeline.notifications.companies import email_alert
from tasks.context import Context
from tasks.registry import MEBIBYTE, task_type
from tasks.scheduling import schedules

UPKEEP = "chat.upkeep"
EVERY_MINUTE = "* * * * *"


@task_type(
    key=DELIVER,
    owner="site",
    queue="webhooks",
    timeout_seconds=120,
    memory_bytes=1_024 * MEBIBYTE,
    max_attempts=10,
    cap=2,
)
def deliver(context: Context) -> dict[str, int]:
    """Post what is due to all channels, for about a minute at most: {"sent"}."""
    return {"sent": deliver_due(compose, tell_off, is_cancelled=lambda: context.cancelled)}


def tell_off(channel: ChatChannel) -> None:
    """Alert the owners that a channel was switched off. Part of the caller's transaction."""
    email_alert(channel.company_id, "CHAT_DISABLED", about=str(channel.id))


@task_type(key=UPKEEP, owner="site", queue="webhooks", timeout_seconds=60, max_attempts=3, cap=1)
def keep_up() -> dict[str, int]:
    """Encrypt addresses again after SECRET_KEY was changed: {"encrypted"}."""
    return {"encrypted": reencrypt_addresses()}


def ensure_upkeep() -> None:
    """Schedule both. Safe to call at every start, and by many processes at once.

    Messages start their own tasks; the schedule helps if such a task has died.
    """
    schedules.ensure("Chat", EVERY_MINUTE, DELIVER)
    schedules.ensure("Chat addresses", EVERY_MINUTE, UPKEEP)
