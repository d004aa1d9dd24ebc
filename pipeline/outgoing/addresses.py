"""Addresses that webhooks may go to: not this machine, its networks, or any reserved address.

The form of the URL is checked when it is saved. The network address is checked for each connection
(`pipeline.outgoing.client`), because the address behind a name can change at any time.
"""

from __future__ import annotations

from ipaddress import (
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.utils.translation import gettext as _

from applicants.addresses import JOINERS, ascii_domain
from pipeline.domain.errors import WebhookUrlRefused
from pipeline.models.webhooks import LONGEST_URL

# Unicast and routed addresses: NAT64, mapped and compatible forms of IPv4 lie outside.
_GLOBAL_V6 = IPv6Network("2000::/3")
# Special addresses, listed because Python's own table differs between releases. Of IPv6 those in
# 2000::/3: relays into IPv4 (6to4, Teredo), documentation, protocols.
# 168.63.129.16 is a cloud's own.
_REFUSED: tuple[IPv4Network | IPv6Network, ...] = tuple(
    map(
        ip_network,
        "168.63.129.16/32"
        " 0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24"
        " 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24"
        " 224.0.0.0/4 240.0.0.0/4 2001::/23 2001:db8::/32 2002::/16 3fff::/20".split(),
    )
)


_HTTPS_PORT, _FIRST_FREE_PORT = 443, 1_024
# Databases, caches, queues, containers and remote controls.
_PORTS_OF_OTHERS = frozenset(
    {1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5672, 5900, 5984, 5985}
    | {5986, 6379, 6432, 6443, 9042, 9092, 9200, 9300, 10250, 11211, 15672, 27017}
)


def is_public_webhook_address(address: str) -> bool:
    """Tell whether an address is on the public internet.

    One with a scope, or an invalid one, is not.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv6Address) and (found.scope_id or found not in _GLOBAL_V6):
        return False
    if isinstance(found, IPv6Address) and (int(found) >> 32) & 0xFDFFFFFF == 0x00005EFE:
        return False  # ISATAP, which holds an address of IPv4
    if any(found in each for each in _REFUSED if each.version == found.version):
        return False
    return found.is_global and not (found.is_multicast or found.is_reserved)


def is_webhook_address_allowed(address: str) -> bool:
    """Tell whether this site allows a connection to an address."""
    return settings.WEBHOOK_ALLOW_PRIVATE or is_public_webhook_address(address)


def absolute_webhook_host(host: str) -> str:
    """Return a host as looked up: a name with a final dot, so that no search domain is added."""
    is_name = ":" not in host and not host.endswith(".") and not host[-1:].isdigit()
    return f"{host}." if is_name and not settings.WEBHOOK_ALLOW_PRIVATE else host


def checked_webhook_url(text: str) -> str:
    """Return a URL in the form in which it is kept. Raises WebhookUrlRefused with the reason."""
    if len(text) > LONGEST_URL:
        raise WebhookUrlRefused(
            why=_("Enter a URL of at most %(count)s characters.") % {"count": f"{LONGEST_URL:,}"}
        )
    if not text.translate(dict.fromkeys(map(ord, JOINERS))).isprintable() or " " in text:
        raise WebhookUrlRefused(why=_("Enter a URL without spaces and invisible characters."))
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        name = host if ":" in host else ascii_domain(host)
    except ValueError:
        raise WebhookUrlRefused(why=_("Enter a URL like https://example.org/webhooks.")) from None
    schemes = ("https", "http") if settings.WEBHOOK_ALLOW_PRIVATE else ("https",)
    if parts.scheme not in schemes or not name or port == 0:
        raise WebhookUrlRefused(why=_("Enter a URL like https://example.org/webhooks."))
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise WebhookUrlRefused(why=_("Enter a URL without user name, password and #fragment."))
    if not (parts.path + parts.query).isascii():
        raise WebhookUrlRefused(why=_("Percent-encode characters that are not ASCII."))
    if not settings.WEBHOOK_ALLOW_PRIVATE:
        _check_webhook_place(name, port)
    place = (f"[{name}]" if ":" in name else name) + (f":{port}" if port else "")
    return urlunsplit((parts.scheme, place, parts.path or "/", parts.query, ""))


def _check_webhook_place(name: str, port: int | None) -> None:
    """Refuse hosts inside, and ports where no web server listens: nobody scans others with us."""
    is_free = port is None or (port >= _FIRST_FREE_PORT and port not in _PORTS_OF_OTHERS)
    if port != _HTTPS_PORT and not is_free:
        raise WebhookUrlRefused(
            why=_(
                "Enter a URL with port 443, or one from 1024 that is not of a database or a remote"
                " control."
            )
        )
    if not _may_be_public_webhook_host(name):
        raise WebhookUrlRefused(why=_("Enter a URL that can be reached from the internet."))


def _may_be_public_webhook_host(host: str) -> bool:
    """Tell whether a host is neither a literal private address nor an internal machine's name."""
    try:
        ip_address(host)
    except ValueError:
        name = host.rstrip(".")
        inside = (".localhost", ".local", ".internal")
        return "." in name and not name.endswith(inside) and not name.rsplit(".", 1)[-1].isdigit()
    return is_public_webhook_address(host)
