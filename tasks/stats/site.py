"""The numbers of background work, as plain functions; each is one statement."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from django.db import connection

from tasks.sql.queues import LANES
from tasks.stats import owner
from tasks.stats import totals as counted

own_depth = owner.own_depth
own_counts = owner.own_counts
own_oldest_age_seconds = owner.own_oldest_age_seconds
totals = counted.totals

ALIVE_SECONDS = 60.0
"""A worker without a sign of life for so long counts as gone."""
BACKLOG_CACHE_SECONDS = 1.0


@dataclass(frozen=True)
class Ended:
    """How the attempts of a type ended within some time, and how many seconds they took in all."""

    succeeded: int
    failed: int
    retried: int
    dead: int
    cancelled: int
    expired: int
    discarded: int
    seconds: float


def depth() -> dict[tuple[str, int], int]:
    """How many tasks are pending, by type (key@version) and priority."""
    return _counts(
        "SELECT k.key || '@' || k.version, t.priority, sum(t.count)::bigint FROM ("
        "  SELECT type_id, priority, count(*) FROM tasks_task"
        "  WHERE status = 'PENDING' AND NOT parked GROUP BY 1, 2"
        "  UNION ALL SELECT type_id, priority, count(*) FROM tasks_task"
        "  WHERE status = 'PENDING' AND parked GROUP BY 1, 2) t"
        " JOIN tasks_tasktype k ON k.id = t.type_id GROUP BY 1, 2"
    )


def oldest_age_seconds() -> dict[int, float]:
    """How long the oldest due task of each priority has waited; starvation shows here.

    Tasks that wait because their owner has paused the type are left out once they are parked.
    """
    rows = _rows(
        f"WITH RECURSIVE {LANES} SELECT lane.priority,"
        " extract(epoch FROM statement_timestamp() - min(t.run_after))::float8"
        " FROM lane CROSS JOIN LATERAL (SELECT run_after FROM tasks_task"
        "  WHERE status = 'PENDING' AND NOT parked AND type_id = lane.type_id"
        "    AND queue = lane.queue AND priority = lane.priority"
        "    AND run_after <= statement_timestamp() ORDER BY run_after LIMIT 1) t GROUP BY 1"
    )
    return dict(rows)


def running() -> dict[str, int]:
    """How many tasks workers have at this moment, by type."""
    return dict(
        _rows(
            "SELECT k.key || '@' || k.version, count(*) FROM tasks_task t"
            " JOIN tasks_tasktype k ON k.id = t.type_id"
            " WHERE t.status IN ('RUNNING', 'CANCELLING') GROUP BY 1"
        )
    )


def dead_depth() -> dict[str, int]:
    """How many dead letters wait for a person, by type; alert at more than 0."""
    return dict(
        _rows(
            "SELECT k.key || '@' || k.version, count(*) FROM tasks_task t"
            " JOIN tasks_tasktype k ON k.id = t.type_id WHERE t.status = 'DEAD' GROUP BY 1"
        )
    )


def workers_alive() -> int:
    """How many workers have given a sign of life within a minute."""
    [(count,)] = _rows(
        "SELECT count(*) FROM tasks_taskworker"
        " WHERE beat_at > statement_timestamp() - %s * interval '1 second'",
        [ALIVE_SECONDS],
    )
    return int(count)


def ended(*, within_seconds: float = 300.0) -> dict[str, Ended]:
    """How the attempts of each type ended lately: an hour back at most, in steps of ten seconds."""
    rows = _rows(
        "SELECT k.key || '@' || k.version, sum(succeeded), sum(failed), sum(retried), sum(dead),"
        " sum(cancelled), sum(expired), sum(discarded), sum(seconds) FROM tasks_tasktally y"
        " JOIN tasks_tasktype k ON k.id = y.type_id"
        " WHERE slot > statement_timestamp() - %s * interval '1 second' GROUP BY 1",
        [within_seconds],
    )
    return {name: Ended(*numbers) for name, *numbers in rows}


def enqueued(*, within_seconds: float = 300.0) -> int:
    """How many tasks were enqueued lately; to be held against those that succeeded."""
    [(count,)] = _rows(
        "SELECT count(*) FROM tasks_taskevent WHERE kind = 'enqueued'"
        " AND at > statement_timestamp() - %s * interval '1 second'",
        [within_seconds],
    )
    return int(count)


def open_breakers() -> list[str]:
    """The types that are not dispatched because too many of their runs failed."""
    return [
        name
        for (name,) in _rows(
            "SELECT key || '@' || version FROM tasks_tasktype WHERE breaker = 'OPEN' ORDER BY 1"
        )
    ]


def paused() -> list[str]:
    """The types that somebody has paused for everybody."""
    return [
        name
        for (name,) in _rows(
            "SELECT key || '@' || version FROM tasks_tasktype WHERE paused ORDER BY 1"
        )
    ]


_backlog: tuple[float, int, int] = (float("-inf"), 0, 0)


def backlog(limit: int) -> int:
    """How many tasks are pending, counted up to `limit` only; up to a second old."""
    global _backlog  # noqa: PLW0603 -- a cache of the process
    at, counted_to, count = _backlog
    if time.monotonic() - at > BACKLOG_CACHE_SECONDS or counted_to != limit:
        [(count,)] = _rows(
            "SELECT count(*) FROM"
            " (SELECT FROM tasks_task WHERE status = 'PENDING' AND NOT parked LIMIT %s) pending",
            [limit],
        )
        _backlog = (time.monotonic(), limit, count)
    return count


def _counts(statement: str) -> dict[tuple[str, int], int]:
    return {(name, priority): count for name, priority, count in _rows(statement)}


def _rows(statement: str, parameters: list[Any] | None = None) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
