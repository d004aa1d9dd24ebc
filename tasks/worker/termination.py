"""Ending a run that does not end by itself: ask, wait for the grace, interrupt, at last kill."""

from __future__ import annotations

import math
import signal

from tasks.worker.attempt import LOST, Run
from tasks.worker.slots import Slot

KILL_SECONDS = 2.0
"""Between SIGTERM, which interrupts a handler, and SIGKILL."""


def ask(slot: Slot, why: str, now: float) -> None:
    """Let the handler see that it is cancelled; what waited behind it was taken back before."""
    if slot.runs:
        slot.runs[0].why, slot.runs[0].asked = why, now
        slot.ask_to_end()


def insist(slot: Slot, now: float) -> None:
    """Take the next step against a run that was asked to end, if it is time for it."""
    run = slot.runs[0]
    if run.why == LOST:
        return
    since = now - run.asked
    if since >= run.kind.grace_seconds + KILL_SECONDS:
        run.asked = math.inf
        slot.condemned = run
        slot.signal(signal.SIGKILL)
    elif since >= run.kind.grace_seconds and not run.interrupted:
        run.interrupted = True
        slot.signal(signal.SIGTERM)


def lose(slot: Slot) -> None:
    """Kill a child whose run somebody else may have by now."""
    slot.runs[0].why = LOST
    slot.condemned = slot.runs[0]
    slot.signal(signal.SIGKILL)


def next_step(run: Run) -> float:
    """When the next step against a run is due; monotonic."""
    if run.why == LOST:
        return math.inf
    if not run.why:
        return run.begun + run.kind.timeout_seconds
    return run.asked + run.kind.grace_seconds + (KILL_SECONDS if run.interrupted else 0.0)
