"""Probe of the proxies in front of the site, for `manage.py doctor`.

The command sends a request through them with a signed header. The site then answers with the
scheme and the address that it sees. Without the signature, nothing is revealed.
"""

from __future__ import annotations

from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest

HEADER = "X-Proxy-Probe"
MOST_AGE_SECONDS = 60

_SALT = "pipeline.web.proxy_probe"


def sign_proxy_probe() -> str:
    """Return a value for the header, valid for a minute."""
    return TimestampSigner(salt=_SALT).sign("probe")


def answer_proxy_probe(request: HttpRequest) -> dict[str, str] | None:
    """Return how the site sees the request, or None if it is not a probe with our signature."""
    try:
        TimestampSigner(salt=_SALT).unsign(
            request.headers.get(HEADER, ""), max_age=MOST_AGE_SECONDS
        )
    except BadSignature:
        return None
    return {"scheme": str(request.scheme), "address": request.META.get("REMOTE_ADDR", "")}
