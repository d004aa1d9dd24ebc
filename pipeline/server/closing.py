"""Closing of connections, so that a client that is still sending can read the response."""

from __future__ import annotations

import asyncio
import struct
import termios
from contextlib import suppress
from fcntl import ioctl
from typing import Protocol

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
