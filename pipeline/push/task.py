"""Task that sends notifications to devices."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pipeline.notifications.device_notices import NOTIFY_DEVICES
from tasks.context import Context
from tasks.registry import task_type
from tasks.retry import Backoff


def give_up_push_to_devices_in_task(payload: dict[str, Any], _context: Context) -> None:
    """Record that a notification will not be tried again."""
    from pipeline.push.deliver import PushReason, give_up_push_to_devices

    give_up_push_to_devices(
        PushReason(UUID(payload["application"]), payload["seq"], payload["reminder"])
    )


@task_type(
    key=NOTIFY_DEVICES,
    queue="email",
    urgent=True,
    timeout_seconds=60,
    max_attempts=12,
    cap=4,  # push services that answer slowly, or impostors, keep no more slots than this
    backoff=Backoff(base_seconds=15, cap_seconds=3_600, jitter_seconds=5),
    on_fail=give_up_push_to_devices_in_task,
    waits_for_service=True,
    schema={
        "type": "object",
        "properties": {
            "application": {"type": "string", "format": "uuid"},
            "seq": {"type": "integer", "minimum": 1},
            "reminder": {"type": "string", "maxLength": 20},
        },
        "required": ["application", "seq", "reminder"],
        "additionalProperties": False,
    },
)
def push_to_devices_in_task(payload: dict[str, Any], context: Context) -> dict[str, int]:
    """Notify a person's devices of an event: {"sent"}."""
    from pipeline.push.deliver import PushReason, push_to_devices  # see TASK_PRELOAD

    return push_to_devices(
        PushReason(UUID(payload["application"]), payload["seq"], payload["reminder"])
    )
