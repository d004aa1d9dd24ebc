"""Task that appends anchors every few minutes, for the whole site."""

from __future__ import annotations

from pipeline.audit.anchors import BadAnchors, append_anchors
from pipeline.maintenance.site_task import site_task
from tasks.context import Context
from tasks.errors import Fatal
from tasks.models.statuses import HIGHEST_PRIORITY
from tasks.scheduling import schedules

KEY = "log.anchor"
EVERY_FIVE_MINUTES = "*/5 * * * *"


@site_task(key=KEY, timeout_seconds=240)
def anchor_logs_in_task(_: Context) -> dict[str, int]:
    """Append the heads of all logs that have grown to the anchor file, and report their number."""
    try:
        return {"anchors": append_anchors()}
    except (OSError, BadAnchors) as error:
        raise Fatal(
            f"the anchors cannot be written (ANCHOR_FILE, ANCHOR_KEY_FILE): {error}"
        ) from None


def ensure_anchoring_task() -> None:
    """Create the schedule. Safe to call at every start and from many processes at once."""
    schedules.ensure_schedule("Anchors", EVERY_FIVE_MINUTES, KEY, priority=HIGHEST_PRIORITY)
