"""The worker: claims tasks, hands them to its children, writes how they ended, keeps its leases.

One thread and one connection. A step does what can be done now; between steps it rests until a
child says something, the database announces something, or the next time comes.
"""

from __future__ import annotations

import logging
import math
import os
import random
import secrets
import signal
import socket
import time
from collections.abc import Collection
from dataclasses import dataclass

from tasks.loop import Rest, run_forever
from tasks.worker.attempt import ENDING, Run
from tasks.worker.chores import Upkeep
from tasks.worker.connection import Unavailable
from tasks.worker.dispatcher import Desk
from tasks.worker.process_group import is_orphan
from tasks.worker.slots import Nursery
from tasks.worker.task_store import Ledger

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
"""The longest rest of a worker with a free slot: what it finds if a NOTIFY was lost."""
SHORTEST_REST_SECONDS = 0.001
REST_WITHOUT_DATABASE_SECONDS = 0.05
BATCH_SECONDS = 0.01
"""How long an end may wait for others, while children are busy."""
FULL_CLAIMS = 3
"""After so many claims in a row that got all they asked for, it need not be woken."""


@dataclass(frozen=True)
class Options:
    """What a worker is told at its start; no queues or types means all."""

    slots: int = 4
    lease_seconds: float = 30.0
    queues: Collection[str] | None = None
    types: Collection[str] | None = None
    drain_seconds: float = 600.0
    poll_seconds: float = POLL_SECONDS


class Worker:
    """One worker process: a desk with slots, a ledger in the database, and the times between."""

    def __init__(self, options: Options) -> None:
        name = f"{socket.gethostname()[:40]}:{os.getpid()}:{secrets.token_hex(3)}"
        self.options = options
        self.desk = Desk(worker=name, slots=options.slots, nursery=Nursery())
        self.ledger = Ledger(self.desk, options)
        self.upkeep = Upkeep(self.ledger)
        self._claim_at = 0.0
        self._beat_at = 0.0
        self._full_claims = 0
        self._is_ending = False

    def run(self) -> None:
        """Work until SIGTERM; then finish what runs. A second SIGTERM gives that back, too."""
        outer = Rest()
        try:
            with outer.listening():
                run_forever(self.step, idle_seconds=self.rest_seconds, sources=self.sources)
                self._drain()
        finally:
            self.desk.close()
            self.ledger.close()

    def step(self) -> int:
        """Do what can be done now; says how much that was."""
        now = time.monotonic()
        if is_orphan():
            os.kill(os.getpid(), signal.SIGTERM)
        done = self.desk.hear(now)
        self.desk.watch(now)
        if self.ledger.is_up:
            try:
                done += self._write(now)
            except Unavailable:
                log.debug("going on without the database for now")
        self.desk.hand_out(time.monotonic())
        return done

    def rest_seconds(self) -> float:
        """How long to rest if nothing happens."""
        now = time.monotonic()
        if not self.ledger.is_up:
            soonest = min(self.ledger.retry_seconds, self.desk.next_time() - now)
            return max(REST_WITHOUT_DATABASE_SECONDS, soonest)
        times = [self._beat_at, self.desk.next_time(), self.upkeep.next_time()]
        if self.desk.ends or self.desk.said:
            times.append(self.ledger.oldest_end + BATCH_SECONDS)
        if self.desk.wanted(now) and not self._is_ending:
            times.append(self._claim_at)
        return max(SHORTEST_REST_SECONDS, min(times) - now)

    def sources(self) -> list[int]:
        """What ends a rest early."""
        database = self.ledger.fileno()
        children = [self.desk.nursery.fileno(), *(slot.fileno() for slot in self.desk.slots)]
        return children if database is None else [database, *children]

    def _write(self, now: float) -> int:
        heard = self.ledger.listen()
        if now >= self._beat_at or "cancel" in heard:
            self._beat_at = now + self.options.lease_seconds / 3
            self.ledger.beat()
        if "work" in heard:
            self._claim_at = 0.0
        done = self.ledger.flush(now, wait_seconds=0.0 if self.desk.wanted(now) else BATCH_SECONDS)
        if not self._is_ending:
            done += self._claim(now)
            self.upkeep.run(now)
            self.ledger.begin(self.desk.last_attempts())
        self.ledger.give_back(self.desk.too_long_waiting(time.monotonic()))
        return done

    def _claim(self, now: float) -> int:
        wanted = self.desk.wanted(now)
        if not wanted or now < self._claim_at:
            return 0
        claimed, seen = self.ledger.claim(wanted)
        self._full_claims = self._full_claims + 1 if claimed == wanted else 0
        if claimed == wanted:
            if self._full_claims >= FULL_CLAIMS:
                self.ledger.doze(sleeping=False)
            self._claim_at = 0.0
        elif seen > claimed:  # others were taking them
            self._claim_at = now + random.uniform(0.001, 0.01)  # noqa: S311 -- no secret
        elif self.ledger.doze(sleeping=True):
            self._claim_at = 0.0  # look once more, now that we would be woken
        else:
            self._claim_at = now + min(self.options.poll_seconds, self.ledger.seconds_until_due())
        return claimed

    def _drain(self) -> None:
        """Give back what was not begun, then finish the rest, until it is done or we must go."""
        self._is_ending = True
        waiting = [run for slot in self.desk.slots for run in slot.take_back()]
        waiting += self.desk.waiting
        self.desk.waiting.clear()
        log.info("ending: %s given back, finishing the others", len(waiting))
        deadline = time.monotonic() + self.options.drain_seconds
        second = Rest()
        with second.listening():
            while not second.stopped and time.monotonic() < deadline:
                self._step_of_the_end(waiting)
                if self.desk.is_idle and not self.desk.ends and not waiting:
                    break
                second.for_seconds(min(self.rest_seconds(), 0.2), *self.sources())
        self._leave()

    def _step_of_the_end(self, waiting: list[Run]) -> None:
        try:
            if waiting and self.ledger.is_up:
                self.ledger.give_back(waiting)
                waiting.clear()
            self.step()
            self.ledger.flush(math.inf, wait_seconds=0.0)
        except Unavailable:
            log.debug("ending without the database for now")

    def _leave(self) -> None:
        """Kill what still runs and give it back; say goodbye."""
        left = list(self.desk.held())
        for slot in self.desk.slots:
            if slot.runs:
                slot.runs[0].why = ENDING
                slot.signal(signal.SIGKILL)
        self.desk.nursery.close()
        try:
            self.ledger.flush(math.inf, wait_seconds=0.0)
            self.ledger.give_back(left)
            self.ledger.say_goodbye()
        except Unavailable:
            log.warning("the database is away: the leases of %s tasks will expire", len(left))
