"""uvicorn's HTTP protocol, with limits on what clients send and how slowly they read."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pipeline.server.closing import Closing
from pipeline.server.connection_limits import ConnectionLimits

MOST_HEAD_BYTES = 65_536
# How long a new connection may be silent, how long each head may take from its first byte, and how
# long the rest of a request may take if it was answered before its end.
HEAD_SECONDS = 20.0
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)


class BoundedProtocol(HttpToolsProtocol):
    """HTTP with limits on the length and time of heads, whose responses arrive complete."""

    connection_limits: ClassVar[ConnectionLimits] = ConnectionLimits()
    transport: Closing
    _peer: str | None = None
    # Whether the client is still sending its request, or bytes that are not a request.
    is_receiving = False
    _deadline: asyncio.TimerHandle | None = None
    _is_in_head = True
    _head_bytes = 0
    # Whether a request ended in the last piece of data.
    _has_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Start the time limit for the client's first byte, unless too many are connected."""
        super().connection_made(Closing(transport, self))
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]) if isinstance(peer, tuple) else ""  # our own sockets have none
        if not self.connection_limits.enter(self._peer):
            self._peer = None
            self.is_receiving = True  # so that the refusal can be read
            self.transport.write(_FULL)
            self.transport.close()
            return
        self._bound_sending()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the connection as closed."""
        self._lift_bound()
        self.transport.unwatch()
        if self._peer is not None:
            self.connection_limits.leave(self._peer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received data, unless the client is refused or the head gets too long."""
        if self.transport.is_closing():
            return self.transport.discard_data(len(data))
        self._has_ended = False
        super().data_received(data)
        if self._is_in_head and not self._has_ended:  # otherwise most of it was a body
            self._head_bytes += len(data)
        if self._head_bytes > MOST_HEAD_BYTES:
            self.send_400_response("The request's head is too long.")
        self._bound_sending()
        return None

    def send_400_response(self, msg: str) -> None:
        """Refuse data that is not a request, and everything after it."""
        self.is_receiving = True
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def on_message_begin(self) -> None:
        """Record that a request has begun, and start the time limit for its head."""
        self.is_receiving = True
        self._lift_bound()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that the head has ended."""
        self._is_in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that another head comes next."""
        self.is_receiving = False
        self._is_in_head, self._has_ended, self._head_bytes = True, True, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Limit the time of anything that the client is still sending."""
        super().on_response_complete()
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

    def _bound_sending(self) -> None:
        """Limit the time of a head, or of the rest of a request after an early response.

        A limit that already runs is kept. While a response is due, its own limits apply, and later
        data may not even be read. Between two requests, uvicorn's limit applies (gunicorn's
        `keepalive`).
        """
        owes = self.cycle is not None and not self.cycle.response_complete
        if owes or not (self.is_receiving or not self._has_ended):
            self._lift_bound()
        elif self._deadline is None:
            self._unset_keepalive_if_required()
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _lift_bound(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
