"""Network addresses of clients, the probe of proxies, and access to the demo."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from django.conf import settings
from django.core import signing
from django.core.signing import BadSignature, TimestampSigner
from django.http import Http404, HttpRequest
from django.http.request import split_domain_port

# The smallest network a customer gets, and the largest that is given to anyone who asks. Within
# them, a new address costs nothing.
_IPV6_CUSTOMER_BITS, _IPV6_SITE_BITS = 64, 48
# Headers that proxies add. The last one also matches every header that starts with it.
_FORWARDED = (
    "HTTP_FORWARDED",
    "HTTP_VIA",
    "HTTP_X_REAL_IP",
    "HTTP_X_CLIENT_IP",
    "HTTP_TRUE_CLIENT_IP",
    "HTTP_CF_CONNECTING_IP",
    "HTTP_X_FORWARDED",
)

# Beginnings of the paths for programs. Their answers are no pages.
PROGRAMS = ("/api/", "/scim/")

# The key in a request's environ for the caller's name, set once the credential has been accepted.
ACCEPTED_CREDENTIAL = "nextinline.accepted_credential"


def client_address(request: HttpRequest) -> str:
    """Return the client's IPv4 address, or the /64 network of its IPv6 address.

    Behind a proxy in TRUSTED_PROXIES, the server has already replaced the proxy's address with the
    client's.
    """
    return client_network(request.META.get("REMOTE_ADDR", ""))


def client_site(request: HttpRequest) -> str:
    """Return the client's IPv4 address, or the /48 network of its IPv6 address.

    It has 65,536 networks that `client_address` tells apart. Many customers may share it.
    """
    return _network_text(request.META.get("REMOTE_ADDR", ""), _IPV6_SITE_BITS)


@lru_cache(maxsize=4_096)
def client_network(text: str) -> str:
    """Return the address that counts as one client: IPv4, an IPv6 /64 network, or "unknown"."""
    return _network_text(text, _IPV6_CUSTOMER_BITS)


def _network_text(text: str, ipv6_bits: int) -> str:
    address = _parsed_client_address(text)
    if address is None:
        return "unknown"
    if isinstance(address, IPv6Address):
        return str(ip_network((address.packed, ipv6_bits), strict=False))
    return str(address)


def is_client_this_machine(request: HttpRequest) -> bool:
    """Return whether a request comes directly from this machine and asks for a local host name.

    A request through a proxy or a tunnel on this machine does not count: it has one of their
    headers, or asks for the site's public name.
    """
    if any(name.startswith(_FORWARDED) for name in request.META):
        return False
    host, _ = split_domain_port(request.META.get("HTTP_HOST", ""))
    address = _parsed_client_address(request.META.get("REMOTE_ADDR", ""))
    return (not host or _is_local_client_name(host)) and address is not None and address.is_loopback


def is_client_developer(request: HttpRequest) -> bool:
    """Return whether a request comes from this machine to a site that serves no other.

    A proxy on this machine may rewrite the host name and add no header, so that each request seems
    to come from here. But then SITE_URL names the public address, or the request's Origin does.
    """
    try:
        origin = urlsplit(request.META.get("HTTP_ORIGIN", "")).hostname
    except ValueError:  # no address at all
        return False
    names = [urlsplit(settings.SITE_URL).hostname, *([origin] if origin else [])]
    return (
        is_client_this_machine(request)
        and not settings.TRUSTED_PROXIES
        and all(_is_local_client_name(name or "") for name in names)
    )


def _is_local_client_name(host: str) -> bool:
    address = _parsed_client_address(host.strip("[]"))
    return host == "localhost" or (address is not None and address.is_loopback)


def _parsed_client_address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address. An IPv4-mapped IPv6 address becomes IPv4."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


# Probe of the proxies in front of the site, for `manage.py doctor`. The command sends a request
# through them with a signed header. The site then answers with the scheme and the address that it
# sees. Without the signature, nothing is revealed.


HEADER = "X-Proxy-Probe"
MOST_AGE_SECONDS = 60

_PROBE_SALT = "pipeline.web.addresses"


def sign_proxy_probe() -> str:
    """Return a value for the header, valid for a minute."""
    return TimestampSigner(salt=_PROBE_SALT).sign("probe")


def answer_proxy_probe(request: HttpRequest) -> dict[str, str] | None:
    """Return how the site sees the request, or None if it is not a probe with our signature."""
    try:
        TimestampSigner(salt=_PROBE_SALT).unsign(
            request.headers.get(HEADER, ""), max_age=MOST_AGE_SECONDS
        )
    except BadSignature:
        return None
    return {"scheme": str(request.scheme), "address": request.META.get("REMOTE_ADDR", "")}


# Access to the parts of the demo that let anyone act as someone else: only on one's own machine.
# They exist only with the embedded database, never with DATABASE_URL, and only for requests that
# come directly from this machine.


LINK_LIFETIME = timedelta(hours=1)
OWNER, HIRING, APPLICANT = "owner", "hiring", "applicant"
_DEMO_SALT = "pipeline.demo.sign_in"


def has_demo_access(request: HttpRequest) -> bool:
    """Tell whether a request may use the demo's shortcuts."""
    return settings.EMBEDDED_POSTGRES is not None and is_client_developer(request)


def has_story_access(request: HttpRequest) -> bool:
    """Tell whether to show the bar that applies as people of the story: in development only."""
    return settings.DEV_MAIL and has_demo_access(request)


def require_demo_access(request: HttpRequest) -> None:
    """Refuse a request that may not use the demo's shortcuts. Raises Http404."""
    if not has_demo_access(request):
        raise Http404


def demo_access_token(who: str) -> str:
    """Return a token that signs in as the demo's OWNER, HIRING or APPLICANT for LINK_LIFETIME.

    With a separate database there is none: an empty string.
    """
    return "" if settings.EMBEDDED_POSTGRES is None else signing.dumps(who, salt=_DEMO_SALT)


def read_demo_access_token(token: str) -> str | None:
    """Return the person whom a token signs in, or None if it is too old or not ours."""
    try:
        who = signing.loads(token, salt=_DEMO_SALT, max_age=LINK_LIFETIME)
    except signing.BadSignature:
        return None
    return who if who in (OWNER, HIRING, APPLICANT) else None
