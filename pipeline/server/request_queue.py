"""Queue in front of the threads: decides whether a request runs, waits or is refused.

All of it runs in the event loop of one process, so it needs no locks. A client is an accepted
credential, or else a network address.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

# The most requests of one client at once, each from its first byte until its response is read.
PER_CLIENT = 200
# The most requests that wait for a thread, shared between clients, and how long each may wait.
MOST_WAITING = 500
WAIT_SECONDS = 10.0


class TooManyAtOnce(Exception):
    """The client has too many requests at once."""


class Overloaded(Exception):
    """Too many requests wait, most of them this client's, or this one has waited too long."""


@dataclass(eq=False, slots=True)
class _Waiting:
    client: str
    is_heavy: bool
    turn: asyncio.Future[None]
    has_thread: bool = False


class RequestQueue:
    """Queue that shares a process's threads between clients.

    One client leaves a quarter of the threads to the others, and the client with the fewest running
    requests comes first. Heavy requests may use an eighth of the threads, and each client one of
    these, so they slow down hardly anything but each other. If too many requests wait, the last one
    of the client with the most is refused.
    """

    threads_of_process: ClassVar[int] = 16  # the worker sets it from gunicorn's --threads

    def __init__(
        self,
        threads: int,
        *,
        per_client: int = PER_CLIENT,
        most_waiting: int = MOST_WAITING,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self.threads = threads
        self.per_client = per_client
        self.most_waiting = most_waiting
        self.wait_seconds = wait_seconds
        self._share = max(1, threads - max(1, threads // 4))
        self._heavy_share = max(1, threads // 8)
        self._held: Counter[str] = Counter()
        self._running: Counter[str] = Counter()
        self._heavy: set[str] = set()
        self._waiting: list[_Waiting] = []

    @contextmanager
    def admitted(self, client: str) -> Iterator[None]:
        """Count a client's request while the block runs. Raises TooManyAtOnce."""
        if self._held[client] >= self.per_client:
            raise TooManyAtOnce
        self._held[client] += 1
        try:
            yield
        finally:
            _count_down_in_queue(self._held, client)

    async def begin(self, client: str, *, is_heavy: bool) -> None:
        """Wait for a thread, which `end` returns. Raises Overloaded."""
        if self._may_run(client, is_heavy):
            return self._start(client, is_heavy)
        if len(self._waiting) >= self.most_waiting:
            self._make_room(client)
        waiting = _Waiting(client, is_heavy, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            async with asyncio.timeout(self.wait_seconds):
                await waiting.turn
        except (TimeoutError, asyncio.CancelledError) as stopped:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            elif waiting.has_thread:  # its turn came at this moment
                self.end(client, is_heavy=is_heavy)
            if isinstance(stopped, TimeoutError):
                raise Overloaded from None
            raise
        return None

    def end(self, client: str, *, is_heavy: bool) -> None:
        """Return a thread, and pass it to a waiting request."""
        _count_down_in_queue(self._running, client)
        if is_heavy:
            self._heavy.discard(client)
        while ready := [
            each
            for each in self._waiting
            if self._may_run(each.client, each.is_heavy) and not each.turn.done()
        ]:
            first = min(ready, key=lambda each: self._running[each.client])
            self._waiting.remove(first)
            self._start(first.client, first.is_heavy)
            first.has_thread = True
            first.turn.set_result(None)

    def _make_room(self, client: str) -> None:
        """Refuse the last request of the client with the most waiting. Raises Overloaded.

        This request itself is refused, unless its client would still have fewer than the other.
        """
        counts = Counter(each.client for each in self._waiting)
        greediest, most = counts.most_common(1)[0]
        if counts[client] + 1 >= most:
            raise Overloaded
        last = next(each for each in reversed(self._waiting) if each.client == greediest)
        self._waiting.remove(last)
        if not last.turn.done():  # otherwise it leaves by itself
            last.turn.set_exception(Overloaded())

    def _may_run(self, client: str, is_heavy: bool) -> bool:
        if self._running.total() >= self.threads or self._running[client] >= self._share:
            return False
        return not is_heavy or (len(self._heavy) < self._heavy_share and client not in self._heavy)

    def _start(self, client: str, is_heavy: bool) -> None:
        self._running[client] += 1
        if is_heavy:
            self._heavy.add(client)


def _count_down_in_queue(counts: Counter[str], name: str) -> None:
    counts[name] -= 1
    if not counts[name]:
        del counts[name]
