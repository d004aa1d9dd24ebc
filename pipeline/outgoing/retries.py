"""Times of repetitions: after failed attempts, and when a receiver asks for a pause."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pipeline.outgoing.client import Answer

# Seconds between attempts, as Standard Webhooks advises: ten attempts in three days.
DELAYS_SECONDS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
MOST_ATTEMPTS = len(DELAYS_SECONDS) + 1
JITTER = 0.1  # of the delay, so that what failed together is not repeated together
LONGEST_ASKED_SECONDS = 3_600  # of the pauses that a receiver asks for


def delay_after_attempt(attempts: int) -> float | None:
    """Return the seconds from a round's n-th attempt to its next one; None after the last."""
    if attempts >= MOST_ATTEMPTS:
        return None
    return DELAYS_SECONDS[attempts - 1] * (1 + random.random() * JITTER)  # noqa: S311  no secret


def requested_pause(answer: Answer) -> float:
    """Return the pause that a receiver asks for in a Retry-After of 429 or 503; 0 if for none.

    Either a number of seconds or a date; at most LONGEST_ASKED_SECONDS.
    """
    text = answer.headers.get("retry-after", "").strip()
    if answer.status not in (429, 503) or not text:
        return 0.0
    if re.fullmatch(r"[0-9]{1,20}", text):
        return float(min(int(text), LONGEST_ASKED_SECONDS))
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(0.0, (at - datetime.now(UTC)).total_seconds()), LONGEST_ASKED_SECONDS)
