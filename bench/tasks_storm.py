"""Mixed load with poison, hogs and kill -9 of workers; at the end everything is counted.

    .venv/bin/python bench/tasks_storm.py [--minutes 5] [--rate 500] [--workers 2] [--kill-every 20]

One task in a hundred kills its child, one wants more memory than it may have, one fails at first.
Each good run leaves a mark in a table, with the id of its task. Afterwards every task must have
succeeded or be dead, none may be acknowledged twice, and no good one may be dead.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time

import harness

POISON, HOG, FAIL = "poison", "hog", "fail"
LEASE_SECONDS = 5


def main() -> None:
    options = arguments()
    harness.start()
    query("CREATE TABLE bench_marks (task uuid, attempt int)")
    query("CREATE INDEX ON bench_marks (task)")
    workers = [start_worker() for _ in range(options.workers)]
    try:
        count = storm(options, workers)
        settle(seconds=120)
        sound = judge(count)
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait(60)
    sys.exit(not sound)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--rate", type=int, default=500, help="tasks a second")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill-every", type=float, default=20, metavar="SECONDS")
    return parser.parse_args()


def start_worker() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "run_tasks", "--slots", "2", "--lease", str(LEASE_SECONDS)],
        cwd=harness.ROOT,
        stderr=subprocess.DEVNULL,
    )


def storm(options: argparse.Namespace, workers: list[subprocess.Popen[bytes]]) -> int:
    """Enqueue at the rate, and kill a worker now and then; says how many were enqueued."""
    from tasks.enqueue import NewTask, enqueue_many

    start, count, kills = time.monotonic(), 0, 0
    next_kill = options.kill_every
    while (past := time.monotonic() - start) < options.minutes * 60:
        due = int(past * options.rate) - count
        if due:
            enqueue_many([NewTask("bench.mixed", payload(count + n)) for n in range(due)])
            count += due
        if past > next_kill:
            next_kill += options.kill_every
            kills += 1
            victim = random.randrange(len(workers))
            workers[victim].kill()
            workers[victim].wait()
            workers[victim] = start_worker()
        time.sleep(0.05)
    print(f"enqueued {count:,} in {options.minutes:g} minutes, with {kills} kills of a worker")
    return count


def payload(n: int) -> dict[str, object]:
    """All of one type, so that its breaker does not keep the bad ones from us."""
    return {"n": n, "then": {0: POISON, 33: HOG, 66: FAIL}.get(n % 100, "good")}


def settle(seconds: float) -> None:
    """Wait until nothing is pending or running."""
    end = time.monotonic() + seconds
    left = "SELECT count(*) FROM tasks_task WHERE status IN ('PENDING', 'RUNNING', 'CANCELLING')"
    while query(left)[0][0] and time.monotonic() < end:
        time.sleep(0.5)


def judge(count: int) -> bool:
    """Count everything; whether all is as it must be."""
    rows = query(
        "SELECT payload ->> 'then', status, count(*), max(attempt) FROM tasks_task"
        " GROUP BY 1, 2 ORDER BY 1, 2"
    )
    for key, status, number, attempts in rows:
        print(f"  {key:18} {status:10} {number:>8,}  most attempts {attempts}")
    expected = {POISON: "DEAD", HOG: "DEAD", FAIL: "SUCCEEDED", "good": "SUCCEEDED"}
    checks = {
        "none is lost": sum(row[2] for row in rows) == count,
        "none is stuck, none is dead that is innocent": all(
            status == expected[key] for key, status, *_ in rows
        ),
        "none is acknowledged twice": not query(
            "SELECT task_id FROM tasks_taskevent WHERE kind = 'succeeded'"
            " GROUP BY 1 HAVING count(*) > 1"
        ),
        "every one that succeeded has run": not query(
            "SELECT 1 FROM tasks_task t WHERE t.status = 'SUCCEEDED' AND NOT EXISTS"
            " (SELECT FROM bench_marks WHERE task = t.id) LIMIT 1"
        ),
    }
    for what, holds in checks.items():
        print(f"  {'yes' if holds else 'NO '}  {what}")
    lost, again = query(
        "SELECT count(*) FILTER (WHERE kind = 'lease_lost'), (SELECT count(*) FROM"
        " (SELECT task FROM bench_marks GROUP BY 1 HAVING count(*) > 1) twice) FROM tasks_taskevent"
    )[0]
    print(f"  {lost} leases of killed workers expired; {again} tasks had run to their end twice")
    return all(checks.values())


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
