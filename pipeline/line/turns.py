"""Turns at a hot job: requests of a machine that want the same job share one transaction.

Changes to a job happen one after another. Each costs a lock, a read, a write and a commit, almost
regardless of its size. So a thread that finds another thread at the job waits. One thread leads:
under one lock it handles the requests of all that wait, in order of arrival, and commits once. A
thread that comes alone leads a batch of one immediately; no thread waits for others to arrive,
except for those who came before it and are still on their way (`pipeline.line.arrivals`).

Each request has its own outcome: a refusal does not affect the others. An unexpected error rolls
the batch back, and each request is then tried alone, so that only the failing one fails.

Requests of all processes of a web server meet in one (`pipeline.line.handover`).
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic
from uuid import UUID

from django.db import InterfaceError, OperationalError

from pipeline.line.arrivals import current_arrival
from pipeline.line.handover import TAKERS, R, Turn, V, handover_of_process
from pipeline.line.peers import NEVER

# The largest batch. Other processes' changes wait for it.
LARGEST_BATCH = 64
# How long a request waits for its turn, in seconds. A leader also waits for the lock.
LONGEST_WAIT_SECONDS = 3.0
# How long a leader waits until the next of the earlier requests that are still on their way has
# come, and after how long it looks, at first and at most. They usually take a few milliseconds.
PATIENCE_SECONDS = 0.5
# How long those at the job wait for each other, so that they share a transaction, although the
# first of them could go on.
TOGETHER_SECONDS = 0.005
FIRST_LOOK_SECONDS, LOOK_SECONDS = 0.0002, 0.001


class _Line(Generic[V, R]):
    """Turns that wait for a job, in order of arrival, and a condition of their number."""

    def __init__(self, guard: threading.Lock) -> None:
        self.waiting: list[Turn[V, R]] = []
        self.has_changed = threading.Condition(guard)

    def add(self, turn: Turn[V, R]) -> None:
        insort(self.waiting, turn, key=_stamp_of)
        self.has_changed.notify()


def _stamp_of(turn: Turn[Any, Any]) -> int:
    return turn.stamp


def _is_given_up(turn: Turn[Any, Any]) -> bool:
    """Refuse a turn that its process may no longer wait for: earlier ones kept coming before it.

    That process tells its client so, and then nothing may be carried out.
    """
    if turn.sender is None or time.monotonic() - turn.sent_at <= LONGEST_WAIT_SECONDS:
        return False
    turn.error = OperationalError("too many requests wait for this job")
    return True


class Turns(Generic[V, R]):
    """Turns for one kind of request at each job.

    `run` handles a batch in one transaction and sets each turn's result or error. `take_turn`
    must not be called inside a transaction. Turns with a `kind` meet those of other processes.
    """

    def __init__(
        self, run: Callable[[UUID, Sequence[Turn[V, R]]], None], *, kind: str = ""
    ) -> None:
        self.kind = kind
        self._run = run
        self._guard = threading.Lock()
        # Each job at which a thread leads.
        self._lines: dict[UUID, _Line[V, R]] = {}
        if kind:
            TAKERS[kind] = self.take_for_other

    def take_turn(self, job_id: UUID, request: V) -> R:
        """Wait for the request's turn, and return its result or raise its error.

        Raises OperationalError if the turn does not come within LONGEST_WAIT_SECONDS.
        """
        arrival, handover = current_arrival(job_id), handover_of_process()
        turn: Turn[V, R] = Turn(request, arrival.stamp if arrival else time.monotonic_ns())
        turn.arrival = arrival
        is_elsewhere = handover and self.kind and handover.pass_on(self.kind, job_id, turn)
        if not is_elsewhere:
            self._take_here(job_id, turn)
        return turn.outcome()

    def _take_here(self, job_id: UUID, turn: Turn[V, R]) -> None:
        turn.called.clear()
        with self._guard:
            turn.leads = job_id not in self._lines
            line = self._lines.setdefault(job_id, _Line(self._guard))
            line.add(turn)
        turn.has_arrived()
        if not turn.leads and not turn.called.wait(LONGEST_WAIT_SECONDS):
            self._leave(job_id, turn)
        if turn.leads:
            self._lead(job_id, line, turn)

    def take_for_other(self, job_id: UUID, turn: Turn[V, R]) -> bool:
        """Take a turn that another process handed over, unless no thread could lead it."""
        handover = handover_of_process()
        assert handover is not None  # noqa: S101  it has handed the turn over
        with self._guard:
            if job_id not in self._lines:
                line: _Line[V, R] = _Line(self._guard)
                if not handover.lead(partial(self._lead, job_id, line, None)):
                    return False
                self._lines[job_id] = line
            self._lines[job_id].add(turn)
        return True

    def _leave(self, job_id: UUID, turn: Turn[V, R]) -> None:
        """Stop waiting, unless a leader has just taken the request into its batch."""
        with self._guard:
            line = self._lines.get(job_id)
            if line and not turn.leads and turn in line.waiting:
                line.waiting.remove(turn)
                raise OperationalError("too many requests wait for this job")
        turn.called.wait()

    def _lead(self, job_id: UUID, line: _Line[V, R], own: Turn[V, R] | None) -> None:
        """Handle batches until the leader's own turn is done, then have another thread lead.

        A leader that fails outside a batch takes those that wait along: a job whose leader is gone
        would take no turn any more.
        """
        try:
            self._handle_batches(job_id, line, own)
        except BaseException as error:
            with self._guard:
                left, line.waiting = line.waiting, []
                self._lines.pop(job_id, None)
            for turn in left:
                turn.error = OperationalError("the thread that led at this job has failed")
                turn.error.__cause__ = error
                turn.called.set()
            if (handover := handover_of_process()) and any(turn.sender for turn in left):
                handover.answer(left)
            raise

    def _handle_batches(self, job_id: UUID, line: _Line[V, R], own: Turn[V, R] | None) -> None:
        is_done = own is None
        while True:
            batch = self._compose(job_id, line)
            if in_time := [turn for turn in batch if not _is_given_up(turn)]:
                self._do_batch(job_id, in_time)
            for turn in batch:
                turn.called.set()
            if (handover := handover_of_process()) and any(turn.sender for turn in batch):
                handover.answer(batch)
            is_done = is_done or own in batch
            with self._guard:
                if is_done and self._stop_leading(job_id, line, own):
                    return

    def _compose(self, job_id: UUID, line: _Line[V, R]) -> list[Turn[V, R]]:
        """Take the next batch: turns before which nobody can come any more."""
        with self._guard:
            last = line.waiting[:LARGEST_BATCH][-1].stamp if line.waiting else 0
        together_until = time.monotonic() + TOGETHER_SECONDS
        patient_until, until, pause = together_until, -1, FIRST_LOOK_SECONDS
        while True:
            now, before = time.monotonic(), until
            until = self._complete_until(job_id, last, is_impatient=now > patient_until)
            if until > before:  # somebody has come
                patient_until = now + PATIENCE_SECONDS
            with self._guard:
                if not line.waiting:
                    return []
                count = bisect_right(line.waiting, until, key=_stamp_of)
                if count and (until >= last or now >= together_until):
                    batch = line.waiting[: min(count, LARGEST_BATCH)]
                    del line.waiting[: len(batch)]
                    return batch
                line.has_changed.wait(pause)
            pause = min(2 * pause, LOOK_SECONDS)

    def _complete_until(self, job_id: UUID, stamp: int, *, is_impatient: bool) -> int:
        handover = handover_of_process()
        if not handover:
            return NEVER
        until = handover.arrivals.complete_until(job_id, stamp, is_impatient=is_impatient)
        handover.receive()  # a turn that is no longer expected has been sent
        return until

    def _stop_leading(self, job_id: UUID, line: _Line[V, R], own: Turn[V, R] | None) -> bool:
        """Have another thread lead, and return whether one does or none has to."""
        if not line.waiting:
            del self._lines[job_id]
            return True
        heir = next((turn for turn in line.waiting if turn.sender is None), None)
        if heir:
            heir.leads = True
            heir.called.set()
            return True
        handover = handover_of_process()
        return bool(own and handover and handover.lead(partial(self._lead, job_id, line, None)))

    def _do_batch(self, job_id: UUID, batch: Sequence[Turn[V, R]]) -> None:
        """Run a batch. After an unexpected error, run its requests one by one.

        There is no second run if the job was busy or the connection was lost: that affects all of
        them and may have happened after the commit.
        """
        try:
            self._run(job_id, batch)
        except BaseException as error:
            for turn in batch:
                turn.result = turn.error = None  # everything that was done is undone
            is_lost = isinstance(error, OperationalError | InterfaceError)
            if len(batch) > 1 and isinstance(error, Exception) and not is_lost:
                for turn in batch:
                    self._do_batch(job_id, [turn])
                return
            first, *others = batch
            first.error = error
            # Each thread raises an error of its own, because threads would share a traceback. It is
            # of a known class: others may want other arguments, or end the thread.
            kind = InterfaceError if isinstance(error, InterfaceError) else OperationalError
            for turn in others:
                turn.error = kind(*error.args)
                turn.error.__cause__ = error.__cause__ or error
