"""Decisions after a failed attempt: pure functions, without clock or database."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tasks.models import Status

LONGEST_DELAY_SECONDS = 7 * 86_400.0


@dataclass(frozen=True)
class Backoff:
    """Delays between attempts, in seconds."""

    base_seconds: float = 30.0
    cap_seconds: float = 3_600.0
    jitter_seconds: float = 15.0

    def after(self, attempt: int, chance: Callable[[], float] = random.random) -> float:
        """Return the seconds from the end of this attempt (1 is the first) to the next one."""
        steps = min(attempt - 1, 40)  # beyond that any base has reached the cap
        doubled = min(self.cap_seconds, self.base_seconds * 2.0**steps)
        return doubled + chance() * self.jitter_seconds


@dataclass(frozen=True)
class Decision:
    """Next status of a task. `delay_seconds` matters only if that is PENDING."""

    status: Status
    delay_seconds: float = 0.0


def decide(
    how: str,
    *,
    attempt: int,
    max_attempts: int,
    backoff: Backoff,
    asked_seconds: float | None = None,
    chance: Callable[[], float] = random.random,
) -> Decision:
    """Decide a task's next status after a failed attempt.

    `how` is error, retry, fatal or discard. A delay requested by the handler is cut to a week. The
    limit on attempts always holds.
    """
    if how == "discard":
        return Decision(Status.DISCARDED)
    if how == "fatal" or attempt >= max_attempts:
        return Decision(Status.DEAD)
    if asked_seconds is not None:
        return Decision(Status.PENDING, min(max(0.0, asked_seconds), LONGEST_DELAY_SECONDS))
    return Decision(Status.PENDING, backoff.after(attempt, chance))
