"""Claims with a million finished tasks and a million future ones in the table; then the clean-up.

    .venv/bin/python bench/tasks_claim.py [ROWS]

Goals: claim p99 at most 5 ms; the clean-up holds no lock for longer than 0.2 s.
"""

from __future__ import annotations

import statistics
import sys
import time
from uuid import uuid4

import harness

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
CLAIMS = 500
KEY = "bench.noop"

FILL = """
INSERT INTO tasks_task (id, type_id, queue, status, priority, run_after, finished_at, payload)
SELECT gen_random_uuid(), (SELECT min(id) + n %% 3 FROM tasks_tasktype), 'default',
       %(status)s, n %% 5 - 2, now() + %(later)s * random() * interval '10 days',
       CASE WHEN %(status)s = 'SUCCEEDED' THEN now() - interval '8 days' END,
       jsonb_build_object('n', n)
FROM generate_series(1, %(rows)s) n
"""
EVENTS = """
INSERT INTO tasks_taskevent (task_id, kind)
SELECT id, kind FROM tasks_task, unnest(ARRAY['enqueued', 'started', 'succeeded']) kind
WHERE status = 'SUCCEEDED'
"""


def main() -> None:
    harness.start()
    from django.db import connection

    from tasks import registry

    registry.register_task_type(
        registry.TaskSpec(key=KEY, handler=print)
    )  # without a cap, which would limit the claims
    registry.write_registered_types()
    with connection.cursor() as cursor:
        for status, later in (("SUCCEEDED", 0), ("PENDING", 1)):
            cursor.execute(FILL, {"status": status, "later": later, "rows": ROWS})
        cursor.execute(EVENTS)
        cursor.execute(
            "UPDATE tasks_task SET run_after = now() + interval '1 hour'"
            " WHERE status = 'PENDING' AND run_after < now() + interval '1 hour'"
        )
        for table in ("tasks_task", "tasks_taskevent"):
            cursor.execute(f"VACUUM ANALYZE {table}")
    claims()
    clean_up()
    harness.print_load()


def claims() -> None:
    """Time claims with nothing due, and claims of 1 and 50 of many due tasks, by companies."""
    from tasks import registry
    from tasks.enqueue import NewTask, enqueue_many
    from tasks.worker.connection import WorkerConnection
    from tasks.worker.task_store import NEXT_DUE

    store = WorkerConnection()
    types = list(registry.write_registered_types().values())
    given = {"types": types, "queues": None, "worker": "w", "lease": 30.0, "after": "{}"}
    for owners, limit in ((0, 1), (1, 1), (1, 50), (50, 1), (50, 50)):
        ids = [uuid4() for _ in range(owners)]
        for first in range(0, (CLAIMS + 10) * limit + 2_000 if ids else 0, 1000):
            enqueue_many(
                [
                    NewTask(KEY, priority=n % 5 - 2, owner_id=ids[(first + n) % owners])
                    for n in range(1000)
                ]
            )
        took = []
        for _ in range(CLAIMS):
            start = time.perf_counter()
            asked = given | {"limit": limit, "reach": limit * 3 // 2 + 8}
            rows = store.claim(asked, [], is_crowded=owners > 0)
            took.append(1000 * (time.perf_counter() - start))
            assert sum(1 for row in rows if row[0]) == (limit if owners else 0)
        what = f"claim of {limit}, companies: {owners}" if owners else "claim with nothing due"
        report(what, took, goal=5)
    took = []
    for _ in range(CLAIMS):
        start = time.perf_counter()
        store.rows(NEXT_DUE, {"types": types, "queues": None, "looked": rows[0][-1]})
        took.append(1000 * (time.perf_counter() - start))
    report("next due time", took, goal=5)
    store.close()


def clean_up() -> None:
    """Remove 100,000 ended tasks in batches, as a worker does."""
    from tasks.worker import chores

    took, removed, start = [], 0, time.perf_counter()
    while removed < ROWS / 10:
        begun, batch = time.perf_counter(), chores._batch[0]
        chores.remove_old()
        took.append(1000 * (time.perf_counter() - begun))
        removed += batch
    report(f"clean-up, a batch ({chores._batch[0]} tasks at last)", took, goal=200)
    print(f"  {removed / (time.perf_counter() - start):,.0f} tasks/s with their events")


def report(what: str, took: list[float], goal: float) -> None:
    took.sort()
    p99 = took[min(len(took) - 1, int(len(took) * 0.99))]
    print(
        f"{what}: p50 {statistics.median(took):.2f} ms, p99 {p99:.2f} ms (goal {goal} ms),"
        f" most {took[-1]:.2f} ms"
    )


if __name__ == "__main__":
    main()
