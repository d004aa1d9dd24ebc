"""Quiet hours beside the model: only in UTC, and with full hours as their ends."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

HOUR = timedelta(hours=1)
NONE = {"quiet_from": None, "quiet_to": None, "quiet_weekends": False, "quiet_time_zone": "UTC"}


def after_running(model: Any, start: datetime, seconds: int) -> datetime:
    """Count on, hour by hour, until that many seconds have run.

    The clock on the wall does not know how much time a test has let pass.
    """
    policy, at, left = model.policy, start - model.passed, timedelta(seconds=seconds)
    while True:
        sharp = at.replace(minute=0, second=0, microsecond=0) + HOUR
        if not _is_quiet(at, policy):
            if left <= sharp - at:
                return at + left + model.passed
            left -= sharp - at
        at = sharp


def _is_quiet(at: datetime, policy: dict[str, Any]) -> bool:
    if policy["quiet_weekends"] and at.isoweekday() > 5:
        return True
    if policy["quiet_from"] is None:
        return False
    begins, ends = int(policy["quiet_from"][:2]), int(policy["quiet_to"][:2])
    return (at.hour - begins) % 24 < (ends - begins) % 24
