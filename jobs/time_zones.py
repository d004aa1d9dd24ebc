"""Names of the time zones that this machine knows, read from the disk once per process."""

from __future__ import annotations

import zoneinfo
from functools import cache


def is_known_time_zone(name: str) -> bool:
    """Tell whether this machine knows a time zone."""
    try:
        return bool(name) and bool(zoneinfo.ZoneInfo(name))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False


@cache
def known_time_zones() -> frozenset[str]:
    """Return the names of all time zones. Finding them takes many times as long as a page."""
    return frozenset(zoneinfo.available_timezones())


@cache
def time_zone_choices() -> tuple[tuple[str, str], ...]:
    """Return the time zones that a form offers, by name: UTC, and those named after places."""
    places = sorted(zone for zone in known_time_zones() if "/" in zone and zone[:4] != "Etc/")
    return (("UTC", "UTC"), *((zone, zone.replace("_", " ")) for zone in places))
