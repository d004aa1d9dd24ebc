"""Dispatcher: the state of a worker's attempts, and the rules for handing them to children.

It owns attempts from their claim until their results are written. It does not access the database:
the worker adds claimed attempts, and takes the results and messages to write.

An attempt waits in the queue here or, if its type is `trusted_short`, behind another one at a warm
child. At most as many wait there as children have recently finished in 40 ms, so an urgent task is
delayed by no more than that. Owners of tasks see no difference: a waiting attempt can be cancelled
at once, keeps its lease and counts towards its cap, and a child that dies fails only the attempt
it was running. Attempts that wait longer than half a second go back to other workers, uncounted.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from tasks.worker.attempt import Attempt, EndReason
from tasks.worker.fork_client import ForkServerClient
from tasks.worker.slots import SLOW_SECONDS, Slot, Slots

log = logging.getLogger(__name__)

AHEAD_SECONDS, MOST_AHEAD = 0.04, 250
# While every child has more than half of that to do, answers are collected for at most this long: a
# step for each would cost more than the runs. The shortest time that a run is assumed to take.
COLLECT_SECONDS, SHORTEST_RUN_SECONDS = 0.005, 0.00005
PATIENCE_SECONDS, SMOOTHING = 0.5, 0.05

Result = tuple[Attempt, dict[str, Any]]


class Dispatcher:
    """Slots with their children, and the attempts that pass through them."""

    def __init__(
        self, *, worker: str, slots: int, fork_server: ForkServerClient, keeps_slot: bool = False
    ) -> None:
        self.worker = worker
        self.fork_server = fork_server
        self.slots = Slots(fork_server, slots, keeps_one=keeps_slot)
        self._waiting: deque[Attempt] = deque()
        self._results: list[Result] = []
        self._messages: list[dict[str, Any]] = []
        self._hooks: deque[Attempt] = deque()
        self._pace_seconds = 1.0

    @property
    def waiting(self) -> tuple[Attempt, ...]:
        """Attempts that no child has been given."""
        return tuple(self._waiting)

    @property
    def results(self) -> tuple[Result, ...]:
        """Results not yet written."""
        return tuple(self._results)

    @property
    def has_unwritten(self) -> bool:
        """Tell whether results or messages wait to be written."""
        return bool(self._results or self._messages)

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing is running or waiting."""
        return not self._waiting and not self._hooks and all(slot.is_free for slot in self.slots)

    def held(self) -> Iterator[Attempt]:
        """Iterate over every claimed attempt that has not ended."""
        yield from self._waiting
        for slot in self.slots:
            yield from slot.attempts

    def wanted(self, now: float) -> int:
        """Return how many attempts to claim: one per slot, plus some to queue behind short runs."""
        slots = self.slots.open
        held = len(self._waiting) + sum(slot.held for slot in slots)
        running = [slot.current for slot in slots]
        quick = sum(each is None or now - each.begun_at < SLOW_SECONDS for each in running)
        most = len(slots) + quick * self._ahead()
        return most - held if held <= most // 2 or held < len(slots) else 0

    def collect_seconds(self) -> float:
        """Return for how long the children's answers need not be read; 0 if at once."""
        ahead = self._ahead()
        spare = min(slot.held for slot in self.slots.open) - max(1, ahead // 2)
        pace_seconds = max(self._pace_seconds, SHORTEST_RUN_SECONDS)
        return min(COLLECT_SECONDS, max(0, spare) * pace_seconds)

    def awaited_slots(self) -> list[Slot]:
        """Return the slots whose answers are to be read as soon as they come."""
        if not self.collect_seconds():
            return list(self.slots)
        return [self.slots.kept] if self.slots.kept else []

    def urgent_claim_time(self) -> float:
        """Return the monotonic time from which to claim an urgent attempt alone, if any."""
        coming = any(each.spec.urgent for each in self._waiting)
        return math.inf if coming else self.slots.only_urgent_from()

    def add(self, attempts: Iterable[Attempt]) -> None:
        """Queue claimed attempts."""
        self._waiting.extend(attempts)

    def call_hooks(self, attempts: Iterable[Attempt]) -> None:
        """Queue the hooks of dead tasks whose child died before it could call them."""
        hooks = ((attempt, attempt.spec.hooks) for attempt in attempts)
        self._hooks.extend(attempt for attempt, of in hooks if of.on_fail or of.on_end)

    def hand_out(self, now: float) -> None:
        """Give waiting attempts to free children; short ones may also queue at a busy child."""
        while self._hooks and (slot := self.slots.free_slot()):
            slot.give_hooks(self._hooks.popleft())
        ahead, left = self._ahead(), []
        urgent = sum(attempt.spec.urgent for attempt in self._waiting)
        while self._waiting and self.slots.has_place(ahead=ahead, is_urgent=urgent > 0):
            attempt = self._waiting.popleft()
            urgent -= attempt.spec.urgent
            slot = self.slots.choose_slot(attempt, ahead=ahead)
            if slot is None or not slot.give(attempt, now):
                left.append(attempt)
        self._waiting.extendleft(reversed(left))

    def receive(self, now: float) -> int:
        """Read the children's messages and replace dead children; return the number of both."""
        lines = 0
        for slot in self.slots:
            for line in slot.receive():
                lines += 1
                self._handle_message(slot, line, now)
        ended = dict(self.fork_server.ended())
        for slot in self.slots:
            if slot.number in ended:
                self._reap(slot, ended[slot.number], now)
        return lines + len(ended)

    def watch(self, now: float) -> None:
        """End runs that are lost or too long; take back attempts queued behind slow ones."""
        for attempt in [each for each in self._waiting if each.lease_ends <= now]:
            self._waiting.remove(attempt)
        for slot in self.slots:
            first = slot.current
            if first is None:
                continue
            is_slow = first.end_reason or now - first.begun_at > SLOW_SECONDS
            if slot.held > 1 and is_slow:
                self._take_back(slot)
            if first.lease_ends <= now and not first.is_lost:
                slot.kill(EndReason.LOST)
            elif not first.end_reason and now - first.begun_at > first.spec.timeout_seconds:
                self._end(slot, EndReason.TIMED_OUT, now)
            elif first.end_reason:
                slot.escalate(now)

    def remove_overdue(self, now: float) -> list[Attempt]:
        """Remove and return attempts that have waited too long: other workers should run them."""
        late = [each for each in self._waiting if now - each.claimed_at > PATIENCE_SECONDS]
        for attempt in late:
            self._waiting.remove(attempt)
            self._pace_seconds = 1.0  # do not claim ahead again until attempts are short
        return late

    def remove_waiting(self) -> list[Attempt]:
        """Remove and return all attempts that no child has begun."""
        found = [attempt for slot in self.slots for attempt in slot.take_back()]
        found += self._waiting
        self._waiting.clear()
        return found

    def renew(
        self, held: Mapping[str, Attempt], alive: Mapping[str, bool], *, sent: float, ends: float
    ) -> None:
        """Record which leases were renewed, and until when; True in `alive` means cancel."""
        for task_id in alive:
            held[task_id].lease_ends = ends
        self._cancel((task_id for task_id, cancelled in alive.items() if cancelled), sent)
        self.lose([attempt for task_id, attempt in held.items() if task_id not in alive])

    def may_begin(self, attempts: Collection[Attempt], accepted: Collection[str]) -> None:
        """Let those last attempts begin that the database accepted; the others are lost."""
        for attempt in attempts:
            attempt.may_begin = attempt.task_id in accepted
        self.lose([attempt for attempt in attempts if not attempt.may_begin])

    def lose(self, lost: Iterable[Attempt]) -> None:
        """Drop attempts that another worker may have now; kill a child that is running one."""
        for attempt in lost:
            named = (attempt.task_id, attempt.number)
            log.warning("task %s: the lease of attempt %s is lost", *named, extra=attempt.log_ids)
            if attempt in self._waiting:
                self._waiting.remove(attempt)
            for slot in self.slots:
                if attempt in slot.attempts:
                    back = [each for each in slot.take_back() if each is not attempt]
                    self._waiting.extendleft(reversed(back))
                    if slot.current is attempt:
                        slot.kill(EndReason.LOST)

    def take_results(self, most: int) -> list[Result]:
        """Remove and return the oldest results."""
        taken, self._results = self._results[:most], self._results[most:]
        return taken

    def put_back_results(self, results: list[Result]) -> None:
        """Put back results that could not be written."""
        self._results[:0] = results

    def take_messages(self) -> list[dict[str, Any]]:
        """Remove and return the progress and events that handlers reported."""
        taken, self._messages = self._messages, []
        return taken

    def next_time(self) -> float:
        """Return the monotonic time at which `watch` must run again if nothing arrives before."""
        times = [attempt.claimed_at + PATIENCE_SECONDS for attempt in self._waiting]
        for slot in self.slots:
            times.append(slot.next_time())
            if slot.held > 1 and slot.current:
                times.append(slot.current.begun_at + SLOW_SECONDS)
        return min(times, default=math.inf)

    def beginning_last_attempts(self) -> list[Attempt]:
        """Return last attempts about to begin whose beginning is not yet recorded."""
        room = max(0, sum(slot.is_free for slot in self.slots.open) - len(self._hooks))
        kept = self.slots.kept is not None and self.slots.kept.is_free
        urgent = [each for each in self.waiting[room:] if each.spec.urgent]
        return [x for x in (*self.waiting[:room], *urgent[:kept]) if x.is_last and not x.may_begin]

    def kill_all(self) -> list[Attempt]:
        """Kill every child; return the attempts that had not ended."""
        held = list(self.held())
        for slot in self.slots:
            slot.kill(EndReason.SHUTDOWN)
        self.fork_server.close()
        return held

    def close(self) -> None:
        """End every child; wait until they are gone."""
        for slot in self.slots:
            slot.close()
        self.fork_server.close()

    def _ahead(self) -> int:
        return min(MOST_AHEAD, int(AHEAD_SECONDS / max(self._pace_seconds, 1e-6)))

    def _take_back(self, slot: Slot) -> None:
        self._waiting.extendleft(reversed(slot.take_back()))

    def _end(self, slot: Slot, reason: EndReason, now: float) -> None:
        self._take_back(slot)
        slot.end(reason, now)

    def _cancel(self, task_ids: Iterable[str], now: float) -> None:
        for task_id in set(task_ids):
            for slot in self.slots:
                if slot.held > 1 and any(x.task_id == task_id for x in slot.attempts):
                    self._take_back(slot)
                first = slot.current
                if first and first.task_id == task_id and not first.end_reason:
                    self._end(slot, EndReason.CANCELLED, now)
            for attempt in [each for each in self._waiting if each.task_id == task_id]:
                self._waiting.remove(attempt)
                self._results.append((attempt, attempt.cancelled(self.worker)))

    def _handle_message(self, slot: Slot, line: list[Any], now: float) -> None:
        verb, task_id, *rest = line
        first = slot.current
        if verb == "hooked":
            slot.note_hooks_called()
        elif first is None or first.task_id != task_id:
            log.error("a child reported on %s, which it is not running", task_id)
        elif verb in ("done", "fail"):
            self._finish(slot.finish_current(now), verb, *rest)
        else:
            kind, ours = "progress" if verb == "progress" else "emitted", first.number
            self._messages.append({"id": task_id, "attempt": ours, "kind": kind, "data": rest[0]})

    def _finish(self, attempt: Attempt, verb: str, seconds: float, report: Any) -> None:
        self._pace_seconds += SMOOTHING * (seconds - self._pace_seconds)
        if attempt.is_lost:
            return
        if attempt.end_reason is EndReason.TIMED_OUT:
            result = attempt.timed_out(seconds, self.worker)
        elif verb == "done":
            result = attempt.succeeded(seconds, report, self.worker)
        else:
            result = attempt.failed(report, seconds, self.worker)
        self._results.append((attempt, result))

    def _reap(self, slot: Slot, code: int, now: float) -> None:
        """Requeue attempts that a dead child had not begun; record how its current one ended."""
        for line in slot.receive():
            self._handle_message(slot, line, now)
        self._take_back(slot)
        if bystander := slot.take_newer_attempt():
            self._waiting.appendleft(bystander)
        elif attempt := slot.current:
            seconds = now - attempt.begun_at
            if attempt.end_reason is EndReason.CANCELLED:
                self._results.append((attempt, attempt.cancelled(self.worker)))
            elif attempt.end_reason is EndReason.TIMED_OUT:
                self._finish(attempt, "fail", seconds, None)
            elif not attempt.is_lost:
                about = attempt.log_ids
                log.warning("task %s: its child ended with %s", attempt.task_id, code, extra=about)
                self._results.append((attempt, attempt.died(code, seconds, self.worker)))
            if (
                attempt.is_last
                and attempt.end_reason is not EndReason.CANCELLED
                and not attempt.is_lost
            ):
                self.call_hooks([attempt])
        slot.renew()
