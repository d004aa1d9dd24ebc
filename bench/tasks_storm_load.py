"""Load of the storm: enqueue, cancel, pause, kill, stop, deploy, and crash the database."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import harness

LEASE_SECONDS = 5
ASLEEP_SECONDS = LEASE_SECONDS + 3
SCHEDULES, MISSED_MINUTES = 5, 60
FUTURE_SECONDS = 86_400
LOG = harness.ROOT / ".local" / "tasks_storm.log"

# Of a thousand tasks: how many of each type, and their behaviour.
KINDS = [
    (10, "bench.mixed", {"then": "poison"}),
    (10, "bench.mixed", {"then": "hog"}),
    (10, "bench.mixed", {"then": "fail"}),
    (20, "bench.capped", {"then": "good", "seconds": 0.005}),
    (20, "bench.paused", {"then": "good"}),
    (2, "bench.slow", {"then": "good", "seconds": 0.5}),
    (1, "bench.slow", {"then": "stubborn", "seconds": 3}),
    (1, "bench.mixed", {"then": "future"}),
]
_table = [(key, payload) for times, key, payload in KINDS for _ in range(times)]
_table += [("bench.mixed", {"then": "good"})] * (1000 - len(_table))
RUNNING = (
    "SELECT t.id FROM tasks_task t JOIN tasks_tasktype k ON k.id = t.type_id"
    " WHERE k.key = 'bench.slow' AND t.status = 'RUNNING' AND random() < 0.3 LIMIT 1"
)
CANCELLED_OF = {"bench.slow": 0.5, "bench.paused": 0.2, "bench.mixed": 0.005}


class Storm:
    """Storm, with its records of enqueued and cancelled tasks and of pauses."""

    def __init__(self, seconds: float, rate: int, workers: int, cluster: Any) -> None:
        self._seconds, self._rate, self._cluster = seconds, rate, cluster
        self._log = LOG.open("wb")
        self.enqueued: list[UUID] = []
        self.cancelled: list[UUID] = []
        self.pauses: list[tuple[Any, Any]] = []
        self.done: Counter[str] = Counter()
        self._paused_at: Any = None
        self._to_wake: list[subprocess.Popen[bytes]] = []
        self._leaving: list[subprocess.Popen[bytes]] = []
        make_schedules()
        self._workers = [self._start() for _ in range(workers)]

    def run(self) -> None:
        """Enqueue at the rate, and trigger each incident at its time."""
        start, count = time.monotonic(), 0
        happenings = self._happenings()
        at, happen = next(happenings)
        while (past := time.monotonic() - start) < self._seconds:
            if due := min(1000, int(past * self._rate) - count):
                self._enqueue(due)
                count += due
            while past >= at:
                happen()
                at, happen = next(happenings)
            time.sleep(0.05)
        took = time.monotonic() - start
        print(f"{len(self.enqueued):,} enqueued in {took:.0f} s (asked for {self._rate}/s)")
        print("  " + ", ".join(f"{times} x {what}" for what, times in sorted(self.done.items())))

    def calm_down(self) -> None:
        """Resume stopped workers and paused types; workers continue."""
        self._wake()
        self._resume()

    def end(self) -> None:
        """End every worker."""
        self._wake()
        for worker in [*self._workers, *self._leaving]:
            worker.send_signal(signal.SIGTERM)
        for worker in [*self._workers, *self._leaving]:
            worker.wait(120)

    def _happenings(self) -> Iterator[tuple[float, Callable[[], None]]]:
        """Iterate without end over the incidents in order of time: a kill every 20 s, and so on."""
        rhythms = {self._kill: (15, 20), self._stop: (4, 20), self._deploy: (9, 20)}
        times = [
            (first + n * every, what)
            for what, (first, every) in rhythms.items()
            for n in range(10_000)
        ]
        times += [
            (first + ASLEEP_SECONDS, self._wake) for first, what in times if what == self._stop
        ]
        times += [(n * 0.5, self._cancel_some) for n in range(2, 100_000)]
        times += [(3 + n * 10, self._pause) for n in range(10_000)]
        times += [(8 + n * 10, self._resume) for n in range(10_000)]
        times.append((self._seconds / 2, self._crash_the_database))
        yield from sorted(times, key=lambda entry: entry[0])

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, *"manage.py run_tasks --slots 2 --lease".split(), str(LEASE_SECONDS)],
            cwd=harness.ROOT,
            stderr=self._log,
            stdout=self._log,
        )

    def _enqueue(self, count: int) -> None:
        from django.db import Error, connection

        from tasks.enqueue import NewTask, enqueue_many

        tasks = [
            NewTask(
                key,
                payload,
                delay_seconds=FUTURE_SECONDS if payload["then"] == "future" else 0.0,
                max_attempts=20 if payload["then"] in ("good", "fail", "stubborn") else None,
                priority=random.randint(-1, 1),
            )
            for key, payload in random.choices(_table, k=count)
        ]
        try:
            made = [found.id for found in enqueue_many(tasks)]
        except Error:  # the database is unavailable: whether they were written is unknown
            connection.close()
            self.done["refused batch"] += 1
            return
        self.enqueued += made
        self._may_cancel = [
            name
            for name, task in zip(made, tasks, strict=True)
            if random.random() < CANCELLED_OF.get(task.key, 0)
        ][:20]

    _may_cancel: list[UUID] = []

    def _cancel_some(self) -> None:
        from tasks.control import cancel
        from tasks.errors import WrongStatus

        with self._database():
            running = [name for (name,) in harness.execute(RUNNING)]
            for name in self._may_cancel + running:
                with contextlib.suppress(WrongStatus):
                    cancel(name, actor="storm")
                    self.cancelled.append(name)
                    self.done["cancel"] += 1
        self._may_cancel = []

    def _pause(self) -> None:
        from tasks.control import pause

        with self._database():
            pause("bench.paused", actor="storm")
            self._paused_at = harness.execute("SELECT clock_timestamp()")[0][0]
            self.done["pause"] += 1

    def _resume(self) -> None:
        from tasks.control import resume

        with self._database():
            if self._paused_at:
                until = harness.execute("SELECT clock_timestamp()")[0][0]
                self.pauses.append((self._paused_at, until))
                self._paused_at = None
            resume("bench.paused", actor="storm")

    def _kill(self) -> None:
        victim = self._replaced()
        victim.kill()
        victim.wait()
        self.done["kill -9"] += 1

    def _deploy(self) -> None:
        leaving = self._replaced()
        leaving.send_signal(signal.SIGTERM)
        self._leaving.append(leaving)
        self.done["SIGTERM"] += 1

    def _replaced(self) -> subprocess.Popen[bytes]:
        awake = [n for n, worker in enumerate(self._workers) if worker not in self._to_wake]
        place = random.choice(awake)
        worker, self._workers[place] = self._workers[place], self._start()
        return worker

    def _stop(self) -> None:
        worker = random.choice(self._workers)
        worker.send_signal(signal.SIGSTOP)
        self._to_wake.append(worker)
        self.done["SIGSTOP past the lease"] += 1

    def _wake(self) -> None:
        while self._to_wake:
            self._to_wake.pop().send_signal(signal.SIGCONT)

    def _crash_the_database(self) -> None:
        """Record the acknowledged tasks, then crash the database as a power failure would."""
        harness.execute(
            "CREATE TABLE bench_before AS SELECT id, finished_at FROM tasks_task"
            " WHERE status = 'SUCCEEDED'"
        )
        server = self._cluster.server
        pid = int((server.data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.05)
        self._cluster.ensure()
        self.done["crash of PostgreSQL"] += 1

    @contextlib.contextmanager
    def _database(self) -> Iterator[None]:
        from django.db import Error, connection

        try:
            yield
        except Error:
            connection.close()
            self.done["refused statement"] += 1


def make_schedules() -> None:
    """Create schedules for every minute that have missed an hour and must make it up."""
    from datetime import timedelta

    from tasks.models import Schedule
    from tasks.scheduling import schedules

    for n in range(SCHEDULES):
        made = schedules.create(
            name=f"every minute {n}",
            cron="* * * * *",
            type_key="bench.tick",
            payload={"then": "good"},
            catch_up=True,
        )
        missed = made.next_at - timedelta(minutes=MISSED_MINUTES)
        Schedule.objects.filter(id=made.id).update(next_at=missed)
