"""Queue in front of the threads: decides whether a request runs, waits or is refused.

All of it runs in the event loop of one process, so it needs no locks. A client is an accepted
credential, or else a network address.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

# The most requests of one client at once, each from its first byte until its response is read.
PER_CLIENT = 200
# The most requests that wait for a thread, shared between clients, and how long each may wait.
MOST_WAITING = 500
WAIT_SECONDS = 10.0
# How long a thread may keep the interpreter from others that want it: usually Python's default, as
# switching costs CPU, but less while heavy requests run. A request of a neighbour needs the
# interpreter about eight times, and would wait that often.
SWITCH_SECONDS, HEAVY_SWITCH_SECONDS = 0.005, 0.0005


class TooManyAtOnce(Exception):
    """The client has too many requests at once."""


class Overloaded(Exception):
    """Too many requests wait, most of them this client's, or this one has waited too long."""


@dataclass(eq=False, slots=True)
class _Waiting:
    client: str
    is_heavy: bool
    number: int  # in the order of arrival
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
        self._running_count = 0
        self._heavy: set[str] = set()
        # The waiting requests, by client and weight. Among clients with equally few running, the
        # first is next.
        self._waiting: dict[tuple[str, bool], deque[_Waiting]] = {}
        self._waiting_of: Counter[str] = Counter()
        self._waiting_count = 0
        self._numbers = itertools.count()

    @contextmanager
    def admitted(self, client: str) -> Iterator[None]:
        """Count a client's request while the block runs. Raises TooManyAtOnce, Overloaded.

        Raises Overloaded at once if the request could not even wait, so that no work is spent on
        it.
        """
        if self._held.get(client, 0) >= self.per_client:
            raise TooManyAtOnce
        could_run = self._may_run(client, is_heavy=False)
        is_full = self._waiting_count >= self.most_waiting
        if is_full and not could_run and self._is_greediest(client):
            raise Overloaded
        self._held[client] += 1
        try:
            yield
        finally:
            _count_down_in_queue(self._held, client)

    async def begin(self, client: str, *, is_heavy: bool) -> None:
        """Wait for a thread, which `end` returns. Raises Overloaded."""
        if self._may_run(client, is_heavy):
            return self._start(client, is_heavy)
        if self._waiting_count >= self.most_waiting:
            self._make_room(client)
        turn = asyncio.get_running_loop().create_future()
        waiting = _Waiting(client, is_heavy, next(self._numbers), turn)
        self._waiting.setdefault((client, is_heavy), deque()).append(waiting)
        self._waiting_of[client] += 1
        self._waiting_count += 1
        try:
            async with asyncio.timeout(self.wait_seconds):
                await turn
        except (TimeoutError, asyncio.CancelledError) as stopped:
            if waiting in self._waiting.get((client, is_heavy), ()):
                self._leave(waiting)
            elif waiting.has_thread:  # its turn came at this moment
                self.end(client, is_heavy=is_heavy)
            if isinstance(stopped, TimeoutError):
                raise Overloaded from None
            raise
        return None

    def end(self, client: str, *, is_heavy: bool) -> None:
        """Return a thread, and pass it to a waiting request."""
        self._running_count -= 1
        _count_down_in_queue(self._running, client)
        if is_heavy:
            self._heavy.discard(client)
            if not self._heavy:
                sys.setswitchinterval(SWITCH_SECONDS)
        while first := self._next():
            self._leave(first)
            place = first.client, first.is_heavy
            if others := self._waiting.pop(place, None):  # they come after other clients' now
                self._waiting[place] = others
            self._start(first.client, first.is_heavy)
            first.has_thread = True
            first.turn.set_result(None)

    def _next(self) -> _Waiting | None:
        """Return the request whose turn it is, if one may run: of the client that runs least."""
        found, fewest = None, self.threads
        for (client, is_heavy), each in self._waiting.items():
            running = self._running.get(client, 0)
            if running < fewest and self._may_run(client, is_heavy):
                first = next((one for one in each if not one.turn.done()), None)
                found, fewest = (first, running) if first else (found, fewest)
                if first and not running:
                    break
        return found

    def _make_room(self, client: str) -> None:
        """Refuse the last request of the client with the most waiting. Raises Overloaded.

        This request itself is refused, unless its client would still have fewer than the other.
        """
        if self._is_greediest(client):
            raise Overloaded
        greediest = max(self._waiting_of, key=self._waiting_of.__getitem__)
        lasts = [self._waiting.get((greediest, weight)) for weight in (False, True)]
        last = max((each[-1] for each in lasts if each), key=lambda each: each.number)
        self._leave(last)
        if not last.turn.done():  # otherwise it leaves by itself
            last.turn.set_exception(Overloaded())

    def _is_greediest(self, client: str) -> bool:
        """Tell whether no client would have more requests waiting than this one with one more."""
        return self._waiting_of.get(client, 0) + 1 >= max(self._waiting_of.values(), default=0)

    def _leave(self, waiting: _Waiting) -> None:
        place = waiting.client, waiting.is_heavy
        self._waiting[place].remove(waiting)
        if not self._waiting[place]:
            del self._waiting[place]
        _count_down_in_queue(self._waiting_of, waiting.client)
        self._waiting_count -= 1

    def _may_run(self, client: str, is_heavy: bool) -> bool:
        if self._running_count >= self.threads or self._running.get(client, 0) >= self._share:
            return False
        return not is_heavy or (len(self._heavy) < self._heavy_share and client not in self._heavy)

    def _start(self, client: str, is_heavy: bool) -> None:
        self._running_count += 1
        self._running[client] += 1
        if is_heavy:
            self._heavy.add(client)
            sys.setswitchinterval(HEAVY_SWITCH_SECONDS)


def _count_down_in_queue(counts: Counter[str], name: str) -> None:
    counts[name] -= 1
    if not counts[name]:
        del counts[name]
