"""Task that ends retention, every night for the whole site."""

from __future__ import annotations

from pipeline.maintenance.site_task import site_task
from pipeline.privacy.retention import BATCH, end_retention
from tasks.context import Context
from tasks.scheduling import schedules

KEY = "retention.people"
EVERY_NIGHT = "20 3 * * *"


@site_task(key=KEY, timeout_seconds=600)
def end_retention_in_task(context: Context) -> dict[str, int]:
    """Erase the personal data of applications whose retention has ended. Returns their number."""
    erased = 0
    while not context.cancelled:
        batch = end_retention()
        erased += batch
        context.progress(erased, erased, "applications erased")
        if batch < BATCH:
            break
    return {"applications": erased}


def ensure_privacy_task() -> None:
    """Create the schedule. Safe to call at every start and from many processes at once."""
    schedules.ensure_schedule("Retention of personal data", EVERY_NIGHT, KEY)
