"""A worker's desk: which run waits, which child has which, and what becomes of each.

It knows no database. What it has to tell lies in `ends` and `said`, for the worker to write.

A run may wait at the desk, or, if its type is `trusted_short`, behind another one at a warm child;
as many as the children have lately finished in 40 ms. None of this changes what a task's owner
sees: a waiting run is cancelled at once, its lease is renewed, it counts for its type's cap, a
child's death is the fault of the run that it was at, and what waits for longer than half a second
goes back to the others, its attempt uncounted. A more urgent task waits for what the children
have, so for 40 ms.
"""

from __future__ import annotations

import logging
import math
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from tasks.worker import termination
from tasks.worker.attempt import CANCELLED, LOST, TIMED_OUT, Run
from tasks.worker.slots import Nursery, Slot

log = logging.getLogger(__name__)

AHEAD_SECONDS = 0.04
MOST_AHEAD = 64
SLOW_SECONDS = 0.05
"""A run that takes longer lets those behind it go to other children."""
PATIENCE_SECONDS = 0.5
SMOOTHING = 0.05


class Desk:
    """Slots with their children, and the runs on their way through them."""

    def __init__(self, *, worker: str, slots: int, nursery: Nursery) -> None:
        self.worker = worker
        self.nursery = nursery
        self.slots = [Slot(nursery) for _ in range(slots)]
        self.waiting: deque[Run] = deque()
        self.ends: list[tuple[Run, dict[str, Any]]] = []
        self.said: list[dict[str, Any]] = []
        self.hooks: deque[Run] = deque()
        self._pace_seconds = 1.0

    def held(self) -> Iterator[Run]:
        """Every claimed run that has not ended."""
        yield from self.waiting
        for slot in self.slots:
            yield from slot.runs

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs and nothing waits."""
        return not self.waiting and not self.hooks and all(slot.is_free for slot in self.slots)

    def wanted(self, now: float) -> int:
        """How many runs to claim now: one for each slot, and some ahead of short ones."""
        held = len(self.waiting) + sum(len(slot.runs) for slot in self.slots)
        quick = sum(not slot.runs or now - slot.runs[0].begun < SLOW_SECONDS for slot in self.slots)
        most = len(self.slots) + quick * self._ahead()
        return most - held if held <= most // 2 or held < len(self.slots) else 0

    def hand_out(self, now: float) -> None:
        """Give waiting runs to children: to free ones, or to the shortest line of short runs."""
        while self.hooks and (slot := self._free()):
            slot.give_hooks(self.hooks.popleft())
        for _ in range(len(self.waiting)):
            run = self.waiting.popleft()
            slot = self._slot_for(run)
            if slot is None or not slot.give(run, now):
                self.waiting.append(run)

    def hear(self, now: float) -> int:
        """Take in what the children said, and bury those that ended; says how much that was."""
        lines = 0
        for slot in self.slots:
            for line in slot.hear():
                lines += 1
                self._heard(slot, line, now)
        ended = dict(self.nursery.ended())
        for slot in self.slots:
            if slot.number in ended:
                self._bury(slot, ended[slot.number], now)
        return lines + len(ended)

    def watch(self, now: float) -> None:
        """End what has run too long or was lost; free what waits behind something slow."""
        for run in [run for run in self.waiting if run.lease_ends <= now]:
            self.waiting.remove(run)
        for slot in self.slots:
            if not slot.runs:
                continue
            first = slot.runs[0]
            if len(slot.runs) > 1 and (first.why or now - first.begun > SLOW_SECONDS):
                self.waiting.extendleft(reversed(slot.take_back()))
            if first.lease_ends <= now and first.why != LOST:
                termination.lose(slot)
            elif not first.why and now - first.begun > first.kind.timeout_seconds:
                self.end(slot, TIMED_OUT, now)
            elif first.why:
                termination.insist(slot, now)

    def too_long_waiting(self, now: float) -> list[Run]:
        """Runs that should rather be had by others; they are taken off the desk."""
        late = [run for run in self.waiting if now - run.claimed > PATIENCE_SECONDS]
        for run in late:
            self.waiting.remove(run)
            self._pace_seconds = 1.0  # claim no more ahead before runs are short again
        return late

    def cancel(self, names: Iterable[str], now: float) -> None:
        """End these runs because somebody cancelled them; a waiting one at once."""
        for name in set(names):
            for slot in self.slots:
                if len(slot.runs) > 1 and any(run.id == name for run in slot.runs):
                    self.waiting.extendleft(reversed(slot.take_back()))
                if slot.runs and slot.runs[0].id == name and not slot.runs[0].why:
                    self.end(slot, CANCELLED, now)
            for run in [run for run in self.waiting if run.id == name]:
                self.waiting.remove(run)
                self.ends.append((run, run.cancelled(self.worker)))

    def lose(self, lost: Iterable[Run]) -> None:
        """Somebody else has these now: forget those that wait, kill the child that has one."""
        for run in lost:
            log.warning("task %s: the lease of attempt %s is lost", run.id, run.attempt)
            if run in self.waiting:
                self.waiting.remove(run)
            for slot in self.slots:
                if run in slot.runs:
                    self.waiting.extendleft(
                        reversed([back for back in slot.take_back() if back is not run])
                    )
                    if slot.runs and slot.runs[0] is run:
                        termination.lose(slot)

    def end(self, slot: Slot, why: str, now: float) -> None:
        """Ask a slot's child to end its run; what waits behind it is taken back first."""
        self.waiting.extendleft(reversed(slot.take_back()))
        termination.ask(slot, why, now)

    def next_time(self) -> float:
        """When `watch` has to look again, if nothing is said before; monotonic."""
        times = [run.claimed + PATIENCE_SECONDS for run in self.waiting]
        for slot in self.slots:
            if slot.runs:
                first = slot.runs[0]
                times.append(first.lease_ends if first.why != LOST else math.inf)
                times.append(termination.next_step(first))
                if len(slot.runs) > 1:
                    times.append(first.begun + SLOW_SECONDS)
        return min(times, default=math.inf)

    def close(self) -> None:
        """End every child; waits until they are gone."""
        for slot in self.slots:
            slot.close()
        self.nursery.close()

    def last_attempts(self) -> list[Run]:
        """Those to which a free child will come now, and whose beginning nobody knows of yet."""
        free = sum(slot.is_free for slot in self.slots) - len(self.hooks)
        return [r for r in list(self.waiting)[: max(0, free)] if r.is_last and not r.may_begin]

    def _slot_for(self, run: Run) -> Slot | None:
        """A last attempt gets a free child or none: behind another run it might never begin."""
        if run.is_last:
            return self._free() if run.may_begin else None
        return self._free() or (self._shortest() if run.kind.trusted_short else None)

    def _free(self) -> Slot | None:
        return next((slot for slot in self.slots if slot.is_free), None)

    def _shortest(self) -> Slot | None:
        most = 1 + self._ahead()
        fit = [
            slot
            for slot in self.slots
            if not slot.hooks
            and not slot.is_leaving
            and len(slot.runs) < most
            and all(run.kind.trusted_short for run in slot.runs)
        ]
        return min(fit, key=lambda slot: len(slot.runs), default=None)

    def _ahead(self) -> int:
        return min(MOST_AHEAD, int(AHEAD_SECONDS / max(self._pace_seconds, 1e-6)))

    def _heard(self, slot: Slot, line: list[Any], now: float) -> None:
        what, name, *rest = line
        if what == "hooked":
            slot.hooks = max(0, slot.hooks - 1)
        elif not slot.runs or slot.runs[0].id != name:
            log.error("a child told of %s, which it does not have", name)
        elif what in ("done", "fail"):
            self._answered(slot.answered(now), what, *rest)
        else:
            run = slot.runs[0]
            kind, data = ("progress", rest[0]) if what == "progress" else ("emitted", rest[0])
            self.said.append({"id": name, "attempt": run.attempt, "kind": kind, "data": data})

    def _answered(self, run: Run, what: str, seconds: float, told: Any) -> None:
        self._pace_seconds += SMOOTHING * (seconds - self._pace_seconds)
        if run.why == LOST:
            return
        if run.why == TIMED_OUT:
            message = f"the run took longer than {run.kind.timeout_seconds:g} seconds"
            end = run.fell("TimedOut", message, seconds, self.worker)
        elif what == "done":
            end = run.succeeded(seconds, told, self.worker)
        else:
            end = run.failed(told, seconds, self.worker)
        self.ends.append((run, end))

    def _bury(self, slot: Slot, code: int, now: float) -> None:
        for line in slot.hear():
            self._heard(slot, line, now)
        slot.take_back_all(self.waiting)
        if slot.runs and slot.condemned not in (None, slot.runs[0]):
            self.waiting.appendleft(slot.innocent())  # it had just moved on from the other one
        elif slot.runs:
            self._fell(slot.runs[0], code, now)
        slot.renew()

    def _fell(self, run: Run, code: int, now: float) -> None:
        seconds = now - run.begun
        if run.why == CANCELLED:
            self.ends.append((run, run.cancelled(self.worker)))
        elif run.why == TIMED_OUT:
            self._answered(run, "fail", seconds, None)
            self._call_hooks_if_dead(run)
        elif run.why != LOST:
            log.warning("task %s: its child ended with %s", run.id, code)
            message = f"the child ended with {_told(code)}"
            self.ends.append((run, run.fell("ChildDied", message, seconds, self.worker)))
            self._call_hooks_if_dead(run)

    def _call_hooks_if_dead(self, run: Run) -> None:
        hooks = run.kind.hooks
        if run.attempt >= run.max_attempts and (hooks.on_fail or hooks.on_end):
            self.hooks.append(run)


def _told(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
