"""Numbers of one owner's tasks. Their cost does not grow with the number of finished tasks.

Pending tasks are counted up to 100,000, ended ones up to 10,000 per status. A number at its limit
means "this many or more".
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

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


def owner_task_counts(owner_id: UUID) -> dict[str, int]:
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
