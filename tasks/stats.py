"""Numbers of one owner's tasks. Their cost does not grow with the number of finished tasks.

Pending tasks are counted up to 100,000, ended ones up to 10,000 per status. A number at its limit
means "this many or more".
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from tasks.sql.claim import LANES

MOST_PENDING, MOST_ENDED = 100_000, 10_000

_PENDING = """(SELECT type_id, priority, run_after FROM tasks_task
 WHERE owner_id = %(owner)s AND status = 'PENDING' LIMIT %(most)s) t"""

_COUNTS = """
SELECT s.status, (SELECT count(*) FROM (
    SELECT FROM tasks_task t WHERE t.owner_id = %(owner)s AND t.status = s.status LIMIT s.most) t)
FROM (VALUES ('PENDING', %(pending)s), ('RUNNING', %(pending)s), ('CANCELLING', %(pending)s),
             ('SUCCEEDED', %(ended)s), ('CANCELLED', %(ended)s), ('DEAD', %(ended)s),
             ('DISCARDED', %(ended)s)) s(status, most)
"""


def owner_depth(owner_id: UUID) -> dict[tuple[str, int], int]:
    """Count an owner's pending tasks, by type (key@version) and priority."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT k.key || '@' || k.version, t.priority, count(*) FROM {_PENDING}"
            " JOIN tasks_tasktype k ON k.id = t.type_id GROUP BY 1, 2",
            {"owner": owner_id, "most": MOST_PENDING},
        )
        return {(name, priority): count for name, priority, count in cursor.fetchall()}


def owner_counts(owner_id: UUID) -> dict[str, int]:
    """Count an owner's tasks in each status, including zeros, up to the limits of this module."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, {"owner": owner_id, "pending": MOST_PENDING, "ended": MOST_ENDED})
        return dict(cursor.fetchall())


def owner_oldest_age_seconds(owner_id: UUID) -> dict[int, float]:
    """Return how long an owner's oldest due task of each priority has waited, in seconds."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT priority, extract(epoch FROM statement_timestamp() - min(run_after))::float8"
            f" FROM {_PENDING} WHERE run_after <= statement_timestamp() GROUP BY 1",
            {"owner": owner_id, "most": MOST_PENDING},
        )
        return dict(cursor.fetchall())


class RecentRuns(NamedTuple):
    """An owner's tasks that ended within five minutes: counts, and medians in seconds."""

    start: datetime
    succeeded: int
    failed: int
    waited: float | None  # from being due to the start of the last attempt
    took: float | None  # the last attempt


# The newest tasks that are read, and the minutes and number of the slices of time.
MOST_RECENT, SLICE_MINUTES, SLICES = 2_000, 5, 12

_RECENT_RUNS = """
WITH ended AS MATERIALIZED (
    SELECT * FROM (
        SELECT status, run_after, started_at, finished_at FROM tasks_task
        WHERE owner_id = %(owner)s ORDER BY id DESC LIMIT %(most)s
    ) newest WHERE status IN ('SUCCEEDED', 'DEAD') AND started_at IS NOT NULL
), last AS (
    SELECT date_bin(%(length)s, statement_timestamp(), '2026-01-01Z') AS start
)
SELECT last.start - slice * %(length)s,
       count(*) FILTER (WHERE ended.status = 'SUCCEEDED'),
       count(*) FILTER (WHERE ended.status = 'DEAD'),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY greatest(0, extract(
           epoch FROM ended.started_at - ended.run_after))::float8),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(
           epoch FROM ended.finished_at - ended.started_at)::float8)
FROM last CROSS JOIN generate_series(%(slices)s - 1, 0, -1) slice
LEFT JOIN ended ON ended.finished_at >= last.start - slice * %(length)s
               AND ended.finished_at < last.start - (slice - 1) * %(length)s
GROUP BY last.start, slice ORDER BY slice DESC
"""


def owner_recent_runs(owner_id: UUID) -> list[RecentRuns]:
    """Return an owner's ended tasks of the last hour in slices of five minutes, oldest first.

    Only the newest MOST_RECENT tasks are read. In one query.
    """
    values: dict[str, Any] = {
        "owner": owner_id,
        "most": MOST_RECENT,
        "length": timedelta(minutes=SLICE_MINUTES),
        "slices": SLICES,
    }
    with connection.cursor() as cursor:
        cursor.execute(_RECENT_RUNS, values)
        return [RecentRuns(*row) for row in cursor.fetchall()]


# Numbers of background work on the whole site. Each function runs one statement.


# A worker without a heartbeat for this long counts as gone.
ALIVE_SECONDS = 60.0
BACKLOG_CACHE_SECONDS = 1.0
# Of each type, at most this many failing tasks are read: those with the most attempts.
MOST_FAILING = 100


def site_depth() -> dict[tuple[str, int], int]:
    """Count pending tasks, by type (key@version) and priority."""
    rows = _site_rows(
        "SELECT k.key || '@' || k.version, t.priority, sum(t.count)::bigint FROM ("
        "  SELECT type_id, priority, count(*) FROM tasks_task"
        "  WHERE status = 'PENDING' AND NOT parked GROUP BY 1, 2"
        "  UNION ALL SELECT type_id, priority, count(*) FROM tasks_task"
        "  WHERE status = 'PENDING' AND parked GROUP BY 1, 2) t"
        " JOIN tasks_tasktype k ON k.id = t.type_id GROUP BY 1, 2"
    )
    return {(name, priority): count for name, priority, count in rows}


def site_oldest_age_seconds() -> dict[int, float]:
    """Return how long the oldest due task of each priority has waited; a high number is starvation.

    Parked tasks are left out: their type is stopped for their owner.
    """
    rows = _site_rows(
        f"WITH RECURSIVE {LANES} SELECT lane.priority,"
        " extract(epoch FROM statement_timestamp() - min(t.run_after))::float8"
        " FROM lane CROSS JOIN LATERAL (SELECT run_after FROM tasks_task"
        "  WHERE status = 'PENDING' AND NOT parked AND type_id = lane.type_id"
        "    AND queue = lane.queue AND priority = lane.priority"
        "    AND run_after <= statement_timestamp() ORDER BY run_after LIMIT 1) t GROUP BY 1"
    )
    return dict(rows)


def site_failing_seconds() -> dict[str, float]:
    """Return by type how long ago the first attempt of an unfinished task failed, at the most.

    Parked tasks are left out, as above. Errors from before a replay do not count.
    """
    return dict(
        _site_rows(
            "SELECT k.key || '@' || k.version, extract(epoch FROM statement_timestamp()"
            "  - min((t.errors -> -t.failed ->> 'at')::timestamptz))::float8"
            " FROM tasks_tasktype k CROSS JOIN LATERAL ("
            "  (SELECT errors, attempt::int AS failed FROM tasks_task"
            "   WHERE status = 'PENDING' AND NOT parked AND attempt > 0 AND type_id = k.id"
            "   ORDER BY attempt DESC LIMIT %s)"
            "  UNION ALL SELECT errors, attempt - 1 FROM tasks_task"
            "   WHERE status IN ('RUNNING', 'CANCELLING') AND attempt > 1 AND type_id = k.id) t"
            " WHERE t.errors -> -t.failed ->> 'at' IS NOT NULL GROUP BY 1",
            [MOST_FAILING],
        )
    )


def site_running() -> dict[str, int]:
    """Count the tasks that workers own now, by type."""
    return dict(
        _site_rows(
            "SELECT k.key || '@' || k.version, count(*) FROM tasks_task t"
            " JOIN tasks_tasktype k ON k.id = t.type_id"
            " WHERE t.status IN ('RUNNING', 'CANCELLING') GROUP BY 1"
        )
    )


def site_dead_depth() -> dict[str, int]:
    """Count dead letters by type; alert at more than 0."""
    return dict(
        _site_rows(
            "SELECT k.key || '@' || k.version, count(*) FROM tasks_task t"
            " JOIN tasks_tasktype k ON k.id = t.type_id WHERE t.status = 'DEAD' GROUP BY 1"
        )
    )


def site_workers_alive() -> int:
    """Count the workers with a heartbeat within the last minute."""
    [(count,)] = _site_rows(
        "SELECT count(*) FROM tasks_taskworker"
        " WHERE beat_at > statement_timestamp() - %s * interval '1 second'",
        [ALIVE_SECONDS],
    )
    return int(count)


def site_enqueued(*, within_seconds: float = 300.0) -> int:
    """Count recently enqueued tasks, to compare with those that succeeded."""
    [(count,)] = _site_rows(
        "SELECT count(*) FROM tasks_taskevent WHERE kind = 'enqueued'"
        " AND at > statement_timestamp() - %s * interval '1 second'",
        [within_seconds],
    )
    return int(count)


def site_open_breakers() -> list[str]:
    """List types whose breaker is open because too many runs failed."""
    return [
        name
        for (name,) in _site_rows(
            "SELECT key || '@' || version FROM tasks_tasktype WHERE breaker = 'OPEN' ORDER BY 1"
        )
    ]


def site_open_owner_breakers() -> dict[str, int]:
    """Count, by type, the owners whose own breaker is open."""
    return dict(
        _site_rows(
            "SELECT k.key || '@' || k.version, count(*) FROM tasks_taskownerbreaker b"
            " JOIN tasks_tasktype k ON k.id = b.type_id WHERE b.breaker = 'OPEN' GROUP BY 1"
        )
    )


def site_paused_types() -> list[str]:
    """List types that are paused for everyone."""
    return [
        name
        for (name,) in _site_rows(
            "SELECT key || '@' || version FROM tasks_tasktype WHERE paused ORDER BY 1"
        )
    ]


_backlog: tuple[float, int, int] = (float("-inf"), 0, 0)


def site_backlog(limit: int) -> int:
    """Count pending tasks up to `limit`. The number can be a second old."""
    global _backlog  # noqa: PLW0603 -- a cache of the process
    at, counted_to, count = _backlog
    if time.monotonic() - at > BACKLOG_CACHE_SECONDS or counted_to != limit:
        [(count,)] = _site_rows(
            "SELECT count(*) FROM"
            " (SELECT FROM tasks_task WHERE status = 'PENDING' AND NOT parked LIMIT %s) pending",
            [limit],
        )
        _backlog = (time.monotonic(), limit, count)
    return count


def _site_rows(statement: str, parameters: list[Any] | None = None) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


# Counters of runs: the totals plus the slices that are not yet folded into them.


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
