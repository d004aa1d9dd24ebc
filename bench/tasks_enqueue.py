"""Enqueueing: time of one task, rate in batches, and where the time goes.

    .venv/bin/python bench/tasks_enqueue.py [TASKS]

Four ways alternate within one run, so that all meet the same disk: our `enqueue` in a transaction;
our statement alone, with parameters made in advance; a bare INSERT of an id into a one-column
table, which is the least that a commit costs here; and Procrastinate's `defer`. Goals: p50 2 ms and
p99 6 ms in a transaction; batches of 100 at 15,000 tasks a second, of 1,000 at 50,000.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import harness

TASKS = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
GOALS = {100: 15_000, 1_000: 50_000}  # by the size of a batch
BARE = "INSERT INTO bench_floor (id) VALUES (gen_random_uuid())"


def main() -> None:
    harness.start()
    harness.execute("CREATE TABLE bench_floor (id uuid)")
    singles()
    for size, goal in GOALS.items():
        batches(size, goal, count=max(20, 5 * TASKS // size))
    harness.print_load()


def singles() -> None:
    """Enqueue one task per transaction in each way; half the rounds do not wait for the disk."""
    import procrastinate_noop

    from tasks.enqueue import enqueue

    ways: dict[str, Callable[[], Any]] = {
        "enqueue (goal p50 2, p99 6)": lambda: enqueue("bench.noop", {"n": 1}),
        "  the statement alone": lambda: statement(made(1)),
        "  the same, prepared": lambda: prepared(made(1)),
        "  floor: a bare INSERT": lambda: harness.execute(BARE),
        "Procrastinate's defer": lambda: procrastinate_noop.noop.defer(n=1),
    }
    for durable in ("on", "off"):
        harness.execute(f"SET synchronous_commit = {durable}")
        took: dict[str, list[float]] = {way: [] for way in ways}
        for n in range(TASKS + 50):
            for way, call in ways.items():
                took[way].append(1000 * timed(call, in_transaction=True))
                if n < 50:
                    took[way].clear()  # warm up
        print(f"one task in a transaction, ms, synchronous_commit = {durable}")
        for way, times in took.items():
            p50, p90, p99 = (harness.percentile(times, share) for share in (0.5, 0.9, 0.99))
            print(f"  {way:30} p50 {p50:6.2f}  p90 {p90:6.2f}  p99 {p99:6.2f}")
    harness.execute("SET synchronous_commit = on")


def batches(size: int, goal: int, *, count: int) -> None:
    """Enqueue batches of this size in each way."""
    import procrastinate_noop

    from tasks.enqueue import NewTask, enqueue_many, enqueue_parameter

    tasks = [NewTask("bench.noop", {"n": n}) for n in range(size)]
    theirs = [{"n": n} for n in range(size)]
    ways: dict[str, Callable[[], Any]] = {
        f"enqueue_many (goal {goal:,})": lambda: enqueue_many(tasks),
        "  columns as JSON, without database": lambda: enqueue_parameter(tasks),
        "  the statement alone": lambda: statement(parameters.pop()),
        "  the same, prepared": lambda: prepared(parameters.pop()),
        "  floor: a bare INSERT of as many": lambda: harness.execute(
            BARE.replace("VALUES (gen_random_uuid())", f"SELECT gen_random_uuid() FROM"
                         f" generate_series(1, {size})")
        ),
        "Procrastinate's batch_defer": lambda: procrastinate_noop.noop.batch_defer(*theirs),
    }  # fmt: skip
    parameters = [made(size) for _ in range(2 * count)]
    took: dict[str, list[float]] = {way: [] for way in ways}
    cpu: dict[str, float] = dict.fromkeys(ways, 0.0)
    servers: dict[str, float] = dict.fromkeys(ways, 0.0)
    for _ in range(count):
        for way, call in ways.items():
            begun, server = time.process_time(), server_cpu_seconds()
            took[way].append(timed(call, in_transaction=False))
            cpu[way] += time.process_time() - begun
            servers[way] += server_cpu_seconds() - server
    print(f"batches of {size}, tasks a second; µs of CPU a task: this process + its server process")
    for way, times in took.items():
        print(
            f"  {way:36} mean {size * count / sum(times):9,.0f}/s"
            f"  by the median {size / harness.median(times):9,.0f}/s"
            f"  CPU {1e6 * cpu[way] / size / count:5.1f}"
            f" + {1e6 * servers[way] / size / count:5.1f} µs"
        )


def server_cpu_seconds() -> float:
    """Return the CPU time of the PostgreSQL process that serves this one."""
    from django.db import connection

    connection.ensure_connection()
    pid = connection.connection.info.backend_pid
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def timed(call: Callable[[], Any], *, in_transaction: bool) -> float:
    """Return the seconds that a call takes."""
    from django.db import transaction

    start = time.perf_counter()
    with transaction.atomic() if in_transaction else nullcontext():
        call()
    return time.perf_counter() - start


def made(count: int) -> str:
    """Make the parameter for this many tasks."""
    from tasks.enqueue import NewTask, enqueue_parameter

    return enqueue_parameter([NewTask("bench.noop", {"n": n}) for n in range(count)])[0]


def statement(parameter: str) -> None:
    """Run the statement alone: the database's work and the round trip."""
    from django.db import connection

    from tasks.enqueue import ENQUEUE

    with connection.cursor() as cursor:
        cursor.execute(ENQUEUE, {"tasks": parameter})
        cursor.fetchall()


def prepared(parameter: str) -> None:
    """Run the statement prepared: planned once per connection."""
    import psycopg
    from django.db import connection

    from tasks.enqueue import ENQUEUE

    connection.ensure_connection()
    raw = connection.connection
    cursor = psycopg.Cursor(raw)  # Django's cursor sends no prepared statements
    cursor.execute(ENQUEUE, {"tasks": parameter}, prepare=True)
    cursor.fetchall()


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(harness.ROOT), str(harness.ROOT / "bench")])
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    harness.SETTINGS = "tasks_settings"
    main()
