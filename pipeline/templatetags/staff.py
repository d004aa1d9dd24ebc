"""Template tags of the pages on which staff sign in."""

from __future__ import annotations

from django import template
from django.conf import settings

from jobs.accounts import is_staff_address
from pipeline.config.demo_addresses import OWNER

register = template.Library()


@register.simple_tag
def staff_demo_owner() -> str:
    """Return the demo owner's email on a developer's machine with the demo, or an empty string."""
    return OWNER if settings.DEV_MAIL and is_staff_address(OWNER) else ""
