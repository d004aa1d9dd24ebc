"""kill -9 of workers with the default lease: time until the last of their tasks runs again.

    .venv/bin/python bench/tasks_killed.py [WORKERS TO KILL]

The workers are killed at once while they and one other are busy with slow tasks and with short
ones, which queue at warm children. Goals: every task that they had starts again within the lease
(30 s) plus 5 s; none is lost; none is acknowledged twice. Exits with 1 otherwise.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import harness

VICTIMS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
SHORT, SLOW = 30_000, 40
LEASE_SECONDS, GOAL_SECONDS = 30.0, 35.0

HELD = "SELECT count(*) FROM tasks_task WHERE status = 'RUNNING'"
LEFT = "SELECT count(*) FROM tasks_task WHERE status <> 'SUCCEEDED'"
# The product's own tasks, such as the upkeep, run too and are not counted.
SUCCEEDED = """
SELECT task_id FROM tasks_taskevent said
JOIN tasks_task task ON task.id = said.task_id JOIN tasks_tasktype kind ON kind.id = task.type_id
WHERE said.kind = 'succeeded' AND kind.key LIKE 'bench.%' GROUP BY task_id
"""
AGAIN = """
SELECT count(*), min(late), max(late) FROM (
    SELECT extract(epoch FROM min(again.at) - %s)::float8 AS late FROM tasks_taskevent lost
    JOIN tasks_taskevent again ON again.task_id = lost.task_id AND again.kind = 'started'
     AND again.attempt = lost.attempt + 1
    WHERE lost.kind = 'lease_lost' GROUP BY lost.task_id) x
"""


def main() -> None:
    harness.start()
    harness.execute("CREATE TABLE bench_marks (task uuid, attempt int)")
    workers = [start_worker() for _ in range(VICTIMS + 1)]
    try:
        wait_until(lambda: value("SELECT count(*) FROM tasks_taskworker") > VICTIMS)
        enqueue()
        wait_until(lambda: value("SELECT count(*) FROM bench_marks") > SHORT / 10)
        killed_at, held = kill(workers[:VICTIMS])
        wait_until(lambda: value(LEFT) == 0)
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
            worker.wait(60)
    sys.exit(not judge(killed_at, held))


def enqueue() -> None:
    """Enqueue short tasks, and slow ones that sleep for two seconds."""
    from tasks.enqueue import NewTask, enqueue_many

    slow = {"then": "good", "seconds": 2}
    enqueue_many([NewTask("bench.slow", slow, priority=1) for _ in range(SLOW)])
    short = {"then": "good", "seconds": 0.0005}
    for _ in range(SHORT // 1000):
        enqueue_many([NewTask("bench.mixed", short) for _ in range(1000)])


def kill(victims: list[subprocess.Popen[bytes]]) -> tuple[object, int]:
    """Kill workers at once; return the database's time and the number of tasks they had."""
    for victim in victims:
        victim.kill()
    [(now,)] = harness.execute("SELECT clock_timestamp()")
    names = [f":{victim.pid}:" for victim in victims]
    time.sleep(0.5)  # until everything they sent is written
    held = sum(value(f"{HELD} AND worker LIKE '%{name}%'") for name in names)
    return now, held


def judge(killed_at: object, held: int) -> bool:
    """Print the outcome of the tasks; tell whether the goals are met."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(AGAIN, [killed_at])
        again, first, last = cursor.fetchone()
    twice = value(f"SELECT count(*) FROM ({SUCCEEDED} HAVING count(*) > 1) x")
    ended = value(f"SELECT count(*) FROM ({SUCCEEDED}) x")
    print(f"{VICTIMS} workers killed with {held} tasks; {again} leases expired")
    print(f"started again {first:.1f} to {last:.1f} s after the kill (goal {GOAL_SECONDS:.0f} s)")
    print(f"{ended:,} of {SHORT + SLOW:,} tasks succeeded (goal all), {twice} twice (goal 0)")
    harness.print_load()
    return bool(
        held and again == held and last <= GOAL_SECONDS and ended == SHORT + SLOW and not twice
    )


def start_worker() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "run_tasks", "--slots", "2"],
        cwd=harness.ROOT,
        stderr=subprocess.DEVNULL,
    )


def wait_until(what: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.2)


def value(statement: str) -> int:
    return int(harness.execute(statement.replace("%", "%%"))[0][0])


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(harness.ROOT), str(harness.ROOT / "bench")])
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    harness.SETTINGS = "tasks_settings"
    main()
