"""Network of the HTTP client for webhooks: connections go to checked addresses only."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any
from uuid import UUID

import httpcore
from django.conf import settings

from pipeline.webhooks.addresses import absolute_webhook_host, is_webhook_address_allowed

RESOLVERS = 32  # names looked up at one time; a look-up that hangs keeps its thread
RESOLVERS_OF_COMPANY = 2
RESOLVE_SECONDS = 5.0
WAIT_SECONDS = 10.0  # for a turn


class AddressRefused(Exception):
    """The endpoint resolves to no address that webhooks may go to."""


class NameNotFound(Exception):
    """The endpoint's host name does not resolve."""


class ResolversBusy(Exception):
    """No name could be looked up in time, because too many others waited: nothing was tried."""


# The time limit of the request that this task sends.
request_limit: ContextVar[asyncio.Timeout] = ContextVar("request_limit")


class NetworkResolver:
    """Look-ups of names, limited in total and for each company; waiting for a turn does not count.

    A look-up that is given up keeps its turn until its thread returns.
    """

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(RESOLVERS)
        self._own_turns: dict[UUID, asyncio.Semaphore] = {}
        self._lookups: set[asyncio.Task[Any]] = set()

    async def look_up(self, company_id: UUID, host: str, port: int) -> list[str]:
        """Return the addresses of a host. Raises NameNotFound, ResolversBusy."""
        own = self._own_turns.setdefault(company_id, asyncio.Semaphore(RESOLVERS_OF_COMPANY))
        await self._wait_for_turns(own)
        loop = asyncio.get_running_loop()
        lookup = loop.create_task(loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        self._lookups.add(lookup)

        def end_network_lookup(ended: asyncio.Task[Any]) -> None:
            self._lookups.discard(ended)
            own.release()
            self._turns.release()
            if not ended.cancelled():
                ended.exception()

        lookup.add_done_callback(end_network_lookup)
        await asyncio.wait([lookup], timeout=RESOLVE_SECONDS)
        if not lookup.done():
            raise NameNotFound("The name servers do not answer")
        try:
            found = lookup.result()
        except (socket.gaierror, UnicodeError) as error:
            raise NameNotFound(str(error)) from None
        return list(dict.fromkeys(str(each[4][0]) for each in found))

    async def _wait_for_turns(self, own: asyncio.Semaphore) -> None:
        limit, time = request_limit.get(), asyncio.get_running_loop().time
        left = (limit.when() or 0.0) - time()
        limit.reschedule(None)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await own.acquire()
                try:
                    await self._turns.acquire()
                except BaseException:
                    own.release()
                    raise
        except TimeoutError:
            raise ResolversBusy from None
        limit.reschedule(time() + left)

    def stop(self) -> None:
        """Give up all look-ups."""
        for each in self._lookups:
            each.cancel()


class _GuardedStream(httpcore.AsyncNetworkStream):
    """Stream that is closed if its TLS handshake is cut off by our time limit.

    httpcore closes it only after errors, and a cancellation is not one.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            return await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except asyncio.CancelledError:
            await self._stream.aclose()
            raise

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Network that connects only to addresses that were checked right before."""

    def __init__(self, resolver: NetworkResolver, company_id: UUID) -> None:
        self._network = httpcore.AnyIOBackend()
        self._resolver, self._company_id = resolver, company_id

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve the host and connect to its first allowed address that answers.

        Raises AddressRefused when none is allowed, NameNotFound, ResolversBusy,
        httpcore.ConnectError.
        """
        try:
            addresses = await self._resolver.look_up(
                self._company_id, absolute_webhook_host(host), port
            )
        except NameNotFound:
            if settings.WEBHOOK_ALLOW_PRIVATE:
                raise
            raise AddressRefused from None  # the same as for a name inside: nobody learns of it
        allowed = [each for each in addresses if is_webhook_address_allowed(each)]
        if not allowed:
            raise AddressRefused
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
                raise AddressRefused
            return _GuardedStream(stream)
        raise AssertionError("the last address returns or raises")

    async def sleep(self, seconds: float) -> None:
        """Sleep between retries. There are no retries."""
        await self._network.sleep(seconds)
