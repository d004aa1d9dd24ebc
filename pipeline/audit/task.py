"""Appending of anchors every few minutes, for the whole site."""

from __future__ import annotations

from typing import Any

from pipeline.audit.anchors import BadAnchors, append_anchors
from tasks.context import Context
from tasks.errors import Fatal
from tasks.models.statuses import HIGHEST_PRIORITY
from tasks.registry import task_type
from tasks.scheduling import schedules

KEY = "log.anchor"
EVERY_FIVE_MINUTES = "*/5 * * * *"


@task_type(
    key=KEY,
    queue="upkeep",
    timeout_seconds=240,
    max_attempts=3,
    cap=1,
    schema={"type": "object", "properties": {}, "additionalProperties": False},
)
def anchor_logs(payload: dict[str, Any], context: Context) -> dict[str, int]:
    """Append the heads of the logs that have grown to the file of anchors; says how many."""
    if context.owner_id is not None:
        raise Fatal("this is done for the site, not for a company")
    try:
        return {"anchors": append_anchors()}
    except (OSError, BadAnchors) as error:
        raise Fatal(
            f"the anchors cannot be written (ANCHOR_FILE, ANCHOR_KEY_FILE): {error}"
        ) from None


def ensure_anchoring_task() -> None:
    """Schedule it. Safe to call at every start, and by many processes at once."""
    schedules.ensure_schedule("Anchors", EVERY_FIVE_MINUTES, KEY, priority=HIGHEST_PRIORITY)
