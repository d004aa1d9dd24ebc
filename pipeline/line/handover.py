"""Hand-over of turns between the processes of one web server, so that those of a job meet in one.

Each job has an owner among the processes. The others send it the requests of their turns, in the
order of arrival or not, and get the outcomes back. A request that surely has not been carried out
is carried out here; one whose owner has ended fails like one whose database connection was lost.
"""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import OperationalError, close_old_connections

from pipeline.line.arrivals import Arrival, Arrivals
from pipeline.line.peers import INBOX_BYTES, Peers

logger = logging.getLogger(__name__)

# How many threads of a process lead turns of others, besides those of its own requests. Each has a
# database connection.
MOST_LEADERS = 2
# Messages read before others that wait for the same lock.
MOST_AT_ONCE = 256
OUTCOMES_IN_A_MESSAGE = 16
# How long a process waits for an outcome, and how often it checks that the owner still runs. The
# first is longer than a turn can wait for its leader, and the leader for the lock.
OUTCOME_SECONDS = 10.0
CHECK_SECONDS = 0.25
# After so long without a word from an owner, further turns are not handed to it until there is one.
SILENT_SECONDS = 2.0
# How long a process that ends waits for the turns of others.
FINISH_SECONDS = 2.0
# How long a leader waits for room in the inbox of a process.
SEND_SECONDS = 1.0

V = TypeVar("V")
R = TypeVar("R")

Work = Callable[[], None]


class Turn(Generic[V, R]):
    """One thread's request, and its outcome: a result or an error."""

    def __init__(self, request: V, stamp: int = 0) -> None:
        self.request = request
        self.stamp = stamp  # when it arrived
        self.arrival: Arrival | None = None
        self.result: R | None = None
        self.error: BaseException | None = None
        self.leads = False
        self.called = threading.Event()
        # Of a turn that another process handed over: its row there, the turn's number, and when.
        self.sender: tuple[int, int] | None = None
        self.sent_at = 0.0
        self.is_declined = False

    def has_arrived(self) -> None:
        """Tell other turns that they need not wait for this one to come."""
        if self.arrival is not None:
            self.arrival.reach()

    def outcome(self) -> R:
        """Return the result. Raises the error."""
        if self.error is not None:
            raise self.error
        assert self.result is not None  # noqa: S101  a batch gives each of its turns an outcome
        return self.result


# What takes a turn that another process hands over, by the kind of turns. Returns False if it
# declines.
TAKERS: dict[str, Callable[[UUID, Turn[Any, Any]], bool]] = {}


class Handover:
    """One process's part: its own turns at others, and others' turns at the jobs that it owns.

    `begin` runs work in one of a limited number of threads.
    """

    def __init__(self, peers: Peers, row: int, begin: Callable[[Work], None]) -> None:
        self.arrivals = Arrivals(peers, row)
        self._peers = peers
        self._row = row
        self._begin = begin
        self._leaders = 0
        self._guard = threading.Lock()
        self._reading = threading.Lock()
        self._numbers = itertools.count(os.getpid() << 32)  # not those of a process before it
        self._sent: dict[int, Turn[Any, Any]] = {}
        self._heard_at = [0.0] * peers.rows
        self._silent: dict[int, int] = {}  # generations of owners
        self._is_closed = False

    def start(self) -> None:
        """Take turns of others from now on."""
        self._peers.open(self._row)
        threading.Thread(target=self._listen, name="handover", daemon=True).start()

    def stop(self) -> None:
        """Take no more turns of others. Those that have come are still carried out."""
        self._peers.shut(self._row)

    def finish(self) -> None:
        """Take no more turns of others, and wait a while for those that have come."""
        self.stop()
        end = time.monotonic() + FINISH_SECONDS
        self.receive()
        while self._leaders and time.monotonic() < end:
            time.sleep(0.01)
        self._is_closed = True
        self._send(self._row, (_DECLINED, self._row, 0))  # wakes the thread that listens

    def pass_on(self, kind: str, job_id: UUID, turn: Turn[Any, Any]) -> bool:
        """Have the job's owner carry out a turn. Returns False if it has not, and will not."""
        rows = self._peers.open_rows()
        if self._row not in rows or (owner := rows[job_id.int % len(rows)]) == self._row:
            return False
        generation, number = self._peers.generation(owner), next(self._numbers)
        if self._silent.get(owner) == generation:
            return False
        self._sent[number] = turn
        message = _TAKE, self._row, number, kind, job_id, turn.stamp, time.monotonic(), turn.request
        if not self._send(owner, message):
            del self._sent[number]
            return False
        turn.has_arrived()
        start = time.monotonic()
        while not turn.called.wait(CHECK_SECONDS):
            now = time.monotonic()
            if now - max(start, self._heard_at[owner]) > SILENT_SECONDS:
                self._silent[owner] = generation
            is_over = now - start > OUTCOME_SECONDS
            if (is_over or self._peers.generation(owner) != generation) and (
                self._sent.pop(number, None) is not None
            ):
                turn.error = OperationalError("the process that decides on this job has ended")
                break
        return not turn.is_declined

    def lead(self, work: Work) -> bool:
        """Lead turns in another thread, unless as many as may are leading already."""
        with self._guard:
            if self._leaders >= MOST_LEADERS:
                return False
            self._leaders += 1
        try:
            self._begin(partial(self._lead, work))
        except Exception:
            logger.exception("No thread could lead the turns of other processes")
            with self._guard:
                self._leaders -= 1
            return False
        return True

    def _lead(self, work: Work) -> None:
        try:
            close_old_connections()
            work()
        except Exception:
            logger.exception("Turns of other processes failed")
        finally:
            with self._guard:
                self._leaders -= 1
            close_old_connections()

    def answer(self, turns: Sequence[Turn[Any, Any]]) -> None:
        """Send the outcomes of turns to the processes that they came from."""
        by_row: dict[int, list[bytes]] = {}
        for turn in turns:
            if turn.sender is not None:
                row, number = turn.sender
                by_row.setdefault(row, []).append(_pickled_outcome(number, turn))
        for row, outcomes in by_row.items():
            for start in range(0, len(outcomes), OUTCOMES_IN_A_MESSAGE):
                message = _DONE, self._row, outcomes[start : start + OUTCOMES_IN_A_MESSAGE]
                if not self._send(row, message, seconds=SEND_SECONDS):
                    logger.warning("Web process %d does not read its outcomes", row)

    def receive(self) -> None:
        """Handle all messages that have come."""
        inbox = self._peers.inboxes[self._row][1]
        with self._reading:  # what another thread has read, it has also handled
            for _ in range(MOST_AT_ONCE):
                try:
                    data = inbox.recv(INBOX_BYTES, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    return
                try:
                    kind, *values = pickle.loads(data)  # noqa: S301  only our own processes send
                    _HANDLERS[kind](self, *values)
                except Exception:
                    logger.exception("A message of another web process could not be read")

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._peers.inboxes[self._row][1], select.POLLIN)
        while not self._is_closed:
            poll.poll()
            self.receive()

    def _send(self, row: int, message: tuple[Any, ...], *, seconds: float = 0.0) -> bool:
        """Send a message, and return whether it was. Waits only so long for room."""
        inbox, end = self._peers.inboxes[row][0], time.monotonic() + seconds
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        while True:
            try:
                inbox.send(data, socket.MSG_DONTWAIT)
            except BlockingIOError:
                if time.monotonic() >= end:
                    return False
                time.sleep(0.001)
            except OSError as error:  # it is too long
                logger.warning("A message to another web process was not sent: %s", error)
                return False
            else:
                return True

    def _take(
        self,
        row: int,
        number: int,
        kind: str,
        job_id: UUID,
        stamp: int,
        sent_at: float,
        request: Any,
    ) -> None:
        turn: Turn[Any, Any] = Turn(request, stamp)
        turn.sender, turn.sent_at = (row, number), sent_at
        if not TAKERS[kind](job_id, turn):
            self._send(row, (_DECLINED, self._row, number))

    def _done(self, row: int, outcomes: list[bytes]) -> None:
        self._hear(row)
        for outcome in outcomes:
            number, result, error, cause = pickle.loads(outcome)  # noqa: S301  as above
            if turn := self._sent.pop(number, None):
                if error is not None:
                    error.__cause__ = cause
                turn.result, turn.error = result, error
                turn.called.set()

    def _declined(self, row: int, number: int) -> None:
        self._hear(row)
        if turn := self._sent.pop(number, None):
            turn.is_declined = True
            turn.called.set()

    def _hear(self, row: int) -> None:
        self._heard_at[row] = time.monotonic()
        self._silent.pop(row, None)


_TAKE, _DONE, _DECLINED = range(3)
_HANDLERS: dict[int, Callable[..., None]] = {
    _TAKE: Handover._take,
    _DONE: Handover._done,
    _DECLINED: Handover._declined,
}


def _pickled_outcome(number: int, turn: Turn[Any, Any]) -> bytes:
    cause = turn.error.__cause__ if turn.error is not None else None
    try:
        return pickle.dumps((number, turn.result, turn.error, cause), pickle.HIGHEST_PROTOCOL)
    except Exception:
        logger.exception("An outcome could not be sent to another web process")
        error = OperationalError(f"{type(turn.error).__name__}: {turn.error}")
        return pickle.dumps((number, None, error, None))


# None in a process that is not one of several of a web server.
_of_process: Handover | None = None


def handover_of_process() -> Handover | None:
    """Return this process's part in the hand-over, if it has one."""
    return _of_process


def take_part_in_handover(handover: Handover | None) -> None:
    """Set this process's part in the hand-over."""
    global _of_process  # noqa: PLW0603  one for each process
    _of_process = handover
