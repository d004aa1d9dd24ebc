"""Network address of a request's client."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

# What one customer gets at least: within it, a new address costs nothing.
_IPV6_CUSTOMER_BITS = 64


def client_address(request: HttpRequest) -> str:
    """Return the address of the client; of an IPv6 one, its /64 network.

    X-Forwarded-For counts only as far as it was written by proxies in settings.TRUSTED_PROXIES:
    it is read from its end, up to the first address that is none of theirs. A proxy that comes
    through a socket has no address and counts as trusted, if any is.
    """
    proxies = settings.TRUSTED_PROXIES
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if proxies else []
    address = _parsed(request.META.get("REMOTE_ADDR", ""))
    while hops and (address is None or any(address in network for network in proxies)):
        further = _parsed(hops.pop().strip())
        if further is None:
            break
        address = further
    if address is None:
        return "unknown"
    if isinstance(address, IPv6Address):
        return str(ip_network((address.packed, _IPV6_CUSTOMER_BITS), strict=False))
    return str(address)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address; one of IPv4 also where it is written as one of IPv6."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
