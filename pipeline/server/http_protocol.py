"""uvicorn's HTTP protocol on h11, with limits on connections and on what clients send.

h11 decides where each request ends; decision 0019 has the reasons. gunicorn loads this before
Django is set up.
"""

from __future__ import annotations

import asyncio
import logging
import struct
import termios
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from fcntl import ioctl
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any, ClassVar, Protocol

import h11
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol

from pipeline.server.stamps import ARRIVED_AT, COMPLETED_AT, arrived_at
from pipeline.web.addresses import client_network
from pipeline.web.refusal_log import refusal_log

# Connections of one process: how many it accepts, and how it closes them. gunicorn loads this
# before Django is set up.


# In total, and of one network address.
MOST_CONNECTIONS = 4_000
MOST_PER_ADDRESS = 1_000


class ConnectionLimits:
    """Count of open connections.

    Trusted proxies carry many clients, so they have no limit per address.
    """

    def __init__(
        self, *, most: int = MOST_CONNECTIONS, per_address: int = MOST_PER_ADDRESS
    ) -> None:
        self.most = most
        self.per_address = per_address
        self.proxies: tuple[IPv4Network | IPv6Network, ...] = ()
        self._open: Counter[str] = Counter()

    def trust(self, proxies: Iterable[IPv4Network | IPv6Network]) -> None:
        """Exempt these networks from the limit per address."""
        self.proxies = tuple(proxies)

    def enter(self, peer: str) -> bool:
        """Count a new connection, and return whether there was room for it."""
        network = client_network(peer)
        is_full = self._open.total() >= self.most
        speaks_for_many = not peer or _matches_network(peer, self.proxies)
        if is_full or (self._open[network] >= self.per_address and not speaks_for_many):
            return False
        self._open[network] += 1
        return True

    def leave(self, peer: str) -> None:
        """Count a closed connection."""
        network = client_network(peer)
        self._open[network] -= 1
        if not self._open[network]:
            del self._open[network]


@lru_cache(maxsize=1_024)
def _matches_network(peer: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    plain = getattr(address, "ipv4_mapped", None) or address
    return any(plain in network for network in networks)


# How long a refused client's remaining bytes are discarded, so that it can read the reason.
LINGER_SECONDS = 2.0
MOST_LINGER_BYTES = 10_000_000
# How long a client may read nothing of its response.
TAKING_SECONDS = 60.0


class Receiver(Protocol):
    """Protocol of a connection, which knows whether a request is still arriving."""

    @property
    def is_receiving(self) -> bool:
        """Tell whether the client is still sending."""


class Closing(asyncio.Transport):
    """Transport that closes so that even a client that is still sending can read the response.

    If a connection is closed while data still arrives, the system resets it and discards the
    response. So arriving data is read for a while and discarded.
    """

    def __init__(self, inner: asyncio.Transport, protocol: Receiver) -> None:
        self._inner = inner
        self._protocol = protocol
        self._lingers = False
        self._thrown_away = 0
        self._timer: asyncio.TimerHandle | None = None
        # The most frequent calls bypass this class.
        for name in ("write", "abort", "get_extra_info", "pause_reading", "resume_reading"):
            setattr(self, name, getattr(inner, name))

    def is_closing(self) -> bool:
        """Return whether no more responses will be sent."""
        return self._lingers or self._inner.is_closing()

    def close(self) -> None:
        """Close the connection once the client has received the response."""
        if self.is_closing():
            return
        if self._protocol.is_receiving:
            self._lingers = True
            self.write = lambda data: None  # type: ignore[method-assign]  # of an answer being made
            self._inner.write_eof()
            self._inner.resume_reading()
            self.unwatch()
            self._timer = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.watch)
        else:
            self._inner.close()
            if self._inner.get_write_buffer_size():
                self.watch()

    def discard_data(self, length: int) -> None:
        """Discard arriving data, and stop reading if it is too much."""
        self._thrown_away += length
        if self._thrown_away > MOST_LINGER_BYTES:
            self._inner.pause_reading()
            self.watch()

    def watch(self, left: int = -1, stuck_seconds: float = 0.0) -> None:
        """Close the connection when everything is sent, or if the client reads nothing.

        `left`: how much was unsent at the last check; nothing was read for `stuck_seconds`.
        """
        of_system = b"\0\0\0\0"  # bytes that were written but have not reached the client
        with suppress(OSError, ValueError):  # the system does not tell
            of_system = ioctl(self._inner.get_extra_info("socket"), termios.TIOCOUTQ, of_system)
        now = self._inner.get_write_buffer_size() + int(struct.unpack("i", of_system)[0])
        stuck_seconds = stuck_seconds + LINGER_SECONDS if now == left else 0.0
        self.unwatch()
        if now and stuck_seconds < TAKING_SECONDS:
            again = asyncio.get_running_loop().call_later
            self._timer = again(LINGER_SECONDS, self.watch, now, stuck_seconds)
        else:
            self._inner.abort()

    def unwatch(self) -> None:
        """Stop watching the client."""
        if self._timer:
            self._timer.cancel()


# Of a head, and of what a client may send ahead while its last request is being answered.
MOST_HEAD_BYTES = 65_536
# h11 checks that length only while a head is incomplete, so it gets the data in pieces.
PIECE_BYTES = 16_384
# How long a new connection may be silent, and how long each head may take from its first byte.
HEAD_SECONDS = 20.0
FULL_RETRY_SECONDS = 5
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: %d\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
) % FULL_RETRY_SECONDS

# The refusal log has these, without the flood that a stranger could make of uvicorn's line.
logging.getLogger("uvicorn.error").addFilter(
    lambda record: record.msg != "Invalid HTTP request received."
)


class BoundedProtocol(H11Protocol):
    """HTTP with limits on the length and time of heads, whose responses arrive complete."""

    connection_limits: ClassVar[ConnectionLimits] = ConnectionLimits()
    transport: Closing
    _peer: str | None = None
    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = h11.Connection(h11.SERVER, MOST_HEAD_BYTES)

    @property
    def is_receiving(self) -> bool:
        """Tell whether the client is still sending a request, or bytes that are not a request."""
        if self._peer is None or self._unread_bytes():  # a connection too many is refused unread
            return True
        return self.conn.their_state in (h11.SEND_BODY, h11.ERROR)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Start the time limit for the client's first byte, unless too many are connected."""
        super().connection_made(Closing(transport, self))
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""  # our own sockets have none
        if self.connection_limits.enter(address):
            self._peer = address
            self._bound_sending()
        else:
            refusal_log.note(address, 503)
            self.transport.write(_FULL)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the connection as closed."""
        self._lift_bound()
        self.transport.unwatch()
        if self._peer is not None:
            self.connection_limits.leave(self._peer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received data, unless the client is refused or sends too much ahead."""
        if not self.is_receiving:
            self._lift_bound()  # a head has its time from its first byte
        for start in range(0, len(data), PIECE_BYTES):
            piece = data[start : start + PIECE_BYTES]
            if self.transport.is_closing() or self.conn.their_state is h11.MUST_CLOSE:
                self.transport.discard_data(len(piece))
            else:
                super().data_received(piece)
        if self._owes_answer():
            if self._unread_bytes() > MOST_HEAD_BYTES:
                self.cycle.keep_alive = False
            self._announce_end()
        self._bound_sending()

    def handle_events(self) -> None:
        """Parse what was received, and stamp a request whose head or body is now complete."""
        before = self.cycle
        super().handle_events()
        if self.cycle is None:
            return
        stamps = self.cycle.scope["state"]
        if self.cycle is not before:
            stamps[ARRIVED_AT] = arrived_at(self.transport)
            if not self.cycle.more_body:
                stamps[COMPLETED_AT] = stamps[ARRIVED_AT]
        elif not self.cycle.more_body and COMPLETED_AT not in stamps:
            stamps[COMPLETED_AT] = arrived_at(self.transport)

    def send_400_response(self, msg: str) -> None:
        """Refuse data that is not a request, and everything after it."""
        if self.transport.is_closing():
            return
        refusal_log.note(self._peer or "", 400)
        if self._owes_answer():  # nothing may follow this refusal
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def on_response_complete(self) -> None:
        """Limit the time of the next head."""
        super().on_response_complete()
        if self._owes_answer():  # to a request that was sent ahead
            self._announce_end()
        self._bound_sending()

    def pause_writing(self) -> None:
        """Wait for the client to read, but not for a client that reads nothing."""
        super().pause_writing()
        self.transport.watch()

    def resume_writing(self) -> None:
        """Continue sending: the client reads again."""
        super().resume_writing()
        if not self.transport.is_closing():
            self.transport.unwatch()

    def shutdown(self) -> None:
        """Close the connection after its response, which says so, or at once without one."""
        if self._owes_answer():
            self.cycle.keep_alive = False
            self._announce_end()
        elif not self.transport.is_closing():  # h11 refuses to end what an error has ended
            super().shutdown()

    def _should_upgrade(self) -> bool:
        return False  # and uvicorn logs no warning, which a stranger could repeat for ever

    def _owes_answer(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _unread_bytes(self) -> int:
        return len(self.conn.trailing_data[0])

    def _announce_end(self) -> None:
        """Have the answer say if it ends the connection, as one before the request's end does.

        A client that expects `100 Continue` may leave its body out after such an answer, and a
        proxy could send another client's request in its place.
        """
        ends = not self.cycle.keep_alive or self.conn.their_state is h11.SEND_BODY
        general = self.server_state.default_headers
        self.cycle.default_headers = [*general, CLOSE_HEADER] if ends else general

    def _bound_sending(self) -> None:
        """Limit the time of a head.

        A limit that already runs is kept. While a response is due, its own limits apply, and later
        data may not even be read. Between two requests, uvicorn's limit applies (gunicorn's
        `keepalive`).
        """
        if self.transport.is_closing() or self._owes_answer():
            self._lift_bound()
        elif self.cycle is None or self.is_receiving:
            self._unset_keepalive_if_required()
            if self._deadline is None:
                self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)
        else:
            self._lift_bound()
            if self.timeout_keep_alive_task is None:
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )

    def _lift_bound(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
