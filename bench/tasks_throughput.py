"""No-op tasks per second through isolated children, compared with Procrastinate in the same run.

    .venv/bin/python bench/tasks_throughput.py [TASKS]

Each task is a row with its events: enqueued, started, succeeded. Time runs from the first start to
the last end by the database's clock, which leaves out the start of processes. Neither side logs.
There are two kinds of type: ordinary ones, like all of the product's, each started in a free child;
and trusted short ones, of which up to 250 queue at a child. Goals of the latter, on two cores:
3,000 a second with one worker process, 5,000 with two.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import harness

TASKS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
GOALS = {1: 3_000, 2: 5_000}
KINDS = {"bench.noop": "plain tasks", "bench.trusted": "trusted short tasks"}


def main() -> None:
    harness.start()
    theirs = procrastinate(TASKS // 10)
    for type_key, kind in KINDS.items():
        for workers, goal in GOALS.items():
            ours = engine(workers, type_key)
            wanted = f" (goal {goal:,})" if type_key == "bench.trusted" else ""
            print(
                f"{kind}, {workers} worker(s): {ours:,.0f}/s{wanted}, {ours / theirs:.1f} x"
                f" Procrastinate's {theirs:,.0f}/s (goal 15 x)"
            )
    harness.print_load()


def engine(workers: int, type_key: str) -> float:
    """Measure our tasks per second."""
    from tasks.enqueue import NewTask, enqueue_many

    execute("TRUNCATE tasks_task, tasks_taskevent")
    for start in range(0, TASKS, 1000):
        enqueue_many([NewTask(type_key, {"n": start + n}) for n in range(1000)])
    execute("VACUUM ANALYZE tasks_task")
    started = [run("manage.py", "run_tasks", "--slots", "2") for _ in range(workers)]
    done = "SELECT count(*) FROM tasks_task WHERE status = 'SUCCEEDED'"
    wait_until(done, TASKS)
    stop(started)
    return TASKS / value(
        "SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 FROM tasks_task"
    )


def procrastinate(count: int) -> float:
    """Measure Procrastinate's tasks per second, with one worker process running ten at a time."""
    import procrastinate_noop
    from procrastinate.contrib.django.models import ProcrastinateJob

    procrastinate_noop.noop.configure().batch_defer(*[{"n": n} for n in range(count)])
    worker = run("manage.py", "procrastinate", "worker", "-c", "10")
    wait_until("SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'", count)
    stop([worker])
    assert ProcrastinateJob.objects.filter(status="succeeded").count() == count
    return count / value(
        "SELECT extract(epoch FROM max(at) - min(at))::float8 FROM procrastinate_events"
        " WHERE type IN ('started', 'succeeded')"
    )


def run(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *command], cwd=harness.ROOT)


def stop(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for process in processes:
        process.wait(60)


def wait_until(statement: str, wanted: int, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while value(statement) < wanted:
        assert time.monotonic() < end, f"only {value(statement)} of {wanted}"
        time.sleep(0.5)


def execute(statement: str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement)


def value(statement: str) -> float:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


if __name__ == "__main__":
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(harness.ROOT), str(harness.ROOT / "bench")])
    harness.SETTINGS = "tasks_settings"
    main()
