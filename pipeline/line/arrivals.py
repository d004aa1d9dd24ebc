"""Arrivals: who has come to join a job's line, known to all web processes of a machine.

A request is stamped with the time at which the machine had received it. Until it takes its turn at
the job, it waits for a thread, is authenticated and checked, in one of several processes. Meanwhile
its process publishes that it is expected, so that nobody who came later is decided before it.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import threading
import time
from bisect import insort
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from pipeline.line.peers import CELLS, NEVER, Peers

logger = logging.getLogger(__name__)

# Iterations of the event loop after which a request that was in the kernel is registered: its
# connection is accepted, read, and its task begun.
ITERATIONS = 5
# How many requests of a process work at the same time on the way to their turns. With more, all of
# them would take longer, and a job would wait for all before it could go on with the first.
MOST_UNDER_WAY = 4
# How long one waits for that. Then the others are held up by something else.
BEGIN_SECONDS = 1.0
# In the place of a cell: until when the event loop has looked.
_LOOK = -1


class Arrival:
    """One request that wants to join a job's line, and is expected until it takes its turn."""

    __slots__ = (
        "came_at",
        "has_place",
        "is_expected",
        "is_under_way",
        "job_id",
        "of",
        "own_came_at",
        "stamp",
    )

    def __init__(self, of: Arrivals, job_id: UUID, stamp: int) -> None:
        self.of = of
        self.job_id = job_id
        self.stamp = stamp
        # When it came, in nanoseconds since 1970: by a place token from an earlier attempt, if it
        # has one, and by itself.
        self.came_at = self.own_came_at = time.time_ns() - (time.monotonic_ns() - stamp)
        self.has_place = False
        self.is_expected = False
        self.is_under_way = False

    def reach(self) -> None:
        """Stop being expected: the turn has come to the job, or will not come."""
        self.of.reach(self)

    def take_place(self, came_at: int) -> None:
        """Let the request count as one that came when its first attempt did."""
        self.has_place = True
        self.came_at = min(came_at, self.own_came_at)
        self.move(self.stamp - (self.own_came_at - self.came_at))

    def lose_place(self) -> None:
        """Let a further attempt count as one that came when this one did."""
        self.has_place = False
        self.came_at = self.own_came_at

    def move(self, stamp: int) -> None:
        """Expect the request as one that came at another time."""
        self.of.move(self, stamp)

    def hide(self) -> None:
        """Do not expect the request until it moves: it waits behind another that is expected."""
        self.of.hide(self)


class Arrivals:
    """Requests of one process that are expected at jobs, and those of its peers."""

    def __init__(self, peers: Peers, row: int) -> None:
        self.peers = peers
        self.row = row
        self._guard = threading.Lock()
        self._stamps: list[list[int]] = [[] for _ in range(CELLS)]  # each in order
        self._rung = [0] * peers.rows
        self._given_up: dict[tuple[int, int], int] = {}  # stamps, by row and cell
        self._loop: asyncio.AbstractEventLoop | None = None
        self._under_way = 0
        self._held_back: list[tuple[int, int, threading.Event, Arrival]] = []  # by stamp
        self._numbers = itertools.count()

    def begin(self, arrival: Arrival) -> None:
        """Wait in a thread until few others are under way to their turns: the earliest is next."""
        with self._guard:
            if self._under_way < MOST_UNDER_WAY:
                self._under_way += 1
                arrival.is_under_way = True
                return
            may_begin = threading.Event()
            held_back = arrival.stamp, next(self._numbers), may_begin, arrival
            insort(self._held_back, held_back)
        if not may_begin.wait(BEGIN_SECONDS):
            with self._guard:
                if not arrival.is_under_way:  # else its time has just come
                    self._held_back.remove(held_back)
                    self._under_way += 1
                    arrival.is_under_way = True

    def expect(self, job_id: UUID, stamp: int) -> Arrival:
        """Expect a request at a job. `stamp`: when it came, by `time.monotonic_ns`."""
        arrival = Arrival(self, job_id, stamp)
        with self._guard:
            self._add(arrival)
        return arrival

    def reach(self, arrival: Arrival) -> None:
        """Stop expecting a request."""
        with self._guard:
            self._remove(arrival)
            if arrival.is_under_way:
                arrival.is_under_way = False
                if self._held_back and self._under_way <= MOST_UNDER_WAY:
                    _, _, may_begin, following = self._held_back.pop(0)
                    following.is_under_way = True
                    may_begin.set()
                else:
                    self._under_way -= 1

    def move(self, arrival: Arrival, stamp: int) -> None:
        """Expect a request with another stamp."""
        with self._guard:
            self._remove(arrival)
            arrival.stamp = stamp
            self._add(arrival)

    def hide(self, arrival: Arrival) -> None:
        """Do not expect a request for the time being."""
        with self._guard:
            self._remove(arrival)

    def _add(self, arrival: Arrival) -> None:
        cell = cell_of(arrival.job_id)
        insort(stamps := self._stamps[cell], arrival.stamp)
        arrival.is_expected = True
        self.peers.expect(self.row, cell, stamps[0])

    def _remove(self, arrival: Arrival) -> None:
        if arrival.is_expected:
            arrival.is_expected = False
            cell = cell_of(arrival.job_id)
            (stamps := self._stamps[cell]).remove(arrival.stamp)
            self.peers.expect(self.row, cell, stamps[0] if stamps else NEVER)

    def complete_until(self, job_id: UUID, stamp: int, *, is_impatient: bool = False) -> int:
        """Return until which stamp nobody is still on the way to a job.

        If that is before `stamp`, the processes that have not looked since are asked to. When
        impatient, a process that would have to be waited for is passed over, until its first
        request has come or its event loop has looked.
        """
        cell, until = cell_of(job_id), NEVER
        for row in range(self.peers.rows):
            first, seen = self.peers.expected(row, cell)
            if first <= stamp and self._waits_for(row, cell, first, is_impatient):
                until = min(until, first - 1)
            if seen < stamp and self._waits_for(row, _LOOK, seen, is_impatient):
                until = min(until, seen)
                if self._rung[row] <= stamp:
                    self._rung[row] = time.monotonic_ns()
                    self.peers.ring(row)
        return until

    def _waits_for(self, row: int, what: int, stamp: int, is_impatient: bool) -> bool:
        """Tell whether to wait for a cell of a process, or its look, to go on from this stamp."""
        if self._given_up.get((row, what)) == stamp:
            return False
        if is_impatient:
            self._given_up[row, what] = stamp
            logger.warning("Web process %d holds up a line, which goes on without it", row)
        return not is_impatient

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer the bell of this process in its event loop."""
        self._loop = loop
        self.peers.see(self.row, 0)
        loop.add_reader(self.peers.bells[self.row][0], self._answer_bell)

    def unwatch(self) -> None:
        """Leave the event loop. Nobody waits for it any more."""
        if self._loop is not None:
            self._loop.remove_reader(self.peers.bells[self.row][0])
            self._loop = None
        self.peers.see(self.row, NEVER)

    def _answer_bell(self) -> None:
        os.read(self.peers.bells[self.row][0], 4_096)
        self._look(time.monotonic_ns(), ITERATIONS)

    def _look(self, asked_at: int, iterations: int) -> None:
        if self._loop is None:
            return
        if iterations:
            self._loop.call_soon(self._look, asked_at, iterations - 1)
        else:
            self.peers.see(self.row, asked_at)


def cell_of(job_id: UUID) -> int:
    """Return the cell in which a job's stamps are published."""
    return job_id.int % CELLS


_thread = threading.local()


@contextmanager
def thread_of_arrival(arrival: Arrival | None) -> Iterator[None]:
    """Work in this thread on a request, which is expected at most until the block ends."""
    _thread.arrival = arrival
    if arrival is not None:
        arrival.of.begin(arrival)
    try:
        yield
    finally:
        _thread.arrival = None
        if arrival is not None:
            arrival.reach()


def reach_of_thread() -> None:
    """Let nobody wait for the request on which this thread works, which itself waits for another.

    It keeps its stamp.
    """
    if (arrival := getattr(_thread, "arrival", None)) is not None:
        arrival.reach()


def current_arrival(job_id: UUID) -> Arrival | None:
    """Return the arrival at a job of the request on which this thread works."""
    arrival: Arrival | None = getattr(_thread, "arrival", None)
    return arrival if arrival is not None and arrival.job_id == job_id else None
