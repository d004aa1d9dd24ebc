"""Cost of each guarantee of background work for the database: CPU per task with and without it.

    .venv/bin/python bench/tasks_guarantees.py [ROUNDS]

Each round claims and acknowledges a hundred tasks in each way, in turn, on one connection; what is
compared is the CPU time of the PostgreSQL process behind it, so that a busy machine disturbs all
ways alike. The ways without something are edits of our statements that exist only here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import harness

if TYPE_CHECKING:
    from tasks.worker.task_store import TaskStore

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
SIZE = 100
FENCE = """t.attempt = g.attempt AND t.worker = g.worker
      AND coalesce(t.lease_until IS NOT NULL, false)"""


def main() -> None:
    harness.start()
    from tasks.enqueue import NewTask, enqueue_many
    from tasks.sql import claim
    from tasks.worker import connection
    from tasks.worker.options import Options
    from tasks.worker.task_store import TaskStore

    acknowledge, simple, fair = connection.ACKNOWLEDGE, *(claim.CLAIMS[k, False] for k in (0, 1))
    unfenced = acknowledge.replace(FENCE, "true")
    untallied = acknowledge[: acknowledge.index("), tallied AS")] + _ACKED
    silent = acknowledge[: acknowledge.index("), told AS")] + _ACKED
    without_started = _without_part(simple, "told")
    assert unfenced != acknowledge
    ways = {
        "all, one company": (simple, acknowledge),
        "fairness among companies": (fair, acknowledge),
        "without the fence": (simple, unfenced),
        "without counts for breakers and metrics": (simple, untallied),
        "without these and without events": (without_started, silent),
    }
    store = TaskStore("bench", Options(types={"bench.trusted"}))
    store.connection.rows("SELECT 1")
    count = SIZE * len(ways) * (ROUNDS + 2)
    enqueue_many([NewTask("bench.trusted", {"n": n}) for n in range(count)])
    harness.execute("VACUUM ANALYZE tasks_task")
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(ROUNDS + 2):
        for way, (claiming, acknowledging) in ways.items():
            claim.CLAIMS[False, True] = claim.CLAIMS[True, True] = claiming
            connection.ACKNOWLEDGE = acknowledging
            begun = _cpu_seconds(store)
            attempts, _ = store.claim(SIZE)
            store.connection.acknowledge([x.succeeded(0.01, None, "bench") for x in attempts])
            assert len(attempts) == SIZE
            if number >= 2:  # the first two prepare the statements
                spent[way].append(1e6 * (_cpu_seconds(store) - begun) / SIZE)
    usual = harness.median(spent["all, one company"])
    for way, times in spent.items():
        middle = harness.median(times)
        print(f"{way:42} {middle:6.1f} µs a task, {middle / usual:4.2f} of the first")
    harness.print_load()


_ACKED = ") SELECT id::text, attempt FROM acked"


def _without_part(statement: str, name: str) -> str:
    """Leave out one part of a WITH; it ends at the next one."""
    begin = statement.index(f"), {name} AS (")
    return statement[:begin] + statement[statement.index("), ", begin + 3) :]


def _cpu_seconds(store: TaskStore) -> float:
    [(pid,)] = store.connection.rows("SELECT pg_backend_pid()")
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(harness.ROOT), str(harness.ROOT / "bench")])
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    harness.SETTINGS = "tasks_settings"
    main()
