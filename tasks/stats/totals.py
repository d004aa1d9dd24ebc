"""Counts of runs that only grow: the totals, and the slices that are not folded into them yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection

BOUNDS_SECONDS = (0.1, 1.0, 10.0, 60.0, 300.0)
"""Durations are counted up to these, and longer."""
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
# Out of the slices and into the totals at once: every snapshot sees each run in one of the two.

_READ = f"""
SELECT k.key || '@' || k.version, {", ".join(f"coalesce(sum({name}), 0)" for name in COLUMNS)}
FROM tasks_tasktype k LEFT JOIN (
    SELECT type_id, {_NAMES} FROM tasks_tasktotal
    UNION ALL SELECT type_id, {_NAMES} FROM tasks_tasktally) y ON y.type_id = k.id
GROUP BY k.key, k.version
"""


@dataclass(frozen=True)
class Total:
    """How the runs of a type ended since it exists, by the names of `ENDS`.

    `seconds` they took in all. `took` says how many took at most so many seconds, each of them
    counted under the first of `BOUNDS_SECONDS` that it keeps; the last number is of the longer
    ones. Attempts whose worker died, or that a cancel ended, have no duration.
    """

    ends: dict[str, int]
    seconds: float
    took: tuple[int, ...]

    def at_most(self) -> Iterator[tuple[float, int]]:
        """How many runs took at most so many seconds, for each bound; the last is infinity."""
        count = 0
        for bound, more in zip((*BOUNDS_SECONDS, float("inf")), self.took, strict=True):
            count += more
            yield bound, count


def totals() -> dict[str, Total]:
    """The counts of every type (key@version), those that never ran too; they never fall.

    One statement: what is folded meanwhile is neither counted twice nor missed.
    """
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        return {name: _total(numbers) for name, *numbers in cursor.fetchall()}


def fold() -> int:
    """Move slices of more than an hour ago into the totals; says of how many types."""
    with connection.cursor() as cursor:
        cursor.execute(_FOLD)
        return int(cursor.rowcount)


def _total(numbers: list[float]) -> Total:
    of = dict(zip(COLUMNS, numbers, strict=True))
    return Total(
        ends={name: int(of[name]) for name in ENDS},
        seconds=float(of["seconds"]),
        took=tuple(int(of[name]) for name in TOOK),
    )
