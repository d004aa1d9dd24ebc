"""Slots: the worker's side of its children. Each slot has one child and its attempts.

A worker keeps one slot for attempts of urgent types. They use any free slot, and this one while
long runs hold all others.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
from collections import deque
from collections.abc import Iterator
from typing import Any

from tasks.worker.attempt import Attempt, EndReason
from tasks.worker.fork_client import READ_BYTES, SOCKET_KIND, ForkServerClient

# Time between SIGTERM, which interrupts a handler, and SIGKILL.
KILL_SECONDS = 2.0
# After this time, a run is slow: nothing queues behind it.
SLOW_SECONDS = 0.05


class Slot:
    """Child with its unfinished attempts, of which it runs the first.

    Only the slot changes the state of its attempts: when they begin and why they are stopped.
    """

    def __init__(self, fork_server: ForkServerClient) -> None:
        self._fork_server = fork_server
        self._attempts: deque[Attempt] = deque()
        self._hooks = 0
        self._killed_for: Attempt | None = None
        self._received = b""
        self._open()

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The child's attempts, the running one first."""
        return tuple(self._attempts)

    @property
    def current(self) -> Attempt | None:
        """Running attempt, if any."""
        return self._attempts[0] if self._attempts else None

    @property
    def held(self) -> int:
        """Number of the child's attempts."""
        return len(self._attempts)

    @property
    def is_free(self) -> bool:
        """Tell whether the child has nothing to do."""
        return not self._attempts and not self._hooks

    def has_room(self, most: int) -> bool:
        """Tell whether a short attempt may queue at the child, which may have at most `most`."""
        if self._hooks or len(self._attempts) >= most:
            return False
        first = self.current  # those behind it are short, or they would not be there
        return first is None or (first.spec.trusted_short and not first.end_reason)

    def give(self, attempt: Attempt, now: float) -> bool:
        """Hand an attempt to the child; return False if its socket is full."""
        if not self._send(attempt.run_message()):
            return False
        if not self._attempts:
            attempt.begun_at = now
        self._attempts.append(attempt)
        return True

    def give_hooks(self, attempt: Attempt) -> None:
        """Ask the child to call a dead task's hooks."""
        self._hooks += self._send(attempt.hooks_message())

    def take_back(self) -> list[Attempt]:
        """Take back attempts that the child has not begun.

        Worker and child read from the same socket, so the kernel gives each message to only one.
        """
        taken = set()
        with contextlib.suppress(BlockingIOError):
            while received := self._theirs.recv(READ_BYTES, socket.MSG_DONTWAIT):
                verb, task_id, *_ = json.loads(received)
                if verb == "run":
                    taken.add(task_id)
        back = [each for each in self._attempts if each.task_id in taken]
        self._attempts = deque(each for each in self._attempts if each.task_id not in taken)
        for attempt in back:
            attempt.begun_at = 0.0
        return back

    def fileno(self) -> int:
        """Return the descriptor of the child's reports."""
        return self._results

    def receive(self) -> list[Any]:
        """Return the child's messages since the last call."""
        received = self._received
        with contextlib.suppress(BlockingIOError):
            while more := os.read(self._results, READ_BYTES):
                received += more
                if len(more) < READ_BYTES:
                    break
        whole, newline, rest = received.rpartition(b"\n")
        self._received = rest
        # A line is JSON, in which a line feed cannot stand: all of them are read in one call.
        return list(json.loads(b"[%b]" % whole.replace(b"\n", b","))) if newline else []

    def note_hooks_called(self) -> None:
        """Record that the child has called a dead task's hooks."""
        self._hooks = max(0, self._hooks - 1)

    def finish_current(self, now: float) -> Attempt:
        """Remove and return the attempt that the child has finished; the next one begins.

        An interrupted child is replaced: the signal may still be on its way to it and to any
        process that it starts.
        """
        attempt = self._attempts.popleft()
        if self._attempts:
            self._attempts[0].begun_at = now
        elif attempt.interrupted and not self._hooks:
            self.renew()
        return attempt

    def take_newer_attempt(self) -> Attempt | None:
        """Return the attempt that a child had just begun when it was killed for an earlier one."""
        if self._killed_for is None or self.current in (None, self._killed_for):
            return None
        attempt = self._attempts.popleft()
        attempt.begun_at = 0.0
        return attempt

    def end(self, reason: EndReason, now: float) -> None:
        """Ask the child to end its attempt. Call `take_back` first."""
        if attempt := self.current:
            attempt.end_reason, attempt.asked_at = reason, now
            self._send(json.dumps(["cancel", attempt.task_id]).encode())

    def escalate(self, now: float) -> None:
        """Interrupt, and later kill, a child that does not end its attempt in time."""
        attempt = self.current
        if attempt is None or attempt.is_lost:
            return
        since, grace = now - attempt.asked_at, attempt.spec.grace_seconds
        if since >= grace + KILL_SECONDS:
            attempt.asked_at = math.inf
            self._kill()
        elif since >= grace and not attempt.interrupted:
            attempt.interrupted = True
            self._fork_server.signal(self.number, signal.SIGTERM)

    def kill(self, reason: EndReason) -> None:
        """Kill the child because its attempt is lost or the worker is shutting down."""
        if attempt := self.current:
            attempt.end_reason = reason
            self._kill()

    def next_time(self) -> float:
        """Return the monotonic time of the running attempt's next timeout, kill or lease end."""
        attempt = self.current
        if attempt is None or attempt.is_lost:
            return math.inf
        if attempt.end_reason is None:
            step_at = attempt.begun_at + attempt.spec.timeout_seconds
        else:
            kill_seconds = KILL_SECONDS if attempt.interrupted else 0.0
            step_at = attempt.asked_at + attempt.spec.grace_seconds + kill_seconds
        return min(step_at, attempt.lease_ends)

    def slow_time(self) -> float:
        """Return the monotonic time from which the slot counts as taken by something long."""
        if self.is_free:
            return math.inf
        return self.current.begun_at + SLOW_SECONDS if self.current else 0.0

    def renew(self) -> None:
        """Start a fresh child in place of one that has ended."""
        self.close()
        self._attempts.clear()
        self._hooks, self._killed_for, self._received = 0, None, b""
        self._open()

    def close(self) -> None:
        """Close the worker's ends; the child ends when it next reads."""
        self._messages.close()
        self._theirs.close()
        os.close(self._results)

    def _kill(self) -> None:
        self._killed_for = self.current
        self._fork_server.signal(self.number, signal.SIGKILL)

    def _open(self) -> None:
        self._messages, self._theirs = socket.socketpair(socket.AF_UNIX, SOCKET_KIND)
        self._messages.setblocking(False)
        self._results, results = os.pipe()
        os.set_blocking(self._results, False)
        self.number = self._fork_server.start(self._theirs, results)
        os.close(results)

    def _send(self, message: bytes) -> bool:
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            return self._messages.send(message) > 0
        return False


class Slots:
    """Slots of a worker: `open` to all attempts, and `kept` for urgent ones, if there is one."""

    def __init__(self, fork_server: ForkServerClient, count: int, *, keeps_one: bool) -> None:
        self.open = [Slot(fork_server) for _ in range(count)]
        self.kept = Slot(fork_server) if keeps_one else None

    def __iter__(self) -> Iterator[Slot]:
        yield from self.open
        if self.kept:
            yield self.kept

    def free_slot(self, *, is_urgent: bool = False) -> Slot | None:
        """Return a slot whose child has nothing to do."""
        candidates = self if is_urgent else self.open
        return next((slot for slot in candidates if slot.is_free), None)

    def choose_slot(self, attempt: Attempt, *, ahead: int) -> Slot | None:
        """Choose a child for an attempt, behind at most `ahead` others if its type is short.

        A last attempt needs a free one: behind others it might never begin.
        """
        free = self.free_slot(is_urgent=attempt.spec.urgent)
        if attempt.is_last:
            return free if attempt.may_begin else None
        if free or not attempt.spec.trusted_short:
            return free
        with_room = (slot for slot in self.open if slot.has_room(1 + ahead))
        return min(with_room, key=lambda slot: slot.held, default=None)

    def has_place(self, *, ahead: int, is_urgent: bool) -> bool:
        """Tell whether `choose_slot` may find a place for anything; `is_urgent`: also such."""
        if is_urgent and self.kept is not None and self.kept.is_free:
            return True
        return any(slot.is_free or slot.has_room(1 + ahead) for slot in self.open)

    def only_urgent_from(self) -> float:
        """Return the monotonic time from which the kept slot alone is free for new attempts.

        It is infinite if another slot is free, or none at all.
        """
        if self.kept is None or not self.kept.is_free:
            return math.inf
        return max(slot.slow_time() for slot in self.open)
