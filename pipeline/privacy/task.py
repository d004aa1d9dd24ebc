"""End of retention as a task: every night, for the whole site."""

from __future__ import annotations

from typing import Any

from pipeline.privacy.retention import BATCH, end_retention
from tasks.context import Context
from tasks.errors import Fatal
from tasks.registry import task_type
from tasks.scheduling import schedules

KEY = "retention.people"
EVERY_NIGHT = "20 3 * * *"


@task_type(
    key=KEY,
    queue="upkeep",
    timeout_seconds=600,
    max_attempts=3,
    cap=1,
    schema={"type": "object", "properties": {}, "additionalProperties": False},
)
def end_retention_in_task(payload: dict[str, Any], context: Context) -> dict[str, int]:
    """Erase the personal data of applications that ended too long ago; says how many."""
    if context.owner_id is not None:
        raise Fatal("this is done for the site, not for a company")
    erased = 0
    while not context.cancelled:
        batch = end_retention()
        erased += batch
        context.progress(erased, erased, "applications erased")
        if batch < BATCH:
            break
    return {"applications": erased}


def ensure_privacy_task() -> None:
    """Schedule the erasure. Safe to call at every start, and by many processes at once."""
    schedules.ensure_schedule("Retention of personal data", EVERY_NIGHT, KEY)
