"""What every page's frame shows: who is signed in, and what a developer's machine adds."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from pipeline.pages.access import current_applicant, current_member, memberships


def frame(request: HttpRequest) -> dict[str, Any]:
    """`applicant`, `member` and `memberships` of the browser, read when a page asks for them."""
    return {
        "applicant": SimpleLazyObject(lambda: current_applicant(request)),
        "member": SimpleLazyObject(lambda: current_member(request)),
        "memberships": SimpleLazyObject(lambda: memberships(request)),
        "dev_mail": settings.DEV_MAIL,
        "zone_words": _zone_words(),
    }


def _zone_words() -> str:
    name = timezone.get_current_timezone_name()
    return "UTC" if name == "UTC" else f"your time zone, {name.replace('_', ' ')}"
