"""HTTP client for addresses that strangers chose, connecting to checked ones only."""

from __future__ import annotations

import asyncio
import ctypes
import queue
import resource
import socket
import ssl
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any
from uuid import UUID

import certifi
import httpcore2
from django.conf import settings

from pipeline.outgoing.addresses import absolute_webhook_host, is_webhook_address_allowed

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


class _GuardedStream(httpcore2.AsyncNetworkStream):
    """Stream that is closed if its TLS handshake is cut off by our time limit.

    httpcore2 closes it only after errors, and a cancellation is not one.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
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
    ) -> httpcore2.AsyncNetworkStream:
        try:
            return await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except asyncio.CancelledError:
            await self._stream.aclose()
            raise

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Network that connects only to addresses that were checked right before."""

    def __init__(self, resolver: NetworkResolver, company_id: UUID) -> None:
        self._network = httpcore2.AnyIOBackend()
        self._resolver, self._company_id = resolver, company_id

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Resolve the host and connect to its first allowed address that answers.

        Raises AddressRefused when none is allowed, NameNotFound, ResolversBusy,
        httpcore2.ConnectError.
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
            except httpcore2.ConnectError:
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


# HTTP client for webhooks: many requests at once, from one separate thread. Each endpoint has its
# own pool of connections. An address is checked between its resolution and the connection, and the
# connection goes to exactly that address. Redirects are not followed, TLS is verified, and proxies
# in the environment are not used.


TIMEOUT_SECONDS = 15.0  # of a whole request: name, connection, TLS, sending and the answer
MOST_BODY_BYTES = 16 * 1024  # of an answer; after that the connection is closed
KEPT_BODY_BYTES = 2 * 1024
MOST_HEADERS, LONGEST_HEADER = 30, 300
# Headers of answers that are not kept: they can be credentials.
_HIDDEN = frozenset({b"set-cookie", b"www-authenticate", b"authorization", b"proxy-authenticate"})
KEEP_ALIVE_SECONDS = 10.0
MOST_OPEN_FILES = 8_192
_ARENA_MAX = -8  # of glibc's malloc.h
_STACK_BYTES = 1024 * 1024
_BEGUN = "http11.send_request_headers.started"  # what httpcore2 says when the connection stands


class Failure(StrEnum):
    """Name of the reason why an attempt failed."""

    NAME_NOT_FOUND = "NAME_NOT_FOUND"
    ADDRESS_REFUSED = "ADDRESS_REFUSED"
    CONNECTION_FAILED = "CONNECTION_FAILED"
    TLS_FAILED = "TLS_FAILED"
    TIMEOUT = "TIMEOUT"
    BAD_ANSWER = "BAD_ANSWER"  # it is not HTTP, or ended too early
    REDIRECT = "REDIRECT"
    STATUS = "STATUS"  # another status than 2xx
    GONE = "GONE"  # 410
    SECRET_UNREADABLE = "SECRET_UNREADABLE"  # noqa: S105  ours; nothing was sent
    ENDPOINT_OFF = "ENDPOINT_OFF"  # ours; nothing was sent


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Request to send; `key` comes back with the answer."""

    key: UUID
    company_id: UUID
    endpoint_id: UUID
    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Answer:
    """Result of one request: an answer, or the name of the failure with a detail."""

    key: UUID
    endpoint_id: UUID
    duration_ms: int = 0
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    failure: Failure | None = None
    detail: str = ""
    is_unsent: bool = False  # no attempt: too many names are looked up
    is_begun: bool = False  # the connection stood, and a part of the request may have arrived


class WebhookClient:
    """Thread that sends requests. A context manager; leaving it abandons requests under way."""

    def __init__(self, *, timeout_seconds: float | None = None) -> None:
        self._timeout_seconds = timeout_seconds or TIMEOUT_SECONDS
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._resolver = NetworkResolver()
        self._resolvers = ThreadPoolExecutor(RESOLVERS, thread_name_prefix="webhook-names")
        self._loop.set_default_executor(self._resolvers)
        self._pools: dict[UUID, httpcore2.AsyncConnectionPool] = {}
        self._under_way: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="webhooks", daemon=True)

    def __enter__(self) -> WebhookClient:
        _limit_memory()
        allow_webhook_connections()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._resolvers.shutdown(wait=False, cancel_futures=True)

    def send(self, requests: list[Outgoing]) -> None:
        """Send requests at once; each gets its answer among `answers` within TIMEOUT_SECONDS."""
        if requests:
            self._loop.call_soon_threadsafe(self._begin, requests)

    def answers(self, seconds: float) -> list[Answer]:
        """Return the answers that have arrived; wait up to this long for a first one."""
        found: list[Answer] = []
        with suppress(queue.Empty):
            found.append(self._answers.get(timeout=seconds))
            while True:
                found.append(self._answers.get_nowait())
        return found

    def close_pool(self, endpoint_id: UUID) -> None:
        """Close the connections to an endpoint that has no requests under way."""
        self._loop.call_soon_threadsafe(self._drop, endpoint_id)

    def _begin(self, requests: list[Outgoing]) -> None:
        for request in requests:
            task = self._loop.create_task(self._send(request))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _send(self, request: Outgoing) -> None:
        answer = Answer(request.key, request.endpoint_id)
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout_seconds) as limit:
                request_limit.set(limit)
                await self._exchange(request, answer)
        except ResolversBusy:
            answer.is_unsent = True
        except Exception as error:
            answer.failure, answer.detail = _error_failure(error)
        answer.duration_ms = round((time.perf_counter() - began) * 1_000)
        self._answers.put(answer)

    async def _exchange(self, request: Outgoing, answer: Answer) -> None:
        pool = self._pools.get(request.endpoint_id)
        if pool is None:
            pool = self._pools[request.endpoint_id] = httpcore2.AsyncConnectionPool(
                ssl_context=_tls_context(),
                max_connections=100,
                keepalive_expiry=KEEP_ALIVE_SECONDS,
                network_backend=GuardedNetwork(self._resolver, request.company_id),
            )
        headers = [(name.encode(), value.encode()) for name, value in request.headers.items()]

        async def note_event_of_webhook_client(event: str, _info: dict[str, Any]) -> None:
            answer.is_begun = answer.is_begun or event == _BEGUN

        async with pool.stream(
            "POST",
            request.url,
            headers=headers,
            content=request.body,
            extensions={"trace": note_event_of_webhook_client},
        ) as response:
            answer.status = response.status
            answer.headers = _kept_webhook_response_headers(response.headers)
            received = b""
            async for chunk in response.aiter_stream():
                received = (received + chunk)[: MOST_BODY_BYTES + 1]
                text = received[:KEPT_BODY_BYTES].decode("utf-8", "replace")
                answer.body = _printable_webhook_response(text)
                if len(received) > MOST_BODY_BYTES:
                    break
        answer.failure = _status_failure(response.status)

    def _drop(self, endpoint_id: UUID) -> None:
        pool = self._pools.pop(endpoint_id, None)
        if pool is not None:
            self._loop.create_task(pool.aclose())

    async def _stop(self) -> None:
        for task in self._under_way:
            task.cancel()
        self._resolver.stop()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        for pool in self._pools.values():
            with suppress(Exception):
                await pool.aclose()


@cache
def _limit_memory() -> None:
    """Let threads share two heaps, and have small stacks.

    glibc reserves 64 MB of addresses for the heap of each thread, and 8 MB for its stack; the
    limit on a task's memory counts both, even for tasks that the process runs later.
    """
    threading.stack_size(_STACK_BYTES)
    with suppress(OSError, AttributeError):  # another C library has no such thing
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


def allow_webhook_connections() -> None:
    """Let this process have as many connections open as the run's endpoints keep.

    The usual limit is 1,024. Beyond it, attempts would fail without reaching the receivers.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@cache
def _tls_context() -> ssl.SSLContext:
    """Return the context that verifies receivers, with the system's and well-known authorities."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _status_failure(status: int) -> Failure | None:
    if 200 <= status < 300:
        return None
    if status == 410:
        return Failure.GONE
    return Failure.REDIRECT if 300 <= status < 400 else Failure.STATUS


def _error_failure(error: Exception) -> tuple[Failure, str]:
    """Return the failure that an error stands for, and its description."""
    reasons = [error]
    while following := reasons[-1].__cause__ or reasons[-1].__context__:
        if not isinstance(following, Exception) or following in reasons:
            break
        reasons.append(following)
    tls = next((each for each in reasons if isinstance(each, ssl.SSLError)), None)
    if isinstance(error, TimeoutError | httpcore2.TimeoutException):
        return Failure.TIMEOUT, ""
    if isinstance(error, AddressRefused):
        return Failure.ADDRESS_REFUSED, str(error)
    if isinstance(error, NameNotFound):
        return Failure.NAME_NOT_FOUND, str(error)
    if tls is not None:
        return Failure.TLS_FAILED, str(getattr(tls, "verify_message", "") or tls.reason or tls)
    if isinstance(error, httpcore2.ConnectError):
        return Failure.CONNECTION_FAILED, str(reasons[-1])
    return Failure.BAD_ANSWER, f"{type(error).__name__}: {error}".removesuffix(": ")


def _kept_webhook_response_headers(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    kept = (each for each in headers if each[0].lower() not in _HIDDEN)
    return {
        name.decode("latin-1")[:LONGEST_HEADER].lower(): _printable_webhook_response(
            value.decode("latin-1")[:LONGEST_HEADER]
        )
        for name, value in list(kept)[:MOST_HEADERS]
    }


def _printable_webhook_response(text: str) -> str:
    """Replace the character that PostgreSQL cannot store, NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
