"""Connections of one process: how many it accepts, and how it closes them.

gunicorn loads this before Django is set up.
"""

from __future__ import annotations

import asyncio
import struct
import termios
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from fcntl import ioctl
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Protocol

from pipeline.web.addresses import client_network

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
