"""Checks of the storm: by observation while it lasts, then in the rows."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from types import TracebackType
from typing import Any

import harness
from tasks_app import CAP

ALLOWED_ERRORS = ("LeaseExpired", "OperationalError", "InterfaceError", "AdminShutdown")
LEFT = (
    "SELECT count(*) FROM tasks_task WHERE payload ->> 'then' IS DISTINCT FROM 'future'"
    " AND status IN ('PENDING', 'RUNNING', 'CANCELLING')"
)
HELD = (
    "SELECT count(*) FROM tasks_task t JOIN tasks_tasktype k ON k.id = t.type_id"
    " WHERE k.key = 'bench.capped' AND t.status IN ('RUNNING', 'CANCELLING')"
)
KEPT = {  # rows that would break each promise; there must be none
    "something is stuck": LEFT.replace("count(*)", "id"),
    "something for tomorrow was touched": "SELECT id FROM tasks_task"
    " WHERE payload ->> 'then' = 'future' AND status NOT IN ('PENDING', 'CANCELLED')",
    "something was acknowledged twice": "SELECT task_id FROM tasks_taskevent"
    " WHERE kind IN ('succeeded', 'dead', 'cancelled', 'discarded') GROUP BY 1 HAVING count(*) > 1",
    "something ended without saying so": "SELECT id FROM tasks_task t"
    " WHERE status IN ('SUCCEEDED', 'DEAD', 'CANCELLED') AND NOT EXISTS (SELECT FROM"
    " tasks_taskevent WHERE task_id = t.id AND kind = lower(t.status))",
    "something succeeded that never ran": "SELECT id FROM tasks_task t WHERE status = 'SUCCEEDED'"
    " AND payload ? 'then' AND NOT EXISTS (SELECT FROM bench_marks WHERE task = t.id)",
    "an innocent task is dead": "SELECT id FROM tasks_task WHERE status = 'DEAD'"
    " AND coalesce(payload ->> 'then', '') NOT IN ('poison', 'hog')",
    "poison or a hog has not died": "SELECT id FROM tasks_task"
    " WHERE payload ->> 'then' IN ('poison', 'hog') AND status NOT IN ('DEAD', 'CANCELLED')",
    "poison ran too often": "SELECT id FROM tasks_task WHERE attempt > max_attempts",
    "a neighbour was harmed": "SELECT id FROM tasks_task, jsonb_array_elements(errors) e"
    " WHERE coalesce(payload ->> 'then', '') NOT IN ('poison', 'hog', 'fail')"
    f" AND (e ->> 'class') !~ '({'|'.join(ALLOWED_ERRORS)})$'",
    "what was acknowledged before the crash has changed": "SELECT b.id FROM bench_before b"
    " LEFT JOIN tasks_task t USING (id) WHERE t.finished_at IS DISTINCT FROM b.finished_at",
    "something enqueued is lost": "SELECT id FROM bench_enqueued e"
    " WHERE NOT EXISTS (SELECT FROM tasks_task WHERE id = e.id)",
    "a cancelled task has continued": "SELECT id FROM bench_cancelled c JOIN tasks_task t"
    " USING (id) WHERE t.status <> 'CANCELLED'",
    "a paused type was started": "SELECT e.id FROM bench_pauses p JOIN tasks_taskevent e"
    " ON e.kind = 'started' AND e.at > p.since AND e.at < p.until JOIN tasks_task t"
    " ON t.id = e.task_id JOIN tasks_tasktype k ON k.id = t.type_id AND k.key = 'bench.paused'",
}


class Watch:
    """Watcher that counts running tasks of the capped type every 50 ms, inside its context."""

    def __init__(self) -> None:
        self.faults: set[str] = set()
        self.looks, self.most = 0, 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look_on)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join()
        print(f"{self.looks:,} looks: at most {self.most} of the capped type at once (cap {CAP})")

    def _look_on(self) -> None:
        from django.db import Error, connection

        while not self._end.wait(0.05):
            try:
                [(held,)] = harness.execute(HELD)
            except Error:
                connection.close()
                continue
            self.looks, self.most = self.looks + 1, max(self.most, held)
            if held > CAP:
                self.faults.add("a cap was exceeded")
        connection.close()


def settle(seconds: float) -> None:
    """Wait until nothing is pending or running except the tasks for tomorrow."""
    start = time.monotonic()
    while harness.execute(LEFT)[0][0] and time.monotonic() - start < seconds:
        time.sleep(0.5)
    print(f"settled after {time.monotonic() - start:.1f} s")


def judge(storm: Any) -> list[str]:
    """Count everything; return the faults."""
    _write("bench_enqueued (id uuid)", [(name,) for name in storm.enqueued])
    _write("bench_cancelled (id uuid)", [(name,) for name in storm.cancelled])
    _write("bench_pauses (since timestamptz, until timestamptz)", storm.pauses)
    _print_counts()
    faults = []
    for fault, statement in KEPT.items():
        found = harness.execute(f"SELECT count(*), min(id::text) FROM ({statement}) x (id)")[0]
        print(f"  {'NO ' if found[0] else 'yes'} not: {fault}" + f" {found}" * bool(found[0]))
        faults += [fault] * bool(found[0])
    return faults + _slots()


def _slots() -> list[str]:
    """Check that each schedule has one task for each of its minutes since the first."""
    from tasks.models import Schedule, Task

    faults, count = [], 0
    for schedule in Schedule.objects.filter(type_key="bench.tick"):
        keys = list(
            Task.objects.filter(producer=f"schedule:{schedule.id}").values_list(
                "idempotency_key", flat=True
            )
        )
        slot, wanted = schedule.last_enqueued_for, set()
        while len(wanted) < len(keys):
            wanted.add(f"schedule:{schedule.id}:{slot.isoformat()}")
            slot -= timedelta(minutes=1)
        count += len(keys)
        if set(keys) != wanted or len(keys) < 60:
            faults.append(f"{schedule.name}: {len(keys)} tasks are not one for each minute")
    print(f"  {'NO ' if faults else 'yes'} one task for each minute of each schedule ({count})")
    return faults


def _print_counts() -> None:
    rows = harness.execute(
        "SELECT k.key, payload ->> 'then', status, count(*), max(attempt) FROM tasks_task t"
        " JOIN tasks_tasktype k ON k.id = t.type_id GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    for key, then, status, number, attempts in rows:
        print(f"  {key:13} {then or '':9} {status:10} {number:>8,}  most attempts {attempts}")
    kinds = harness.execute("SELECT kind, count(*) FROM tasks_taskevent GROUP BY 1 ORDER BY 1")
    print("  events: " + ", ".join(f"{number:,} {kind}" for kind, number in kinds))
    twice = "SELECT count(*) FROM (SELECT task FROM bench_marks GROUP BY 1 HAVING count(*) > 1) x"
    print(
        f"  {harness.execute(twice)[0][0]} ran to completion twice (handlers must allow for that)"
    )


def _write(table: str, rows: list[tuple[Any, ...]]) -> None:
    from django.db import connection

    harness.execute(f"CREATE TABLE {table}")
    with connection.cursor() as cursor, cursor.copy(f"COPY {table.split()[0]} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
