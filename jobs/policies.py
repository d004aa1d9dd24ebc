"""A job's policy as a frozen value: what a company can set, and what follows from it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

DAY = 86_400


def _whole(low: int, high: int, default: int | None, *, optional: bool = False) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "optional": optional})


@dataclass(frozen=True, slots=True)
class Policy:
    """What a job asks of the people in its line. Values out of range raise ValueError."""

    # From the offer of a seat to its deadline.
    acknowledgment_window_seconds: int = _whole(60, 30 * DAY, DAY)
    # Whether a seat got on applying must be acknowledged too.
    acknowledge_first_seat: bool = False
    # The n-th miss costs n times this many places behind the back of the line.
    penalty_places: int = _whole(0, 1_000, 1)
    # Misses that still keep a place; None: any number.
    max_decays: int | None = _whole(0, 100, 3, optional=True)
    # How long after a miss a person cannot be promoted again.
    cooldown_seconds: int = _whole(1, 30 * DAY, 3_600)

    def __post_init__(self) -> None:
        for entry in fields(self):
            if limits := entry.metadata:
                _check(entry.name, getattr(self, entry.name), **limits)

    def deadline(self, offered_at: datetime) -> datetime:
        """Until when a seat offered at that time can be acknowledged."""
        return offered_at + timedelta(seconds=self.acknowledgment_window_seconds)

    def cooldown_until(self, missed_at: datetime) -> datetime:
        """From when somebody who missed at that time can be promoted again."""
        return missed_at + timedelta(seconds=self.cooldown_seconds)

    def keeps_place(self, misses: int) -> bool:
        """Whether somebody with that many misses, the last included, still has a place."""
        return self.max_decays is None or misses <= self.max_decays

    def places_lost(self, misses: int) -> int:
        """How many later newcomers pass somebody for the miss that makes it that many."""
        return self.penalty_places * misses

    def misses_left(self, misses: int) -> int | None:
        """How many more misses keep a place; None: any number."""
        return None if self.max_decays is None else max(0, self.max_decays - misses)

    def values(self) -> dict[str, Any]:
        """The fields by name, as the log, the API and the job's row hold them."""
        return {name: getattr(self, name) for name in POLICY_FIELDS}


POLICY_FIELDS: tuple[str, ...] = tuple(entry.name for entry in fields(Policy))


def limits_of(name: str) -> tuple[int, int]:
    """The smallest and the largest whole number that a policy's field takes."""
    metadata = Policy.__dataclass_fields__[name].metadata
    return metadata["low"], metadata["high"]


def _check(name: str, value: int | None, *, low: int, high: int, optional: bool) -> None:
    if value is None and optional:
        return
    if type(value) is not int or not low <= value <= high:  # a bool is an int, too
        raise ValueError(f"{name} must be from {low} to {high}, not {value}")
