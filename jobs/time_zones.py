"""Names of the time zones that this machine knows, read from the disk once per process."""

from __future__ import annotations

import zoneinfo
from functools import cache

from tasks import time_zones


@cache
def known() -> frozenset[str]:
    """Return the names of all time zones. Finding them takes many times as long as a page."""
    return frozenset(filter(time_zones.is_known, zoneinfo.available_timezones()))


@cache
def choices() -> tuple[tuple[str, str], ...]:
    """Return the time zones that a form offers, by name: UTC, and those named after places."""
    places = sorted(zone for zone in known() if "/" in zone and zone[:4] != "Etc/")
    return (("UTC", "UTC"), *((zone, zone.replace("_", " ")) for zone in places))
