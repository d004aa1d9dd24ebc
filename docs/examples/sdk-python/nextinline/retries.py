"""Retries: when a request is sent again, and after how long. Pure."""

from __future__ import annotations

import random

import httpx

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30.0
# A request was not carried out, or can be repeated: each POST carries an Idempotency-Key.
_PASSING_STATUSES = frozenset((502, 503, 504))
# These pass within a minute or so: the first attempt is still running, or a sandbox's clock moves.
_PASSING_CODES = (b"IDEMPOTENCY_KEY_IN_USE", b"CLOCK_MOVING")
_RETRIES_FOR_A_MINUTE, _RETRIES_OF_500 = 9, 2


def pause_before_retry(
    answer: httpx.Response | None, *, attempt: int, max_retries: int
) -> float | None:
    """Return the seconds to wait before another attempt, or None if it would be wrong or useless.

    `answer` is None if none came; `attempt` counts from 1.
    """
    if attempt > _most_retries(answer, max_retries):
        return None
    try:
        wanted = float(answer.headers.get("retry-after", "")) if answer is not None else None
    except ValueError:
        wanted = None
    if wanted is None:
        return _growing_pause(attempt)
    return wanted if wanted <= LONGEST_PAUSE_SECONDS else None


def _most_retries(answer: httpx.Response | None, usual: int) -> int:
    if answer is not None and answer.status_code == 429:
        return usual
    if answer is not None and answer.status_code == 409:
        passes = any(code in answer.content for code in _PASSING_CODES)
        return max(usual, _RETRIES_FOR_A_MINUTE) if passes and usual else 0
    if answer is None or answer.status_code in _PASSING_STATUSES:
        return usual
    return min(usual, _RETRIES_OF_500) if answer.status_code == 500 else 0


def _growing_pause(attempt: int) -> float:
    longest = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)
