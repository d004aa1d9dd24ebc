"""Lateness of due tasks, and pick-up of a task that is due at once.

    .venv/bin/python bench/tasks_latency.py [TASKS]

Times are the database's: from `run_after` to the `started` event of a run. Handlers begin about a
millisecond later. Goals: lateness p99 100 ms; pick-up p99 50 ms.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import harness

TASKS = int(sys.argv[1]) if len(sys.argv) > 1 else 500
LATENESS = (
    "SELECT 1000 * extract(epoch FROM started_at - run_after)::float8 FROM tasks_task"
    " WHERE status = 'SUCCEEDED' ORDER BY 1"
)


def main() -> None:
    harness.start()
    worker = subprocess.Popen(
        [sys.executable, "manage.py", "run_tasks", "--slots", "2"], cwd=harness.ROOT
    )
    try:
        late()
        pick_up()
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)
    harness.print_load()


def late() -> None:
    """Measure tasks whose due times are spread over ten seconds."""
    from tasks.enqueue import NewTask, enqueue_many

    clear()
    start = 3.0
    enqueue_many(
        [NewTask("bench.noop", delay_seconds=start + 10 * n / TASKS) for n in range(TASKS)]
    )
    finish(TASKS)
    report("lateness of a due task", numbers(LATENESS), "p99 100 ms")


def pick_up() -> None:
    """Measure single tasks that are due at once, while the worker sleeps."""
    from tasks.enqueue import enqueue

    clear()
    for n in range(TASKS // 5):
        enqueue("bench.noop", {"n": n})
        time.sleep(0.1)
    finish(TASKS // 5)
    report("pick-up of a task due now", numbers(LATENESS), "p99 50 ms")


def clear() -> None:
    finish(None)
    query("TRUNCATE tasks_task, tasks_taskevent")


def finish(count: int | None) -> None:
    """Wait until `count` tasks, or all, have succeeded."""
    left = "SELECT count(*) FROM tasks_task WHERE status <> 'SUCCEEDED'"
    while query(left)[0][0] or (count and query("SELECT count(*) FROM tasks_task")[0][0] < count):
        time.sleep(0.2)


def report(what: str, took: list[float], goal: str) -> None:
    took = sorted(took)
    p50, p99 = took[len(took) // 2], took[min(len(took) - 1, int(len(took) * 0.99))]
    print(f"{what}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, most {took[-1]:.1f} ms (goal {goal})")


def numbers(statement: str) -> list[float]:
    return [row[0] for row in query(statement)]


def query(statement: str) -> list[tuple]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(harness.ROOT), str(harness.ROOT / "bench")])
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    harness.SETTINGS = "tasks_settings"
    main()
