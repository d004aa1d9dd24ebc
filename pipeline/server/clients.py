"""Clients of a process, between which the event loop shares its resources, and their proxies."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from hashlib import blake2b
from ipaddress import IPv4Network, IPv6Network
from typing import Any, NamedTuple

from django.conf import settings
from django.http import parse_cookie
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from pipeline.server.stamps import read_stamp_of_proxy
from pipeline.web.addresses import ACCEPTED_CREDENTIAL, client_network
from pipeline.web.asgi_types import Message, Receive, Send, find_header

MOST_KNOWN = 10_000


class Client(NamedTuple):
    """Client of one process: a caller whose credential was accepted, else a network address."""

    name: str
    is_known: bool


class Clients:
    """Recently accepted credentials: keys, tokens and signed-in sessions.

    A request with any other credential counts for its network address, so that invented credentials
    do not count as separate clients. All sessions of a person are one client.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, str] = OrderedDict()

    def find_client(self, scope: Message) -> Client:
        """Return a request's client."""
        credential = find_credential(scope)
        if name := self._known.get(credential):
            self._known.move_to_end(credential)
            return Client(name, is_known=True)
        return Client(client_network((scope.get("client") or ("",))[0]), is_known=False)

    def note_client(self, client: Client, scope: Message, environ: Mapping[str, Any]) -> None:
        """Remember a request's credential, if Django has accepted it (`ACCEPTED_CREDENTIAL`)."""
        name = environ.get(ACCEPTED_CREDENTIAL)
        if not name or client == (name, True):
            return
        if credential := find_credential(scope):
            self._known[credential] = name
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)


def find_credential(scope: Message) -> bytes:
    """Return a hash of a request's key, token or session, or no bytes without one."""
    credential = find_header(scope, b"authorization")
    if not credential:
        cookies = parse_cookie(find_header(scope, b"cookie").decode("latin1"))
        credential = cookies.get(settings.SESSION_COOKIE_NAME, "").encode("latin1", "replace")
    return blake2b(credential, digest_size=16).digest() if credential else b""


# Scheme and client address of requests that come through trusted proxies.


# The peer of a proxy that connects through a local socket, which has no address.
_SOCKET = "unix"
_MAPPED = "::ffff:"

Application = Callable[[Message, Receive, Send], Awaitable[None]]


def behind_proxies(
    application: Application,
    proxies: Iterable[IPv4Network | IPv6Network],
    *,
    reads_stamps: bool = False,
) -> Application:
    """Return an application that sees the client address and scheme that these proxies saw.

    X-Forwarded-For and X-Forwarded-Proto are read only from these networks, the first one from its
    end. If there are trusted proxies, one that connects through a socket counts as trusted; without
    any, nothing is read. With `reads_stamps`, so is X-Request-Start.
    """
    networks = [str(network) for network in proxies]
    if not networks:
        return application

    async def with_proxied_address(scope: Message, receive: Receive, send: Send) -> None:
        if client_network(scope["client"][0]) == "unknown":  # the proxy wrote something else
            scope["client"] = scope["peer"]
        await application(scope, receive, send)

    believing: Any = ProxyHeadersMiddleware(with_proxied_address, [*networks, _SOCKET])  # type: ignore[arg-type]

    async def read_proxy_headers(scope: Message, receive: Receive, send: Send) -> None:
        host, port = scope.get("client") or ("", 0)
        plain = host.removeprefix(_MAPPED) if "." in host else host
        scope["peer"], scope["client"] = (plain, port), (plain or _SOCKET, port)
        if reads_stamps and scope["client"][0] in believing.trusted_hosts:
            read_stamp_of_proxy(scope)
        await believing(scope, receive, send)

    return read_proxy_headers
