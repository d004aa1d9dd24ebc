"""Counters of runs: the totals plus the slices that are not yet folded into them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection

# Upper bounds of the duration buckets; one more bucket holds longer runs.
BOUNDS_SECONDS = (0.1, 1.0, 10.0, 60.0, 300.0)
ENDS = ("succeeded", "failed", "retried", "dead", "cancelled", "expired", "discarded")
TOOK = ("took_100ms", "took_1s", "took_10s", "took_60s", "took_300s", "took_longer")
COLUMNS = (*ENDS, "seconds", *TOOK)

_NAMES = ", ".join(COLUMNS)
_SUMS = ", ".join(f"sum({name})" for name in COLUMNS)
_GROWN = ", ".join(f"{name} = o.{name} + excluded.{name}" for name in COLUMNS)

_FOLD = f"""
WITH old AS MATERIALIZED (
    SELECT id FROM tasks_tasktally WHERE slot < statement_timestamp() - interval '1 hour'
    ORDER BY id FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM tasks_tasktally WHERE id = ANY(ARRAY(SELECT id FROM old))
    RETURNING type_id, {_NAMES}
)
INSERT INTO tasks_tasktotal AS o (type_id, {_NAMES})
SELECT type_id, {_SUMS} FROM gone GROUP BY type_id ORDER BY type_id
ON CONFLICT (type_id) DO UPDATE SET {_GROWN}
"""
# One statement moves runs from slices to totals, so every snapshot sees each run in exactly one.

_READ = f"""
SELECT k.key || '@' || k.version, {", ".join(f"coalesce(sum({name}), 0)" for name in COLUMNS)}
FROM tasks_tasktype k LEFT JOIN (
    SELECT type_id, {_NAMES} FROM tasks_tasktotal
    UNION ALL SELECT type_id, {_NAMES} FROM tasks_tasktally) y ON y.type_id = k.id
GROUP BY k.key, k.version
"""


@dataclass(frozen=True)
class RunTotal:
    """All-time ended runs of a type, by the names in `ENDS`.

    `seconds` is their total duration. `took` counts runs by duration: each in the first of
    `BOUNDS_SECONDS` that it does not exceed, longer ones in the last place. Attempts whose worker
    died, or that were cancelled, have no duration.
    """

    ends: dict[str, int]
    seconds: float
    took: tuple[int, ...]

    def at_most(self) -> Iterator[tuple[float, int]]:
        """Iterate over the bounds, infinity last, each with the number of runs up to it."""
        count = 0
        for bound, more in zip((*BOUNDS_SECONDS, float("inf")), self.took, strict=True):
            count += more
            yield bound, count


def run_totals() -> dict[str, RunTotal]:
    """Return the counters of every type (key@version), including types that never ran.

    It is one statement, so runs being folded are neither counted twice nor missed.
    """
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        rows = cursor.fetchall()
    found = {}
    for name, *numbers in rows:
        of = dict(zip(COLUMNS, numbers, strict=True))
        found[name] = RunTotal(
            ends={end: int(of[end]) for end in ENDS},
            seconds=float(of["seconds"]),
            took=tuple(int(of[bound]) for bound in TOOK),
        )
    return found


def fold_totals() -> int:
    """Move slices older than an hour into the totals; return the number of types."""
    with connection.cursor() as cursor:
        cursor.execute(_FOLD)
        return int(cursor.rowcount)
