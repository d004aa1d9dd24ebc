"""Policy of a job as an immutable value, with the deadlines and costs that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

from jobs.quiet_hours import (
    QuietHours,
    compute_deadline,
    minutes_since_midnight,
    quiet_hours_refusal,
)
from tasks import time_zones

DAY = 86_400


def _integer_policy_field(
    low: int, high: int, default: int | None, *, optional: bool = False
) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "optional": optional})


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules of a job's line, set by its company. Values out of range raise ValueError."""

    # Time from the offer of a seat to its deadline.
    acknowledgment_window_seconds: int = _integer_policy_field(60, 30 * DAY, DAY)
    # Whether a seat given on applying must be acknowledged too.
    acknowledge_first_seat: bool = False
    # After the n-th miss, n times this many newcomers pass the person at the back of the line.
    penalty_places: int = _integer_policy_field(0, 1_000, 1)
    # Misses after which a person still keeps a place; None: any number.
    max_decays: int | None = _integer_policy_field(0, 100, 3, optional=True)
    # Time after a miss, or a turn that was passed, in which a person cannot be promoted.
    cooldown_seconds: int = _integer_policy_field(1, 30 * DAY, 3_600)
    # Turns that a person can pass without a miss, in all their applications to the job.
    max_passes: int = _integer_policy_field(0, 2, 1)
    # Times of the day like 22:00, between which the time to confirm does not run; None if it
    # always runs.
    quiet_from: str | None = None
    quiet_to: str | None = None
    # Whether it does not run at weekends either.
    quiet_weekends: bool = False
    # The time zone for people whose own is not known.
    quiet_time_zone: str = "UTC"

    def __post_init__(self) -> None:
        for entry in fields(self):
            value, limits = getattr(self, entry.name), entry.metadata
            if not limits or (value is None and limits["optional"]):
                continue
            low, high = limits["low"], limits["high"]
            if type(value) is not int or not low <= value <= high:  # bool is a subclass of int
                raise ValueError(f"{entry.name} must be from {low} to {high}, not {value}")
        if wrong := quiet_hours_refusal(self.quiet_from, self.quiet_to):
            raise ValueError(wrong)

    def quiet_hours(self, time_zone: str = "") -> QuietHours | None:
        """Return the quiet hours of a person in a time zone, or None if there are none.

        The job's own time zone counts if the person's is not known; UTC, if this machine
        knows neither, so that the line can go on.
        """
        if self.quiet_from is None and not self.quiet_weekends:
            return None
        known = [each for each in (time_zone, self.quiet_time_zone) if time_zones.is_known(each)]
        begins, ends = (
            None if each is None else minutes_since_midnight(each)
            for each in (self.quiet_from, self.quiet_to)
        )
        return QuietHours(begins, ends, self.quiet_weekends, [*known, "UTC"][0])

    def deadline(self, offered_at: datetime, time_zone: str = "") -> datetime:
        """Return the deadline of a seat offered at `offered_at` to a person in a time zone."""
        window = timedelta(seconds=self.acknowledgment_window_seconds)
        return compute_deadline(offered_at, window, self.quiet_hours(time_zone))

    def cooldown_until(self, missed_at: datetime) -> datetime:
        """Return the end of the cool-down after a miss, or a turn that was passed, at a time."""
        return missed_at + timedelta(seconds=self.cooldown_seconds)

    def keeps_place(self, misses: int) -> bool:
        """Tell whether a person keeps a place after that many misses, including the latest."""
        return self.max_decays is None or misses <= self.max_decays

    def places_lost(self, misses: int) -> int:
        """Return how many newcomers pass a person after their miss number `misses`."""
        return self.penalty_places * misses

    def passes_left(self, passes: int) -> int:
        """Return how many more turns a person with that number of used passes can pass."""
        return max(0, self.max_passes - passes)

    def misses_left(self, misses: int) -> int | None:
        """Return how many more misses a person may have and keep a place; None: any number."""
        return misses_left_under_policy(self.max_decays, misses)

    def values(self) -> dict[str, Any]:
        """Return the fields by name, in the form of the log, the API and the job's row."""
        return {name: getattr(self, name) for name in POLICY_FIELDS}


def misses_left_under_policy(max_decays: int | None, misses: int) -> int | None:
    """Return how many more misses keep a place under the limit `max_decays`; None: any number."""
    return None if max_decays is None else max(0, max_decays - misses)


POLICY_FIELDS: tuple[str, ...] = tuple(entry.name for entry in fields(Policy))


# Fields that rows of older logs lack, with their values at that time.
_LATER_FIELDS: dict[str, Any] = {
    entry.name: entry.default for entry in fields(Policy) if entry.name.startswith("quiet_")
} | {"max_passes": 0}


def logged_policy_values(logged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a policy in a log, of which older rows lack the newer ones."""
    return {
        name: logged.get(name, _LATER_FIELDS[name]) if name in _LATER_FIELDS else logged[name]
        for name in POLICY_FIELDS
    }


def policy_limits(name: str) -> tuple[int, int]:
    """Return the smallest and largest value allowed for a field of the policy."""
    metadata = Policy.__dataclass_fields__[name].metadata
    return metadata["low"], metadata["high"]
