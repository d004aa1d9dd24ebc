"""Scheme and client address of requests that come through trusted proxies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from pipeline.web.asgi_types import Message, Receive, Send
from pipeline.web.client_address import network_of_client_address

# The peer of a proxy that connects through a local socket, which has no address.
_SOCKET = "unix"
_MAPPED = "::ffff:"

Application = Callable[[Message, Receive, Send], Awaitable[None]]


def behind_proxies(
    application: Application, proxies: Iterable[IPv4Network | IPv6Network]
) -> Application:
    """Return an application that sees the client address and scheme that these proxies saw.

    X-Forwarded-For and X-Forwarded-Proto are read only from these networks, the first one from its
    end. If there are trusted proxies, one that connects through a socket counts as trusted; without
    any, nothing is read.
    """
    networks = [str(network) for network in proxies]
    if not networks:
        return application

    async def with_proxied_address(scope: Message, receive: Receive, send: Send) -> None:
        if (
            network_of_client_address(scope["client"][0]) == "unknown"
        ):  # the proxy wrote something else
            scope["client"] = scope["peer"]
        await application(scope, receive, send)

    believing: Any = ProxyHeadersMiddleware(with_proxied_address, [*networks, _SOCKET])  # type: ignore[arg-type]

    async def read_proxy_headers(scope: Message, receive: Receive, send: Send) -> None:
        host, port = scope.get("client") or ("", 0)
        plain = host.removeprefix(_MAPPED) if "." in host else host
        scope["peer"], scope["client"] = (plain, port), (plain or _SOCKET, port)
        await believing(scope, receive, send)

    return read_proxy_headers
