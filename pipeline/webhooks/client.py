"""HTTP client for webhooks: many requests at once, from one separate thread.

Each endpoint has its own pool of connections. An address is checked between its resolution and the
connection, and the connection goes to exactly that address. Redirects are not followed, TLS is
verified, and proxies in the environment are not used.
"""

from __future__ import annotations

import asyncio
import ctypes
import queue
import resource
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any
from uuid import UUID

import certifi
import httpcore

from pipeline.webhooks.network import (
    RESOLVERS,
    AddressRefused,
    GuardedNetwork,
    NameNotFound,
    NetworkResolver,
    ResolversBusy,
    request_limit,
)

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
_BEGUN = "http11.send_request_headers.started"  # what httpcore says when the connection stands


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
        self._pools: dict[UUID, httpcore.AsyncConnectionPool] = {}
        self._under_way: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="webhooks", daemon=True)

    def __enter__(self) -> WebhookClient:
        _limit_memory_of_webhook_clients()
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
            answer.failure, answer.detail = _webhook_failure_of_error(error)
        answer.duration_ms = round((time.perf_counter() - began) * 1_000)
        self._answers.put(answer)

    async def _exchange(self, request: Outgoing, answer: Answer) -> None:
        pool = self._pools.get(request.endpoint_id)
        if pool is None:
            pool = self._pools[request.endpoint_id] = httpcore.AsyncConnectionPool(
                ssl_context=_webhook_client_tls(),
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
        answer.failure = _webhook_failure_of_status(response.status)

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
def _limit_memory_of_webhook_clients() -> None:
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
def _webhook_client_tls() -> ssl.SSLContext:
    """Return the context that verifies receivers, with the system's and well-known authorities."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _webhook_failure_of_status(status: int) -> Failure | None:
    if 200 <= status < 300:
        return None
    if status == 410:
        return Failure.GONE
    return Failure.REDIRECT if 300 <= status < 400 else Failure.STATUS


def _webhook_failure_of_error(error: Exception) -> tuple[Failure, str]:
    """Return the failure that an error stands for, and its description."""
    reasons = [error]
    while following := reasons[-1].__cause__ or reasons[-1].__context__:
        if not isinstance(following, Exception) or following in reasons:
            break
        reasons.append(following)
    tls = next((each for each in reasons if isinstance(each, ssl.SSLError)), None)
    if isinstance(error, TimeoutError | httpcore.TimeoutException):
        return Failure.TIMEOUT, ""
    if isinstance(error, AddressRefused):
        return Failure.ADDRESS_REFUSED, str(error)
    if isinstance(error, NameNotFound):
        return Failure.NAME_NOT_FOUND, str(error)
    if tls is not None:
        return Failure.TLS_FAILED, str(getattr(tls, "verify_message", "") or tls.reason or tls)
    if isinstance(error, httpcore.ConnectError):
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
