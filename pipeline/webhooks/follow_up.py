"""Follow-up of changes: the task that queues deliveries, written with the events themselves."""

from __future__ import annotations

from pipeline.line import follow_up
from pipeline.line.event_log import LogEntry
from pipeline.line.locked_job import ALL_WEBHOOKS, LockedJob
from pipeline.webhooks.queue import QUEUE
from pipeline.webhooks.types import webhook_type_of
from tasks.enqueue import NewTask

# A change with more events than this (an import, a closed job) lets others go first.
FEW_EVENTS, LATER = 50, -10


def start_webhook_follow_up() -> None:
    """Queue deliveries of every change that is written from now on."""
    follow_up.register_follow_up(webhook_follow_up_tasks)


def webhook_follow_up_tasks(job: LockedJob, entries: list[LogEntry]) -> list[NewTask]:
    """Return the task that queues these events, if an endpoint of the company wants any of them."""
    wanted = job.webhook_types
    if not wanted or not entries:
        return []
    if ALL_WEBHOOKS not in wanted and not any(
        webhook_type_of(each.event) in wanted for each in entries
    ):
        return []
    payload = {
        "company_id": str(job.company_id),
        "job_id": str(job.id),
        "first_seq": entries[0].seq,
        "last_seq": entries[-1].seq,
    }
    return [NewTask(QUEUE, payload, priority=0 if len(entries) <= FEW_EVENTS else LATER)]
