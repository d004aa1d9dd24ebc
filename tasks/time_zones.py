"""Names of time zones that mean the same on each machine."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# Files beside the zones: this machine's own zone, and copies of zones by other rules.
_OF_THE_MACHINE = ("localtime", "posixrules", "Factory", "posix/", "right/")


def is_known(name: str) -> bool:
    """Tell whether a text names a time zone, on this machine and on others."""
    try:
        return bool(name) and not name.startswith(_OF_THE_MACHINE) and bool(ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
