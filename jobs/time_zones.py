"""Names of the time zones that this machine knows, read from the disk once per process."""

from __future__ import annotations

import zoneinfo
from functools import cache

from tasks.time_zones import is_known_time_zone


@cache
def known_time_zones() -> frozenset[str]:
    """Return the names of all time zones. Finding them takes many times as long as a page."""
    return frozenset(filter(is_known_time_zone, zoneinfo.available_timezones()))


@cache
def time_zone_choices() -> tuple[tuple[str, str], ...]:
    """Return the time zones that a form offers, by name: UTC, and those named after places."""
    places = sorted(zone for zone in known_time_zones() if "/" in zone and zone[:4] != "Etc/")
    return (("UTC", "UTC"), *((zone, zone.replace("_", " ")) for zone in places))
