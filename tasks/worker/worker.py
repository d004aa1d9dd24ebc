"""Worker: claims tasks, hands them to its children, writes their results, renews its leases.

It has one thread and one connection. A step does everything that can be done now. Between steps
the worker rests until a child answers, the database announces something, or the next step is due.
"""

from __future__ import annotations

import logging
import math
import os
import random
import secrets
import socket
import time

from tasks.loop import LoopPause, run_forever
from tasks.registry import registered_types
from tasks.worker.chores import Chores
from tasks.worker.connection import Unavailable
from tasks.worker.dispatcher import Dispatcher
from tasks.worker.fork_client import ForkServerClient
from tasks.worker.options import Options
from tasks.worker.task_store import TaskStore

log = logging.getLogger(__name__)

SHORTEST_REST_SECONDS = 0.001
REST_WITHOUT_DATABASE_SECONDS = 0.05
DRAIN_REST_SECONDS = 0.2
# How long results are collected while children are busy, and how many are written at once.
BATCH_SECONDS = 0.01
MOST_RESULTS = 500
# After this many full claims in a row, the worker no longer asks to be woken.
FULL_CLAIMS = 3
# The shortest time between two looks for urgent tasks alone, however often it is woken.
URGENT_REST_SECONDS = 0.1


class Worker:
    """Worker process: its dispatcher, its task store, and the times of its next steps."""

    def __init__(self, options: Options) -> None:
        name = f"{socket.gethostname()[:40]}:{os.getpid()}:{secrets.token_hex(3)}"
        self.options = options
        self.dispatcher = Dispatcher(
            worker=name,
            slots=options.slots,
            fork_server=ForkServerClient(),
            keeps_slot=any(spec.urgent for spec in registered_types()),
        )
        self.store = TaskStore(name, options)
        self.chores = Chores(self.store, self.dispatcher.call_hooks)
        self._claim_at = 0.0
        self._claim_urgent_at = self._urgent_looked = 0.0
        self._renew_at = 0.0
        self._all_written_at = 0.0
        self._full_claims = 0
        self._is_ending = False

    def run(self) -> None:
        """Work until SIGTERM, then finish running tasks. A second SIGTERM returns them instead."""
        outer = LoopPause()
        try:
            with outer.listening():
                run_forever(self.step, idle_seconds=self.rest_seconds, sources=self.sources)
                self._drain()
        finally:
            self.dispatcher.close()
            self.store.connection.close()

    def step(self) -> int:
        """Do everything that can be done now; return how much was done, or 0 to collect more."""
        now = time.monotonic()
        done = self.dispatcher.receive(now)
        self.dispatcher.watch(now)
        if self.store.connection.is_up:
            try:
                done += self._step_with_database(now)
            except Unavailable:
                log.debug("continuing without the database")
        self.dispatcher.hand_out(time.monotonic())
        return 0 if self.dispatcher.collect_seconds() else done

    def rest_seconds(self) -> float:
        """Return the seconds to rest if nothing happens."""
        now = time.monotonic()
        if not self.store.connection.is_up:
            until_step = self.dispatcher.next_time() - now
            soonest = min(self.store.connection.retry_seconds, until_step)
            return max(REST_WITHOUT_DATABASE_SECONDS, soonest)
        times = [self._renew_at, self.dispatcher.next_time(), self.chores.next_time()]
        if self.dispatcher.has_unwritten:
            times.append(self._all_written_at + BATCH_SECONDS)
        if not self._is_ending:
            is_open = self.dispatcher.wanted(now)
            urgent_at = max(self._claim_urgent_at, self.dispatcher.urgent_claim_time())
            times.append(self._claim_at if is_open else urgent_at)
        if collect_seconds := self.dispatcher.collect_seconds():
            times.append(now + collect_seconds)
        return max(SHORTEST_REST_SECONDS, min(times) - now)

    def sources(self) -> list[int]:
        """Return the file descriptors that end a rest early."""
        database = self.store.connection.fileno()
        slots = self.dispatcher.awaited_slots()
        children = [self.dispatcher.fork_server.fileno(), *(slot.fileno() for slot in slots)]
        return children if database is None else [database, *children]

    def _step_with_database(self, now: float) -> int:
        announced = self.store.connection.announced()
        if now >= self._renew_at or "cancel" in announced:
            self._renew_at = now + self.options.lease_seconds / 3
            held = {attempt.task_id: attempt for attempt in self.dispatcher.held()}
            sent = time.monotonic()
            running = sum(slot.current is not None for slot in self.dispatcher.slots)
            alive = self.store.renew_leases(held.values(), running=running)
            self.dispatcher.renew(held, alive, sent=sent, ends=sent + self.options.lease_seconds)
        if "work" in announced:
            self._claim_at = 0.0
            soonest = self._urgent_looked + URGENT_REST_SECONDS
            self._claim_urgent_at = min(self._claim_urgent_at, soonest)
        wait_seconds = 0.0 if self.dispatcher.wanted(now) else BATCH_SECONDS
        done = self._write_results(now, wait_seconds=wait_seconds)
        if not self._is_ending:
            done += self._claim(now)
            self.chores.run(now)
            if beginning := self.dispatcher.beginning_last_attempts():
                self.dispatcher.may_begin(beginning, self.store.mark_begun(beginning))
        if overdue := self.dispatcher.remove_overdue(time.monotonic()):
            self.store.give_back(overdue)
        return done

    def _write_results(self, now: float, *, wait_seconds: float) -> int:
        """Write results and messages once they have waited long enough; count the results."""
        if not self.dispatcher.has_unwritten:
            self._all_written_at = now
            return 0
        is_early = now - self._all_written_at < wait_seconds
        if is_early and len(self.dispatcher.results) < MOST_RESULTS:
            return 0
        self.store.write_messages(self.dispatcher.take_messages())
        results = self.dispatcher.take_results(MOST_RESULTS)
        if results:
            try:
                accepted = self.store.connection.acknowledge([result for _, result in results])
            except BaseException:
                self.dispatcher.put_back_results(results)
                raise
            self.store.announce(results, accepted)
        return len(results)

    def _claim(self, now: float) -> int:
        wanted = self.dispatcher.wanted(now)
        if not wanted:
            return self._claim_urgent(now)
        if now < self._claim_at:
            return 0
        claimed, seen = self.store.claim(wanted)
        self.dispatcher.add(claimed)
        self._full_claims = self._full_claims + 1 if len(claimed) == wanted else 0
        if len(claimed) == wanted:
            if self._full_claims >= FULL_CLAIMS:
                self.store.set_sleeping(sleeping=False)
            self._claim_at = 0.0
        elif seen > len(claimed):  # other workers took some of them
            self._claim_at = now + random.uniform(0.001, 0.01)  # noqa: S311 -- no secret
        elif self.store.set_sleeping(sleeping=True):
            self._claim_at = 0.0  # look again, now that we would be woken
        else:
            self._claim_at = now + min(self.options.poll_seconds, self.store.seconds_until_due())
        return len(claimed)

    def _claim_urgent(self, now: float) -> int:
        """Claim an urgent task for the slot that is kept for one, while long runs hold the rest."""
        if now < max(self._claim_urgent_at, self.dispatcher.urgent_claim_time()):
            return 0
        claimed, seen = self.store.claim(1, only_urgent=True)
        self.dispatcher.add(claimed)
        self._urgent_looked = self._claim_urgent_at = now
        if not claimed and not self.store.set_sleeping(sleeping=True):
            rest = URGENT_REST_SECONDS if seen else self.options.poll_seconds
            self._claim_urgent_at = now + rest
        return len(claimed)

    def _drain(self) -> None:
        """Return tasks that have not begun, then finish the others within the drain time."""
        self._is_ending = True
        waiting = self.dispatcher.remove_waiting()
        log.info("ending: %s returned, finishing the others", len(waiting))
        deadline = time.monotonic() + self.options.drain_seconds
        second = LoopPause()
        with second.listening():
            while not second.stopped and time.monotonic() < deadline:
                try:
                    if waiting and self.store.connection.is_up:
                        self.store.give_back(waiting)
                        waiting.clear()
                    self.step()
                    self._write_results(math.inf, wait_seconds=0.0)
                except Unavailable:
                    log.debug("ending without the database")
                if self.dispatcher.is_idle and not self.dispatcher.results and not waiting:
                    break
                second.for_seconds(min(self.rest_seconds(), DRAIN_REST_SECONDS), *self.sources())
        held = self.dispatcher.kill_all()
        try:
            self._write_results(math.inf, wait_seconds=0.0)
            self.store.give_back(held)
            self.store.sign_off()
        except Unavailable:
            log.warning(
                "the database is unavailable: the leases of %s tasks will expire", len(held)
            )
