"""Tasks and changes of one job while another session holds a snapshot, against the same without it.

    .venv/bin/python bench/held_snapshot.py [--minutes 10] [--rounds 1]

A dump, a report or a lagging replica with hot_standby_feedback keeps every old row version that is
younger than its snapshot. Each round runs once without such a session and once with one: a worker
runs no-op tasks, and people apply to one job while the earliest leave, so that the next move up.
Changes are timed from the moment they are due, tasks from being due to their start. Goal: p99 at
most 1.2 x that of the control.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from uuid import UUID

import harness

TASKS_AT_ONCE = 25
WAITING = 50
GOAL = 1.2
DEAD = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = '{}'"
PICKED_UP = (
    "SELECT 1000 * extract(epoch FROM started_at - run_after)::float8 FROM tasks_task"
    " WHERE status = 'SUCCEEDED' ORDER BY started_at"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10, help="of each half of a round")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=500, help="a second")
    parser.add_argument("--changes", type=int, default=100, help="a second, of one job")
    options = parser.parse_args()
    harness.start()
    for number in range(options.rounds):
        halves = [False, True] if number % 2 == 0 else [True, False]  # no half is always first
        took = {is_held: _measure(options, is_held=is_held) for is_held in halves}
        for what in ("changes", "tasks"):
            _report(what, took[False][what], took[True][what])
    harness.print_load()


def _measure(options: argparse.Namespace, *, is_held: bool) -> dict[str, list[float]]:
    """Run one half of a round on a fresh job and empty tables of tasks; return milliseconds."""
    seconds = 60 * options.minutes
    job_id = UUID(harness.make_job(capacity=10))
    harness.execute("TRUNCATE tasks_task, tasks_taskevent", "DROP TABLE IF EXISTS bench_people")
    harness.make_people(4 * WAITING + int(seconds * options.changes / 2))
    harness.execute("VACUUM ANALYZE")
    worker = subprocess.Popen(
        [sys.executable, "manage.py", "run_tasks", "--slots", "2"], cwd=harness.ROOT
    )
    try:
        changes = _change_job(job_id)
        for _ in range(3 * WAITING):  # fills the line; the worker starts meanwhile
            next(changes)
        with _snapshot() if is_held else nullcontext():
            enqueueing = threading.Thread(target=_enqueue, args=(options.tasks, seconds))
            enqueueing.start()
            took = _paced(changes, options.changes, seconds)
            enqueueing.join()
            dead = [harness.execute(DEAD.format(each))[0][0] for each in ("jobs_job", "tasks_task")]
        while harness.execute("SELECT count(*) FROM tasks_task WHERE finished_at IS NULL")[0][0]:
            time.sleep(0.2)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)
    held = "held snapshot" if is_held else "no snapshot"
    print(f"{held}: {dead[0]:,} dead rows of jobs and {dead[1]:,} of tasks at the end", flush=True)
    return {"changes": took, "tasks": [row[0] for row in harness.execute(PICKED_UP)]}


def _change_job(job_id: UUID) -> Iterator[None]:
    """Let the next person apply and then the earliest leave, in turn, once the line is full."""
    from pipeline.domain.states import Actor, ActorKind
    from pipeline.services.joining import apply
    from pipeline.services.leaving import withdraw

    actor = Actor(ActorKind.COMPANY)
    people = [row[0] for row in harness.execute("SELECT id FROM bench_people ORDER BY n")]
    line: deque[UUID] = deque()
    for person in people:
        made: Any = apply(job_id=job_id, applicant_id=person, name="Bench", actor=actor)
        line.append(made.id)
        yield
        if len(line) > WAITING:
            withdraw(application_id=line.popleft(), actor=actor)
            yield


def _paced(changes: Iterator[None], rate: int, seconds: float) -> list[float]:
    """Make changes at a rate; return the milliseconds from the moment each was due to its end."""
    took, begun = [], time.perf_counter()
    for number in range(int(rate * seconds)):
        due = begun + number / rate
        time.sleep(max(0.0, due - time.perf_counter()))
        next(changes)
        took.append(1e3 * (time.perf_counter() - due))
    return took


def _enqueue(rate: int, seconds: float) -> None:
    """Enqueue tasks at a rate, in small batches."""
    from django.db import connection

    from tasks.enqueue import NewTask, enqueue_many

    begun = time.perf_counter()
    for number in range(int(rate * seconds / TASKS_AT_ONCE)):
        time.sleep(max(0.0, begun + number * TASKS_AT_ONCE / rate - time.perf_counter()))
        enqueue_many([NewTask("bench.noop", {"n": n}) for n in range(TASKS_AT_ONCE)])
    connection.close()


@contextmanager
def _snapshot() -> Iterator[None]:
    """Hold a snapshot as a dump does."""
    import psycopg
    from django.conf import settings

    host = settings.DATABASES["default"]["HOST"]
    with psycopg.connect(host=host, user="postgres", dbname=harness.DATABASE) as session:
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        session.execute("SELECT count(*) FROM jobs_job")
        yield


def _report(what: str, control: list[float], held: list[float]) -> None:
    """Print both halves, whole and in their last fifth, when most old versions are there."""
    for part, share in (("", 0.0), (", last fifth", 0.8)):
        numbers = [
            (harness.percentile(own, 0.5), harness.percentile(own, 0.99))
            for own in (each[int(share * len(each)) :] for each in (control, held))
        ]
        (p50, p99), (held_p50, held_p99) = numbers
        print(
            f"{what}{part}: p50 {p50:.1f} and {held_p50:.1f} ms with a held snapshot"
            f" ({held_p50 / p50:.2f} x), p99 {p99:.1f} and {held_p99:.1f} ms"
            f" ({held_p99 / p99:.2f} x, goal {GOAL} x)"
        )


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(harness.ROOT), str(harness.ROOT / "bench")])
    harness.SETTINGS = "tasks_settings"
    main()
