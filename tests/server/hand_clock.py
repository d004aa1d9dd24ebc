"""A web server in this process, whose timers run by a clock that the test moves by hand."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pipeline.server.http_protocol import BoundedProtocol
from tests.server.in_process import serving_here
from tests.support.waiting import PATIENCE_SECONDS, eventually


@dataclass
class HandTimer:
    """What is to happen at a time of the clock; the part of `asyncio.TimerHandle` that is used."""

    at: float
    act: Callable[[], object]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass
class HandLoop:
    """The server's loop. Timers that connections set with it wait until the test lets time pass."""

    real: asyncio.AbstractEventLoop
    now: float = 0.0
    timers: list[HandTimer] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def call_later(self, delay: float, act: Callable[..., object], *values: Any) -> HandTimer:
        """Note what is to happen later."""
        self.timers.append(HandTimer(self.now + delay, lambda: act(*values)))
        return self.timers[-1]

    def move(self, seconds: float) -> None:
        """Move the clock, and let happen what is due."""
        self.now += seconds
        due = [timer for timer in self.timers if timer.at <= self.now]
        self.timers = [timer for timer in self.timers if timer.at > self.now]
        for timer in due:
            if not timer.is_cancelled:
                timer.act()


class HandClient:
    """A connection to a server, and the clock by which the server limits it."""

    def __init__(self, port: int, servers_end: list[HandProtocol]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        eventually(lambda: servers_end)
        (self._server,) = servers_end
        self._sent = 0

    def send(self, data: bytes) -> None:
        """Send something, and return when the server has processed it."""
        self.socket.sendall(data)
        self._sent += len(data)
        eventually(lambda: self._server.received == self._sent)

    def pass_time(self, seconds: float) -> None:
        """Let time pass for the server."""
        self.call(lambda: self._server.loop.move(seconds))

    def call(self, act: Callable[[], object]) -> None:
        """Do something in the server's thread, and return when it is done."""

        async def do() -> None:
            act()

        asyncio.run_coroutine_threadsafe(do(), self._server.loop.real).result(PATIENCE_SECONDS)

    @property
    def is_closed(self) -> bool:
        """Whether the server has ended the connection."""
        return self._server.transport.is_closing()

    def read_until(self, end: bytes, count: int = 1) -> bytes:
        """Return what the server sends, up to an end that comes this many times."""
        answers = b""
        while answers.count(end) < count:
            piece = self.socket.recv(4_096)
            assert piece, answers
            answers += piece
        return answers

    def seconds_until_closed(self, drip: bytes, at_most: int) -> float:
        """Send one byte every half second; return when the server ended the connection."""
        for halves in range(2 * at_most):
            self.send(drip[halves % len(drip) :][:1])
            self.pass_time(0.5)
            if self.is_closed:
                assert self.socket.recv(1) == b""
                return (halves + 1) / 2
        return at_most


class HandProtocol(BoundedProtocol):
    """The product's protocol by such a clock; counts the bytes that it has processed."""

    loop: Any
    received = 0

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.received += len(data)


@contextmanager
def client_by_hand(application: Any, *, keep_alive_seconds: int) -> Iterator[HandClient]:
    """Serve an application to one client, by a clock that stands still."""
    made: list[HandProtocol] = []

    def protocol(*how: Any) -> HandProtocol:
        made.append(HandProtocol(*how, _loop=HandLoop(asyncio.get_running_loop())))  # type: ignore[arg-type]
        return made[-1]

    with serving_here(
        application, keep_alive_seconds=keep_alive_seconds, protocol=protocol
    ) as port:
        client = HandClient(port, made)
        with client.socket:
            yield client
