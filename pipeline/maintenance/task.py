"""Task that removes expired rows every few minutes, for the whole site."""

from __future__ import annotations

from collections import Counter

from pipeline.maintenance import expired_rows
from tasks.context import Context
from tasks.models import HIGHEST_PRIORITY
from tasks.registry import task_type
from tasks.scheduling import schedules

KEY = "retention.site"
EVERY_FIVE_MINUTES = "*/5 * * * *"


@task_type(key=KEY, owner="site", queue="upkeep", timeout_seconds=240, max_attempts=3, cap=1)
def remove_expired(context: Context) -> dict[str, int]:
    """Remove all expired rows, batch by batch. Returns the number of rows of each kind."""
    removed: Counter[str] = Counter()
    while not context.cancelled:
        batch = expired_rows.remove_batch()
        removed.update(batch)
        context.progress(removed.total(), removed.total(), "rows removed")
        if not expired_rows.has_more(batch):
            break
    return {kind: count for kind, count in removed.items() if count}


def ensure_expiry() -> None:
    """Create the schedule. Safe to call at every start and from many processes at once."""
    schedules.ensure("Retention", EVERY_FIVE_MINUTES, KEY, priority=HIGHEST_PRIORITY)
