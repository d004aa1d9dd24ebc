"""Warning that people have too little time to confirm a seat, on forms of jobs."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest

from jobs.policies import Policy

FAIR_WINDOW_SECONDS = 20 * 3_600  # WCAG 2.2.1: a shorter time to confirm shuts people out


SHORT_WINDOW = (
    "People have less than 20 hours to confirm a seat. Anyone who is asleep, at work or needs more"
    " time to read may miss it. Accessibility guidelines (WCAG 2.2.1) ask for at least 20 hours."
)


def warn(request: HttpRequest, policy: Policy) -> None:
    """Warn on the next page if people have too little time to confirm."""
    if policy.acknowledgment_window_seconds < FAIR_WINDOW_SECONDS:
        messages.warning(request, SHORT_WINDOW)


def warning_context(policy: Policy | None) -> dict[str, Any]:
    """Return the context of the warning about a short time to confirm."""
    short = policy is not None and policy.acknowledgment_window_seconds < FAIR_WINDOW_SECONDS
    return {
        "short_window": SHORT_WINDOW,
        "is_short": short,
        "fair_window_seconds": FAIR_WINDOW_SECONDS,
    }
