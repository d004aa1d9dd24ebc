"""Tasks of webhooks: queueing events, delivering, and sending again."""

from __future__ import annotations

import time
from datetime import datetime
from uuid import UUID

from pipeline.domain.errors import WebhookNotFound
from pipeline.webhooks import queue
from pipeline.webhooks.endpoints import REDELIVER, redeliver_failed, reencrypt_secrets
from pipeline.webhooks.queue import DELIVER, QUEUE
from tasks.context import Context
from tasks.enqueue import enqueue
from tasks.errors import Discard
from tasks.registry import MEBIBYTE, task_type
from tasks.scheduling import schedules
from tasks.signature import Positive

FOLLOW = "webhooks.follow_tasks"
EVERY_MINUTE = "* * * * *"
FOLLOW_AGAIN_SECONDS = 1.0


@task_type(key=QUEUE, queue="webhooks", timeout_seconds=120, max_attempts=10, trusted_short=True)
def queue_job_events(
    company_id: UUID, job_id: UUID, first_seq: Positive, last_seq: Positive
) -> dict[str, int]:
    """Queue events of a job's log for the company's endpoints, and start their delivery."""
    queued = queue.add_events(
        company_id=company_id, job_id=job_id, first_seq=first_seq, last_seq=last_seq
    )
    queue.wake()
    return {"queued": queued}


@task_type(
    key=DELIVER,
    owner="site",
    queue="webhooks",
    timeout_seconds=120,
    memory_bytes=1_024 * MEBIBYTE,
    max_attempts=10,
    cap=2,
)
def deliver_due(context: Context) -> dict[str, int]:
    """Deliver what is due to all endpoints, for at most a minute.

    Return the counts `attempts` and `delivered`.
    """
    from pipeline.webhooks.deliver import send_due_webhooks  # see TASK_PRELOAD

    return send_due_webhooks(is_cancelled=lambda: context.cancelled)


@task_type(key=REDELIVER, queue="webhooks", timeout_seconds=600, max_attempts=5, cap=1)
def redeliver(owner_id: UUID, endpoint_id: UUID, since: datetime) -> dict[str, int]:
    """Send all failed deliveries to an endpoint again: {"deliveries"}."""
    try:
        count = redeliver_failed(company_id=owner_id, endpoint_id=endpoint_id, since=since)
    except WebhookNotFound as error:
        raise Discard(str(error)) from None
    return {"deliveries": count}


@task_type(key=FOLLOW, owner="site", queue="webhooks", timeout_seconds=120, max_attempts=3, cap=1)
def follow_background_events(context: Context) -> dict[str, int]:
    """Queue events of companies' tasks; while some are running, look again every second.

    Also re-encrypts secrets after SECRET_KEY was changed.
    """
    reencrypt_secrets()
    queued, again, again_soon = 0, True, False
    while again and not context.cancelled:
        count, is_behind, again_soon = queue.add_task_events()
        queued += count
        again = is_behind
    if queued:
        queue.wake()
    if again_soon:
        # Keyed by the second, so that the schedule and this chain become one.
        enqueue(
            FOLLOW,
            delay_seconds=FOLLOW_AGAIN_SECONDS,
            idempotency_key=str(int(time.time() + FOLLOW_AGAIN_SECONDS)),
        )
    return {"queued": queued}


def ensure_upkeep() -> None:
    """Schedule the upkeep of webhooks. Safe to call at every start, by many processes at once.

    The deliveries have their own tasks; the schedule helps if such a task has died.
    """
    schedules.ensure("Webhooks", EVERY_MINUTE, DELIVER)
    schedules.ensure("Webhooks about tasks", EVERY_MINUTE, FOLLOW)
