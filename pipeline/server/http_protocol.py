"""HTTP as the web server speaks it: uvicorn's, with bounds for what a client sends and takes."""

from __future__ import annotations

import asyncio
import struct
import termios
from contextlib import suppress
from fcntl import ioctl
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pipeline.server.doors import Doors

MOST_HEAD_BYTES = 65_536
# How long a new connection may be silent, then how long each head may take from its first byte, and
# what still follows when a request was answered before its end.
HEAD_SECONDS = 20.0
# How long what a refused client still sends is thrown away, so that it can read why.
LINGER_SECONDS = 2.0
MOST_LINGER_BYTES = 10_000_000
# How long a client may take nothing of what it is sent.
TAKING_SECONDS = 60.0
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)


class BoundedProtocol(HttpToolsProtocol):
    """HTTP, where every head has to end somewhere, and soon, and an answer arrives whole."""

    doors: ClassVar[Doors] = Doors()
    transport: Closing
    _peer: str | None = None
    # Whether the client is not done with its request, or sends what is none.
    is_receiving = False
    _deadline: asyncio.TimerHandle | None = None
    _is_in_head = True
    _head_bytes = 0
    # Whether a request came to its end in the last piece that was taken.
    _has_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Start the time limit for the client's first byte, unless too many are connected."""
        super().connection_made(Closing(transport, self))
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]) if isinstance(peer, tuple) else ""  # a socket of ours has none
        if not self.doors.enter(self._peer):
            self._peer = None
            self.is_receiving = True  # so that the refusal can be read
            self.transport.write(_FULL)
            self.transport.close()
            return
        self._bound_sending()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._lift_bound()
        self.transport.unwatch()
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
        self._bound_sending()
        return None

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request: so is all that follows."""
        self.is_receiving = True
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def on_message_begin(self) -> None:
        """Note that a request begins: from here on its head has the whole time."""
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
        """Bound what the client is still sending, if anything."""
        super().on_response_complete()
        self._bound_sending()

    def pause_writing(self) -> None:
        """Wait for the client to take what was written, and not for one that takes nothing."""
        super().pause_writing()
        self.transport.watch()

    def resume_writing(self) -> None:
        """Send on: the client takes what it is sent."""
        super().resume_writing()
        if not self.transport.is_closing():
            self.transport.unwatch()

    def _bound_sending(self) -> None:
        """Bound the time of a head, or of what follows an early answer; from now, if not yet.

        While an answer is owed, its own limits hold: what comes behind may not even be read. A
        connection between two requests has uvicorn's limit, gunicorn's `keepalive`.
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
            self.write = lambda data: None  # type: ignore[method-assign]  # of an answer being made
            self._inner.write_eof()
            self._inner.resume_reading()
            self.unwatch()
            self._timer = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.watch)
        else:
            self._inner.close()
            if self._inner.get_write_buffer_size():
                self.watch()

    def throw_away(self, length: int) -> None:
        """Forget what still comes; read no more of it if it is too much."""
        self._thrown_away += length
        if self._thrown_away > MOST_LINGER_BYTES:
            self._inner.pause_reading()
            self.watch()

    def watch(self, left: int = -1, stuck_seconds: float = 0.0) -> None:
        """End the connection when nothing is left to take, or the client takes nothing of it.

        `left`: how much it was the last time, `stuck_seconds` ago and more.
        """
        of_system = b"\0\0\0\0"  # what is written there, and has not reached the client
        with suppress(OSError, ValueError):  # a system that does not say
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
        """Watch the client no longer."""
        if self._timer:
            self._timer.cancel()
