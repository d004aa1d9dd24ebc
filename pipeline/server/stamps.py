"""Stamps: when a request arrived, by one clock for all processes of the machine.

The event loop may read a request late, while threads have the interpreter. So the stamp is the time
at which the system received the last bytes of the head.
"""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from pipeline.line.arrivals import Arrival
from pipeline.line.handover import handover_of_process
from pipeline.web.asgi_types import Message, find_header

# Keys in the state of a request's scope: when its head and its body had arrived, in nanoseconds of
# `time.monotonic_ns`.
ARRIVED_AT = "nextinline.arrived_at"
COMPLETED_AT = "nextinline.completed_at"
# The key of how long a trusted proxy had it before, in nanoseconds.
_PROXY_DELAY = "nextinline.proxy_delay"
# How much earlier than its last byte a request may count as arrived. Otherwise anyone could send a
# head before a job opens, and the body once it is open.
BODY_NS = 50_000_000
# Of Linux: milliseconds since the last data, an unsigned number of 32 bits in `struct tcp_info`.
_LAST_DATA_RECEIVED = 52
# CLOCK_MONOTONIC_COARSE: the monotonic clock at the last tick. Python has no name for it.
_COARSE_CLOCK = 6
# By how much the clock's lag may have grown since the last reading.
_LAG_DRIFT_NS = 1_000
# The longest delay that the system or a proxy can tell.
MOST_DELAY_MS = 5_000
# Seconds since 1970, with or without a point before their fraction: of nginx, HAProxy and Caddy.
_PROXY_STAMP = re.compile(rb"(?:t=)?(\d{10})\.?(\d{0,9})")

_JOINS = re.compile(r"(?:/api/v1)?/jobs/([0-9a-fA-F-]{36})/(?:applications|apply/)")


class _Reader:
    """Stamps of what one process reads.

    The system tells only in which of its ticks data arrived. Such data counts as received in the
    middle of the tick, or in order: of one tick, what was read first came first. CPUs that idle
    have no ticks: what they receive can count as up to half a tick earlier.
    """

    def __init__(self) -> None:
        self._last = 0
        self._tick_ns = 0
        if sys.platform == "linux":
            self._tick_ns = int(time.clock_getres(_COARSE_CLOCK) * 1e9)
        # How far the coarse clock is behind the tick that set it: the least that was seen. It may
        # become more again when the clock is adjusted.
        self._lag_ns = 2 * self._tick_ns

    def arrived_at(self, transport: asyncio.BaseTransport) -> int:
        """Return when the last data of a connection arrived."""
        connection, stamp = transport.get_extra_info("socket"), time.monotonic_ns()
        if self._tick_ns and connection.family != socket.AF_UNIX:
            size = _LAST_DATA_RECEIVED + 4
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
            (delay_ms,) = struct.unpack_from("=I", info, _LAST_DATA_RECEIVED)
            tick = time.clock_gettime_ns(_COARSE_CLOCK)
            self._lag_ns = min(self._lag_ns + _LAG_DRIFT_NS, time.monotonic_ns() - tick)
            if delay_ms:
                began = tick + self._lag_ns - min(delay_ms, MOST_DELAY_MS) * 1_000_000
                stamp = min(stamp, self._stamp_in(began))
        self._last = stamp
        return stamp

    def _stamp_in(self, began: int) -> int:
        """Return the next stamp of the tick that began then."""
        middle, end = began + self._tick_ns // 2, began + self._tick_ns
        return max(middle, self._last + 1) if began <= self._last < end - 1 else middle


# When the last data of a connection arrived.
arrived_at = _Reader().arrived_at


def read_stamp_of_proxy(scope: Message) -> None:
    """Read when a trusted proxy had the request's head, if it says so in X-Request-Start.

    A time in the future or long past is ignored: then the clocks of the machines differ too much.
    """
    by_proxy = proxy_stamp_in(find_header(scope, b"x-request-start"))
    if by_proxy is None or ARRIVED_AT not in scope["state"]:
        return
    since_then = time.monotonic_ns() - scope["state"][ARRIVED_AT]
    delay = time.time_ns() - since_then - by_proxy
    if 0 <= delay <= MOST_DELAY_MS * 1_000_000:
        scope["state"][_PROXY_DELAY] = delay


def proxy_stamp_in(header: bytes) -> int | None:
    """Return the time that a header says, in nanoseconds since 1970."""
    found = _PROXY_STAMP.fullmatch(header)
    return int(found[1] + found[2].ljust(9, b"0")) if found else None


def joined_job(scope: Message) -> UUID | None:
    """Return the job whose line a request joins, if it is one that does."""
    if scope["method"] != "POST" or not (found := _JOINS.fullmatch(scope["path"])):
        return None
    try:
        return UUID(found[1])
    except ValueError:
        return None


@contextmanager
def expected_at_job(
    scope: Message, job_id: UUID | None, place: int | None = None
) -> Iterator[Arrival | None]:
    """Expect a whole request at the job whose line it joins, at most until the block ends.

    `place`: when its first attempt came, in nanoseconds since 1970.
    """
    handover = handover_of_process()
    if handover is None or job_id is None:
        yield None
        return
    stamps, now = scope["state"], time.monotonic_ns()
    stamp = max(stamps.get(ARRIVED_AT, now), stamps.get(COMPLETED_AT, now) - BODY_NS)
    arrival = handover.arrivals.expect(job_id, stamp - stamps.get(_PROXY_DELAY, 0))
    if place is not None:
        arrival.take_place(place)
    try:
        yield arrival
    finally:
        arrival.reach()
