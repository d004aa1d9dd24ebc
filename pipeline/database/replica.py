"""Reads from a streaming replica: the one place that chooses between it and the primary.

A function that only reads is marked with `reads_replica`. It runs on the replica if that has
replayed everything that was committed before the function was called, whoever committed it. So a
client that has just changed something, or was told of a change, reads it. Otherwise, and whenever
the replica fails, the function runs on the primary.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import psycopg
from django.conf import settings
from django.db import (
    DEFAULT_DB_ALIAS,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    connections,
)
from prometheus_client import Counter

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

REPLICA = "replica"
# How long a read waits for the replica. A longer lag sends reads to the primary for a while.
WAIT_SECONDS = 0.05
LAG_REST_SECONDS, FAILURE_REST_SECONDS = 1.0, 5.0
STEP_SECONDS = 0.001
# What a commit has waited for. With synchronous_commit = off, commits wait for nothing.
_COMMITTED = """
SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
            THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END::text
"""
# A server that was promoted is no replica of this primary any more.
_IS_CURRENT = "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::pg_lsn"
_FAILURES = (OperationalError, InterfaceError, NotSupportedError)

READS = Counter(
    "nextinline_replica_reads",
    "Reads that a replica may serve, by what served them: the replica, or the primary because the"
    " replica lagged or failed.",
    ["served"],
)


class _Rest:
    """Time until which this process leaves the replica alone."""

    until = float("-inf")


@contextmanager
def replica_if_current() -> Iterator[bool]:
    """Read from the replica in the block if there is one and it is current, and yield whether.

    Inside a transaction, everything goes on there. If the replica fails in the block, its error is
    raised, and the next blocks read from the primary.
    """
    usual: Any = connections[DEFAULT_DB_ALIAS]
    if REPLICA not in settings.DATABASES or usual.in_atomic_block or usual.alias == REPLICA:
        yield False
        return
    replica: Any = connections[REPLICA]
    is_current = time.monotonic() >= _Rest.until and _is_replica_ready(replica)
    READS.labels("replica" if is_current else "primary").inc()
    if not is_current:
        yield False
        return
    connections[DEFAULT_DB_ALIAS] = replica
    try:
        yield True
    except _FAILURES as error:
        if not isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            _leave_alone(replica, error)
        raise
    finally:
        connections[DEFAULT_DB_ALIAS] = usual


def reads_replica(read: Callable[P, R]) -> Callable[P, R]:
    """Let a function that only reads run on the replica, if there is one and it is current.

    If the replica fails meanwhile, it runs again on the primary. Its result must not read later, as
    a QuerySet does.
    """

    @wraps(read)
    def read_where_current(*args: P.args, **kwargs: P.kwargs) -> R:
        is_on_replica = False
        try:
            with replica_if_current() as is_on_replica:
                return read(*args, **kwargs)
        except _FAILURES as error:
            # It took too long, as it would on the primary, or it was the primary.
            if not is_on_replica or isinstance(error.__cause__, psycopg.errors.QueryCanceled):
                raise
        return read(*args, **kwargs)

    return read_where_current


def _is_replica_ready(replica: Any) -> bool:
    committed = committed_place()  # the primary's errors are not the replica's
    try:
        is_current = replica_is_current(replica, committed)
    except _FAILURES as error:
        _leave_alone(replica, error)
        return False
    if not is_current:
        _Rest.until = time.monotonic() + LAG_REST_SECONDS
    return is_current


def _leave_alone(replica: Any, error: Exception) -> None:
    _Rest.until = time.monotonic() + FAILURE_REST_SECONDS
    log.warning("the replica failed, so the primary serves its reads: %s", error)
    replica.close()


def committed_place() -> str:
    """Return the place in the primary's log that holds everything that is committed."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(_COMMITTED)
        return str(cursor.fetchone()[0])


def replica_is_current(replica: Any, committed: str) -> bool:
    """Tell whether the replica has replayed the log up to a place, after a short wait for it.

    Raises django.db's errors if it does not answer.
    """
    end = time.monotonic() + WAIT_SECONDS
    with replica.cursor() as cursor:
        while True:
            cursor.execute(_IS_CURRENT, [committed])
            (is_current,) = cursor.fetchone()
            if is_current or time.monotonic() >= end:
                return bool(is_current)
            time.sleep(STEP_SECONDS)
