"""Network of the HTTP client for webhooks: connections go to checked addresses only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from typing import Any

import httpcore

from pipeline.webhooks.addresses import is_webhook_address_allowed


class AddressRefused(Exception):
    """The endpoint resolves to no address that webhooks may go to."""


class NameNotFound(Exception):
    """The endpoint's host name does not resolve."""


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Network that connects only to addresses that were checked right before."""

    def __init__(self) -> None:
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve the host and connect to its first allowed address that answers.

        Raises AddressRefused when none is allowed, NameNotFound, httpcore.ConnectError.
        """
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as error:
            raise NameNotFound(str(error)) from None
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        allowed = [each for each in addresses if is_webhook_address_allowed(each)]
        if not allowed:
            raise AddressRefused(", ".join(addresses[:3]))
        for number, address in enumerate(allowed, 1):
            try:
                stream = await self._network.connect_tcp(address, port, timeout)
            except httpcore.ConnectError:
                if number == len(allowed):
                    raise
                continue
            peer = stream.get_extra_info("server_addr")
            if not is_webhook_address_allowed(str(peer[0])):
                await stream.aclose()
                raise AddressRefused(str(peer[0]))
            return stream
        raise AssertionError("the last address returns or raises")

    async def sleep(self, seconds: float) -> None:
        """Sleep between retries, of which there are none."""
        await self._network.sleep(seconds)
