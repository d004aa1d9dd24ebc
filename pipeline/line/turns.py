"""Turns at a hot job: threads of one process that want the same job share one transaction.

Changes to a job happen one after another. Each costs a lock, a read, a write and a commit, almost
regardless of its size. So a thread that finds another thread of its process at the job waits. The
first waiting thread then leads: under one lock it handles the requests of all of them, in order of
arrival, and commits once. A thread that comes alone leads a batch of one immediately; no thread
waits for others to arrive.

Each request has its own outcome: a refusal does not affect the others. An unexpected error rolls
the batch back, and each request is then tried alone, so that only the failing one fails.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar
from uuid import UUID

from django.db import InterfaceError, OperationalError

# The largest batch. Other processes' changes wait for it.
LARGEST_BATCH = 64
# How long a request waits for its turn, in seconds. A leader also waits for the lock.
LONGEST_WAIT_SECONDS = 3.0

V = TypeVar("V")
R = TypeVar("R")


class Turn(Generic[V, R]):
    """One thread's request, and its outcome: a result or an error."""

    def __init__(self, request: V) -> None:
        self.request = request
        self.result: R | None = None
        self.error: BaseException | None = None
        self.leads = False
        self.called = threading.Event()

    def outcome(self) -> R:
        """Return the result. Raises the error."""
        if self.error is not None:
            raise self.error
        assert self.result is not None  # noqa: S101  a batch gives each of its turns an outcome
        return self.result


class Turns(Generic[V, R]):
    """Turns for one kind of request at each job, in this process.

    `run` handles a batch in one transaction and sets each turn's result or error. `take_turn`
    must not be called inside a transaction.
    """

    def __init__(self, run: Callable[[UUID, Sequence[Turn[V, R]]], None]) -> None:
        self._run = run
        self._guard = threading.Lock()
        # The waiting turns of each job, in order of arrival. A job without any thread has no entry.
        self._waiting: dict[UUID, deque[Turn[V, R]]] = {}

    def take_turn(self, job_id: UUID, request: V) -> R:
        """Wait for the request's turn, and return its result or raise its error.

        Raises OperationalError if the turn does not come within LONGEST_WAIT_SECONDS.
        """
        turn: Turn[V, R] = Turn(request)
        with self._guard:
            if job_id in self._waiting:
                self._waiting[job_id].append(turn)
            else:
                self._waiting[job_id] = deque()
                turn.leads = True
        if not turn.leads and not turn.called.wait(LONGEST_WAIT_SECONDS):
            self._leave(job_id, turn)
        if turn.leads:
            self._lead(job_id, turn)
        return turn.outcome()

    def _leave(self, job_id: UUID, turn: Turn[V, R]) -> None:
        """Stop waiting, unless a leader has just taken the request into its batch."""
        with self._guard:
            waiting = self._waiting.get(job_id, ())
            if turn in waiting:
                self._waiting[job_id].remove(turn)
                raise OperationalError("too many requests wait for this job")
        turn.called.wait()

    def _lead(self, job_id: UUID, first: Turn[V, R]) -> None:
        with self._guard:
            waiting = self._waiting[job_id]
            others = [waiting.popleft() for _ in range(min(len(waiting), LARGEST_BATCH - 1))]
        try:
            self._do_batch(job_id, [first, *others])
        finally:
            with self._guard:
                heir = self._waiting[job_id].popleft() if self._waiting[job_id] else None
                if heir is None:
                    del self._waiting[job_id]
                else:
                    heir.leads = True
            for turn in [*others, *([heir] if heir else [])]:
                turn.called.set()

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
