"""HTTP as the web server speaks it: uvicorn's, with bounds for what a client sends and takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pipeline.server.doors import Doors

MOST_HEAD_BYTES = 65_536
# How long the first request of a connection may take until its headers are there.
HEAD_SECONDS = 20.0
# How long what a refused client still sends is thrown away, so that it can read why.
LINGER_SECONDS = 2.0
MOST_LINGER_BYTES = 10_000_000
# How long a client may take nothing of what is left when its connection is to end.
TAKING_SECONDS = 60.0
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)


class BoundedProtocol(HttpToolsProtocol):
    """HTTP, where a request's head has to end somewhere, and soon, and a refusal arrives."""

    doors: ClassVar[Doors] = Doors()
    transport: Closing
    _peer: str | None = None
    # Whether the client is not done with its request, or sends what is none.
    is_receiving = False
    _waiting: asyncio.TimerHandle | None = None
    _is_in_head = True
    _head_bytes = 0
    # Whether a request came to its end in the piece that is being taken.
    _has_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Start the time limit for the client's first request, unless too many are connected."""
        super().connection_made(Closing(transport, self))
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]) if isinstance(peer, tuple) else ""  # a socket of ours has none
        if not self.doors.enter(self._peer):
            self._peer = None
            self.is_receiving = True  # so that the refusal can be read
            self.transport.write(_FULL)
            self.transport.close()
            return
        self._waiting = self.loop.call_later(HEAD_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._ask_no_longer()
        self.transport.is_over()
        if self._peer is not None:
            self.doors.leave(self._peer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, unless the client is refused, or the head gets too long."""
        if self.transport.is_closing():
            return self.transport.throw_away(len(data))
        self._has_ended = False
        super().data_received(data)
        if self._is_in_head and not self._has_ended:  # else most of it was a body
            self._head_bytes += len(data)
        if self._head_bytes > MOST_HEAD_BYTES:
            self.send_400_response("The request's head is too long.")
        return None

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request: so is all that follows."""
        self.is_receiving = True
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def on_message_begin(self) -> None:
        """Return a request begins."""
        self.is_receiving = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Return the head has ended."""
        self._is_in_head = False
        self._ask_no_longer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Return the next that comes is another head."""
        self.is_receiving = False
        self._is_in_head, self._has_ended, self._head_bytes = True, True, 0
        super().on_message_complete()

    def _ask_no_longer(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _forget(data: bytes | bytearray | memoryview) -> None:
    """Send nothing: the client was refused meanwhile."""


class Closing(asyncio.Transport):
    """A transport whose end a client can read, even one that is still sending.

    To close while something comes in has the system throw away the answer, too (it resets the
    connection): so what still comes is read for a while, and forgotten.
    """

    def __init__(self, inner: asyncio.Transport, protocol: BoundedProtocol) -> None:
        self._inner = inner
        self._protocol = protocol
        self._lingers = False
        self._thrown_away = 0
        self._timer: asyncio.TimerHandle | None = None
        # What is called most goes past us.
        for name in ("write", "abort", "get_extra_info", "pause_reading", "resume_reading"):
            setattr(self, name, getattr(inner, name))

    def is_closing(self) -> bool:
        """Return whether nothing more is to be answered."""
        return self._lingers or self._inner.is_closing()

    def close(self) -> None:
        """End the connection once the client has what it was answered."""
        if self.is_closing():
            return
        if self._protocol.is_receiving:
            self._lingers = True
            self.write = _forget  # type: ignore[method-assign]  # an answer still being made
            self._inner.write_eof()
            self._inner.resume_reading()
            self._later(LINGER_SECONDS, self._end)
        else:
            self._end()

    def throw_away(self, length: int) -> None:
        """Forget what still comes, unless it is too much."""
        self._thrown_away += length
        if self._thrown_away > MOST_LINGER_BYTES:
            self._end()

    def is_over(self) -> None:
        """Return the connection has ended."""
        if self._timer:
            self._timer.cancel()

    def _end(self) -> None:
        self._inner.close()
        self._watch(self._inner.get_write_buffer_size())

    def _watch(self, left: int) -> None:
        """Wait for a client that takes what is left, and not for one that does not."""

        def look_again() -> None:
            now = self._inner.get_write_buffer_size()
            if now == left:
                self._inner.abort()
            else:
                self._watch(now)

        if left:
            self._later(TAKING_SECONDS, look_again)

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self.is_over()
        self._timer = asyncio.get_running_loop().call_later(seconds, act)
