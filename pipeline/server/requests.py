"""Queue and threads of requests, and the limit on their statements.

All of it runs in the event loop of one process, so it needs no locks. A client is an accepted
credential, or else a network address.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import sys
import threading
from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from operator import attrgetter
from queue import SimpleQueue
from typing import Any, ClassVar, TypeVar

from django.conf import settings
from django.db import Error, connection

from pipeline.database.errors import ClusterError
from pipeline.line.arrivals import Arrival
from pipeline.server.lines import JobLine, Wait

logger = logging.getLogger(__name__)


# The most requests of one client at once, each from its first byte until its response is read.
PER_CLIENT = 200
# The most requests that wait for a thread, shared between clients, and how long each may wait.
MOST_WAITING = 500
WAIT_SECONDS = 10.0
# With more lines, those are forgotten of which nobody waits or is expected back.
MOST_LINES = 1_000
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
    group: str
    is_heavy: bool
    order: int
    turn: asyncio.Future[None]
    arrival: Arrival | None
    has_thread: bool = False

    @property
    def has_place(self) -> bool:
        return self.arrival is not None and self.arrival.has_place


class RequestQueue:
    """Queue that shares a process's threads between clients.

    One client leaves a quarter of the threads to the others, and the client with the fewest running
    requests comes first. Heavy requests may use an eighth of the threads, and each client one of
    these, so they slow down hardly anything but each other. If too many requests wait, the last one
    of the client with the most is refused.

    Requests that join the line of a job are one group, whoever sends them: they get threads like
    those of one client, in the order in which they arrived. They count for their clients too. One
    that was refused before and has a place takes that of the last in the line, and is not refused
    for those who came later (`pipeline.server.places`).
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
        # The waiting requests, by group and weight. Among groups with equally few running, the
        # first is next. A group is a client or a line.
        self._waiting: dict[tuple[str, bool], deque[_Waiting]] = {}
        self._waiting_of: dict[str, dict[_Waiting, None]] = {}  # by client
        # By group: of which some run, wait, or were refused and are expected back.
        self._lines: dict[str, JobLine] = {}
        self._waiting_count = 0
        self._numbers = itertools.count()

    @contextmanager
    def admitted(self, client: str, *, is_read_first: bool = False) -> Iterator[None]:
        """Count a client's request while the block runs. Raises TooManyAtOnce, Overloaded.

        Raises Overloaded at once if the request could not even wait, so that no work is spent on
        it; but not if its body must be read even then.
        """
        if self._held.get(client, 0) >= self.per_client:
            raise TooManyAtOnce
        could_run = self._may_run(client, client, is_heavy=False)
        is_full = self._waiting_count >= self.most_waiting
        if not is_read_first and is_full and not could_run and self._is_greediest(client):
            raise Overloaded
        self._held[client] += 1
        try:
            yield
        finally:
            _count_down(self._held, client)

    async def begin(self, client: str, *, is_heavy: bool, arrival: Arrival | None = None) -> None:
        """Wait for a thread, which `end` returns. Raises Overloaded.

        `arrival`: of a request that joins a line.
        """
        group = _group_of(client, arrival)
        if arrival:
            self._refuse_behind_others(group, arrival)
        if self._may_run(client, group, is_heavy):
            self._start(client, group, is_heavy, arrival)
            return
        if self._waiting_count >= self.most_waiting:
            self._make_room(client, group, arrival)
        waiting = self._add_waiting(client, group, is_heavy, arrival)
        try:
            # A line has no more room than for those whose turn comes in a quarter of that.
            async with asyncio.timeout(self.wait_seconds * (2 if arrival else 1)):
                await waiting.turn
        except (TimeoutError, asyncio.CancelledError) as stopped:
            if waiting in self._waiting_of.get(client, ()):
                self._leave(waiting)
            elif waiting.has_thread:  # its turn came at this moment
                self.end(client, is_heavy=is_heavy, arrival=arrival)
            if isinstance(stopped, TimeoutError):
                raise Overloaded from None
            raise

    def _add_waiting(
        self, client: str, group: str, is_heavy: bool, arrival: Arrival | None
    ) -> _Waiting:
        order = arrival.stamp if arrival else next(self._numbers)
        turn = asyncio.get_running_loop().create_future()
        waiting = _Waiting(client, group, is_heavy, order, turn, arrival)
        line = self._waiting.setdefault((group, is_heavy), deque())
        insort(line, waiting, key=attrgetter("order"))
        self._waiting_of.setdefault(client, {})[waiting] = None
        self._waiting_count += 1
        if arrival:
            self._expect_first(group)
            arrival.hide()
        return waiting

    def end(self, client: str, *, is_heavy: bool, arrival: Arrival | None = None) -> None:
        """Return a thread, and pass it to a waiting request."""
        group = _group_of(client, arrival)
        self._running_count -= 1
        for each in {client, group}:
            _count_down(self._running, each)
        if arrival:
            self._note_end(group)
        if is_heavy:
            self._heavy.discard(client)
            if not self._heavy:
                sys.setswitchinterval(SWITCH_SECONDS)
        while first := self._next():
            self._start_waiting(first)
        if arrival and group not in self._running:
            self._forget_idle_lines([group])

    def _start_waiting(self, first: _Waiting) -> None:
        if first.arrival:  # it is expected again before the next one is
            self._line_of(first.group).move_behind_started(first.arrival)
        self._leave(first)
        place = first.group, first.is_heavy
        if others := self._waiting.pop(place, None):  # they come after other groups' now
            self._waiting[place] = others
        self._start(first.client, first.group, first.is_heavy, first.arrival)
        first.has_thread = True
        first.turn.set_result(None)

    def note_refusal(self, client: str, arrival: Arrival) -> Wait:
        """Expect someone back who is refused; return how many are before them, and when.

        A process knows those who wait in it, and those whom it has refused.
        """
        if len(self._lines) > MOST_LINES:
            self._forget_idle_lines(list(self._lines))
        now, group = asyncio.get_running_loop().time(), _group_of("", arrival)
        ahead = self._count_ahead(group, arrival)
        line = self._line_of(group)
        room = self._room_of(line)
        return line.note_refusal(client, arrival.came_at, now, ahead=ahead, room=room)

    def _refuse_behind_others(self, group: str, arrival: Arrival) -> None:
        """Refuse a request of a line if those who came before would fill its room.

        Some of them were refused and are not back yet. Threads need not idle for these: with fewer
        waiting than there are threads, whoever is there may wait too. Raises Overloaded.
        """
        if (line := self._lines.get(group)) is None:
            return
        if arrival.has_place:
            line.note_return(arrival.came_at)
        are_many = len(self._waiting.get((group, False), ())) >= self.threads
        if are_many and self._count_ahead(group, arrival) >= self._room_of(line):
            raise Overloaded

    def _note_end(self, group: str) -> None:
        """Refuse the last of a line early, if the first could otherwise wait too long."""
        line, waiting = self._line_of(group), self._waiting.get((group, False))
        now = asyncio.get_running_loop().time()
        line.note_end(now, others_wait=waiting is not None)
        while waiting and len(waiting) > 1.5 * self._room_of(line):
            self._refuse_waiting(waiting[-1])

    def _room_of(self, line: JobLine) -> float:
        """Return how many of a line may wait: those whose turn will come in time."""
        rate = line.rate(asyncio.get_running_loop().time())
        if rate is None:
            return self.most_waiting
        return max(self.threads, min(self.most_waiting, rate * self.wait_seconds / 2))

    def _count_ahead(self, group: str, arrival: Arrival) -> int:
        now, waiting = asyncio.get_running_loop().time(), self._waiting.get((group, False), ())
        before = bisect_left(waiting, arrival.stamp, key=attrgetter("order"))
        return before + self._line_of(group).count_refused_before(arrival.came_at, now)

    def _line_of(self, group: str) -> JobLine:
        if group not in self._lines:
            self._lines[group] = JobLine()
        return self._lines[group]

    def _expect_first(self, group: str) -> None:
        waiting = self._waiting.get((group, False))
        self._line_of(group).expect_first(waiting[0].arrival if waiting else None)

    def _forget_idle_lines(self, groups: list[str]) -> None:
        now = asyncio.get_running_loop().time()
        for group in groups:
            is_idle = group not in self._running and (group, False) not in self._waiting
            if is_idle and self._lines[group].is_forgettable(now):
                del self._lines[group]

    def _next(self) -> _Waiting | None:
        """Return the request whose turn it is, if one may run: of the group that runs least."""
        found, fewest = None, self.threads
        for (group, is_heavy), each in self._waiting.items():
            if (running := self._running.get(group, 0)) >= fewest:
                continue
            first = next((one for one in each if not one.turn.done()), None)
            if first and self._may_run(first.client, group, is_heavy):
                running = max(running, self._running.get(first.client, 0))
                if running < fewest:
                    found, fewest = first, running
                if not running:
                    break
        return found

    def _make_room(self, client: str, group: str, arrival: Arrival | None) -> None:
        """Refuse the last request of a line for one with a place in it that came before.

        For any other, refuse the last without a place of the client with the most waiting, or this
        one, unless its client would still have fewer than the other. Raises Overloaded.
        """
        last: _Waiting | None = None
        if arrival and arrival.has_place and (line := self._waiting.get((group, False))):
            last = line[-1] if line[-1].order > arrival.stamp else None
        if last is None and not self._is_greediest(client):
            greediest = max(self._waiting_of.values(), key=len)
            last = next((each for each in reversed(greediest) if not each.has_place), None)
        if last is None:
            raise Overloaded
        self._refuse_waiting(last)

    def _refuse_waiting(self, waiting: _Waiting) -> None:
        self._leave(waiting)
        if not waiting.turn.done():  # otherwise it leaves by itself
            waiting.turn.set_exception(Overloaded())

    def _is_greediest(self, client: str) -> bool:
        """Tell whether no client would have more requests waiting than this one with one more."""
        most = max(map(len, self._waiting_of.values()), default=0)
        return len(self._waiting_of.get(client, ())) + 1 >= most

    def _leave(self, waiting: _Waiting) -> None:
        place = waiting.group, waiting.is_heavy
        self._waiting[place].remove(waiting)
        if not self._waiting[place]:
            del self._waiting[place]
        if waiting.arrival:
            self._expect_first(waiting.group)
        theirs = self._waiting_of[waiting.client]
        del theirs[waiting]
        if not theirs:
            del self._waiting_of[waiting.client]
        self._waiting_count -= 1

    def _may_run(self, client: str, group: str, is_heavy: bool) -> bool:
        running = max(self._running.get(client, 0), self._running.get(group, 0))
        if self._running_count >= self.threads or running >= self._share:
            return False
        return not is_heavy or (len(self._heavy) < self._heavy_share and client not in self._heavy)

    def _start(self, client: str, group: str, is_heavy: bool, arrival: Arrival | None) -> None:
        self._running_count += 1
        for each in {client, group}:
            self._running[each] += 1
        if arrival:
            self._line_of(group).note_start(arrival)
            self._expect_first(group)
        if is_heavy:
            self._heavy.add(client)
            sys.setswitchinterval(HEAVY_SWITCH_SECONDS)


def _group_of(client: str, arrival: Arrival | None) -> str:
    return f"line {arrival.job_id}" if arrival else client


def _count_down(counts: Counter[str], name: str) -> None:
    counts[name] -= 1
    if not counts[name]:
        del counts[name]


# Threads for requests, which open their database connections one at a time.


Result = TypeVar("Result")


class NoThread(Exception):
    """No thread could be started, and there is none yet."""


def open_thread_connection() -> None:
    """Connect this thread to the database. If that fails, the thread's first request reports it."""
    with suppress(Error, ClusterError):
        connection.ensure_connection()


class RequestThreads:
    """Pool of up to `most` threads. Another one starts if all are busy and none is starting.

    A starting thread calls `warm`, because a connection takes several times the CPU of a request.
    If a crowd started all threads at once, it would wait for all of them; this way, existing
    threads keep answering. The first thread does not wait for `warm`, so that a process can answer
    requests that need no database even if there is none.
    """

    def __init__(self, most: int, warm: Callable[[], None] = open_thread_connection) -> None:
        self._most = most
        self._warm = warm
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0  # work that no thread has started yet
        self._idle = 0
        self._is_starting = False
        self.count = 0

    async def call(self, function: Callable[[], Result]) -> Result:
        """Call a function in a thread, and wait for its result. Raises NoThread.

        asyncio's `run_in_executor` does the same with a second future and its locks, which takes
        several percent of the CPU of a small request.
        """
        loop = asyncio.get_running_loop()
        called: asyncio.Future[Result] = loop.create_future()

        def call_in_request_thread() -> None:
            if called.cancelled():  # nobody waits any more
                return
            settle: Callable[[Any], None] = called.set_result
            try:
                outcome: Any = function()
            except BaseException as error:
                outcome, settle = error, called.set_exception
            with suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(
                    _finish_thread_call_unless_cancelled, called, settle, outcome
                )

        self.begin(call_in_request_thread)
        return await called

    def begin(self, work: Callable[[], None]) -> None:
        """Have a thread do work that raises nothing. Raises NoThread."""
        with self._lock:
            self._waiting += 1
            self._start_if_needed()
            if not self.count:
                self._waiting -= 1
                raise NoThread
        self._work.put(work)

    def _start_if_needed(self) -> None:
        enough = self._idle >= self._waiting or self.count >= self._most
        if enough or self._is_starting:
            return
        name = f"request_{self.count + 1}"
        thread = threading.Thread(
            target=self._answer, args=[self.count == 0], name=name, daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the system has none left; the next request tries again
            logger.exception("A thread for requests could not be started")
        else:
            self._is_starting = True
            self.count += 1

    def _answer(self, is_first: bool) -> None:
        if not is_first:
            try:
                self._warm()
            except Exception:
                logger.exception("A thread for requests could not be prepared")
        with self._lock:
            self._is_starting = False
            self._idle += 1
            self._start_if_needed()
        while True:
            work = self._work.get()
            with self._lock:
                self._idle -= 1
                self._waiting -= 1
            work()
            with self._lock:
                self._idle += 1


def _finish_thread_call_unless_cancelled(
    called: asyncio.Future[Any], settle: Callable[[Any], None], outcome: Any
) -> None:
    if not called.cancelled():
        settle(outcome)


# Database connections of a web server's requests: their time limit, and their pooler if any.


NO_LIMIT = "-c statement_timeout=0"


def limit_statements() -> None:
    """Limit every statement of this process. Call this before its first connection.

    The limit is a start-up option, so it costs no round trip. Work that may take longer lifts it in
    its own transaction (see `pipeline.database.statement_time`). A pooler in transaction mode
    accepts no start-up options: there the limits are set on its own connections or on the role.
    """
    limit = f"-c statement_timeout={settings.STATEMENT_SECONDS * 1_000}"
    for database in settings.DATABASES.values():
        options = database["OPTIONS"]
        options["options"] = f"{limit} {options['options'].replace(NO_LIMIT, '')}"
    if settings.POOLED_DATABASE:
        usual = settings.DATABASES["default"]
        settings.DIRECT_DATABASE = deepcopy(usual)
        usual.update(settings.POOLED_DATABASE)
        usual["OPTIONS"].pop("options")
