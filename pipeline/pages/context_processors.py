"""Context of the frame around every page: the signed-in person and the time zone."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from pipeline.config.demo_addresses import STORY_PEOPLE
from pipeline.pages import navigation
from pipeline.pages.access import (
    current_applicant,
    current_member,
    current_memberships,
    current_sandbox_memberships,
)
from pipeline.web.addresses import has_story_access


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the signed-in person and their memberships, read when a page uses them."""
    zone = timezone.get_current_timezone_name()
    return {
        "applicant": SimpleLazyObject(lambda: current_applicant(request)),
        "member": SimpleLazyObject(lambda: current_member(request)),
        "memberships": SimpleLazyObject(lambda: current_memberships(request)),
        "sandbox_memberships": SimpleLazyObject(lambda: current_sandbox_memberships(request)),
        "rail": SimpleLazyObject(lambda: navigation.build_rail(request)),
        "top_links": SimpleLazyObject(lambda: navigation.build_top_links(request)),
        "dev_mail": settings.DEV_MAIL,
        "has_terms": bool(settings.TERMS_TEXT),
        "has_push": bool(settings.VAPID_PRIVATE_KEY),
        "story_people": STORY_PEOPLE if has_story_access(request) else {},
        "server_time": timezone.now().isoformat(),
        "zone": zone,
        "zone_words": "UTC"
        if zone == "UTC"
        else _("your time zone, %(zone)s") % {"zone": zone.replace("_", " ")},
    }
