"""Numbers of background work on the whole site. Each function runs one statement."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from django.db import connection

from tasks.sql.queues import LANES

# A worker without a heartbeat for this long counts as gone.
ALIVE_SECONDS = 60.0
BACKLOG_CACHE_SECONDS = 1.0
# Of each type, at most this many failing tasks are read: those with the most attempts.
MOST_FAILING = 100


@dataclass(frozen=True)
class Ended:
    """Ended attempts of a type within a period, and their total duration in seconds."""

    succeeded: int
    failed: int
    retried: int
    dead: int
    cancelled: int
    expired: int
    discarded: int
    seconds: float


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


def site_ended_runs(*, within_seconds: float = 300.0) -> dict[str, Ended]:
    """Count recently ended attempts by type, up to an hour back, in steps of ten seconds."""
    rows = _site_rows(
        "SELECT k.key || '@' || k.version, sum(succeeded), sum(failed), sum(retried), sum(dead),"
        " sum(cancelled), sum(expired), sum(discarded), sum(seconds) FROM tasks_tasktally y"
        " JOIN tasks_tasktype k ON k.id = y.type_id"
        " WHERE slot > statement_timestamp() - %s * interval '1 second' GROUP BY 1",
        [within_seconds],
    )
    return {name: Ended(*numbers) for name, *numbers in rows}


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
