"""uvicorn's HTTP protocol on h11, with limits on what clients send and how slowly they read.

h11 decides where each request ends; decision 0019 has the reasons.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol

from pipeline.server.connections import Closing, ConnectionLimits
from pipeline.server.stamps import ARRIVED_AT, COMPLETED_AT, arrived_at
from pipeline.web.refusal_log import refusal_log

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
