"""Policy of a job as an immutable value, with the deadlines and costs that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

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
    # The n-th miss costs n times this many places behind the back of the line.
    penalty_places: int = _integer_policy_field(0, 1_000, 1)
    # Misses after which a person still keeps a place; None: any number.
    max_decays: int | None = _integer_policy_field(0, 100, 3, optional=True)
    # Time after a miss in which a person cannot be promoted.
    cooldown_seconds: int = _integer_policy_field(1, 30 * DAY, 3_600)

    def __post_init__(self) -> None:
        for entry in fields(self):
            value, limits = getattr(self, entry.name), entry.metadata
            if not limits or (value is None and limits["optional"]):
                continue
            low, high = limits["low"], limits["high"]
            if type(value) is not int or not low <= value <= high:  # bool is a subclass of int
                raise ValueError(f"{entry.name} must be from {low} to {high}, not {value}")

    def deadline(self, offered_at: datetime) -> datetime:
        """Return the deadline of a seat offered at `offered_at`."""
        return offered_at + timedelta(seconds=self.acknowledgment_window_seconds)

    def cooldown_until(self, missed_at: datetime) -> datetime:
        """Return the end of the cool-down after a miss at `missed_at`."""
        return missed_at + timedelta(seconds=self.cooldown_seconds)

    def keeps_place(self, misses: int) -> bool:
        """Tell whether a person keeps a place after that many misses, including the latest."""
        return self.max_decays is None or misses <= self.max_decays

    def places_lost(self, misses: int) -> int:
        """Return how many newcomers pass a person after their miss number `misses`."""
        return self.penalty_places * misses

    def misses_left(self, misses: int) -> int | None:
        """Return how many more misses a person may have and keep a place; None: any number."""
        return misses_left(self.max_decays, misses)

    def values(self) -> dict[str, Any]:
        """Return the fields by name, in the form of the log, the API and the job's row."""
        return {name: getattr(self, name) for name in POLICY_FIELDS}


def misses_left(max_decays: int | None, misses: int) -> int | None:
    """Return how many more misses keep a place under the limit `max_decays`; None: any number."""
    return None if max_decays is None else max(0, max_decays - misses)


POLICY_FIELDS: tuple[str, ...] = tuple(entry.name for entry in fields(Policy))


def policy_limits(name: str) -> tuple[int, int]:
    """Return the smallest and largest value allowed for a field of the policy."""
    metadata = Policy.__dataclass_fields__[name].metadata
    return metadata["low"], metadata["high"]
