"""Access to the parts of the demo that let anyone act as someone else: only on one's own machine.

They exist only with the embedded database, never with DATABASE_URL, and only for requests that come
directly from this machine.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.http import Http404, HttpRequest

from pipeline.web.client_address import is_client_developer

LINK_LIFETIME = timedelta(hours=1)
OWNER, APPLICANT = "owner", "applicant"
_SALT = "pipeline.demo.sign_in"


def has_demo_access(request: HttpRequest) -> bool:
    """Tell whether a request may use the demo's shortcuts."""
    return settings.EMBEDDED_POSTGRES is not None and is_client_developer(request)


def has_demo_access_to_story(request: HttpRequest) -> bool:
    """Tell whether to show the bar that applies as people of the story: in development only."""
    return settings.DEV_MAIL and has_demo_access(request)


def require_demo_access(request: HttpRequest) -> None:
    """Refuse a request that may not use the demo's shortcuts. Raises Http404."""
    if not has_demo_access(request):
        raise Http404


def demo_access_token(who: str) -> str:
    """Return a token that signs in as the demo's OWNER or APPLICANT for LINK_LIFETIME.

    With a separate database there is none: an empty string.
    """
    return "" if settings.EMBEDDED_POSTGRES is None else signing.dumps(who, salt=_SALT)


def read_demo_access_token(token: str) -> str | None:
    """Return the person whom a token signs in, or None if it is too old or not ours."""
    try:
        who = signing.loads(token, salt=_SALT, max_age=LINK_LIFETIME)
    except signing.BadSignature:
        return None
    return who if who in (OWNER, APPLICANT) else None
