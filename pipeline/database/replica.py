"""Reads from a streaming replica: the one place that chooses between it and the primary.

A function that only reads is marked with `reads_replica`. It runs on the replica if that has
replayed everything that anyone committed before the call. So a client that has just made a change,
or been told of one, reads it. Otherwise, and whenever the replica fails or follows another history
than the primary, the function runs on the primary. The replica can be ahead: it may replay a
change that the primary confirms only once its synchronous standby has it. Functions that must not
show such a change are not marked.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, auto
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import psycopg
from django.conf import settings
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
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
# The place that a commit has waited for (with synchronous_commit = off, commits wait for nothing),
# the identity of this server's history, and the newest event.
_COMMITTED = """
SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
            THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END::text,
       (SELECT system_identifier FROM pg_control_system()),
       pg_walfile_name(pg_current_wal_insert_lsn()),
       pg_postmaster_start_time()::text,
       newest.id, newest.hash
FROM (SELECT) once
LEFT JOIN (SELECT id, hash FROM pipeline_event ORDER BY id DESC LIMIT 1) newest ON true
"""
# A server that was promoted is no replica of this primary any more. The timeline is that of the
# last restartpoint, or of what was written to its disk since.
_LOOK = """
SELECT pg_is_in_recovery()
       AND (SELECT system_identifier FROM pg_control_system()) = %(system)s,
       greatest((SELECT timeline_id FROM pg_control_checkpoint()),
                (SELECT min_recovery_end_timeline FROM pg_control_recovery())),
       pg_last_wal_replay_lsn() >= %(lsn)s::pg_lsn,
       %(event)s::bigint IS NULL
       OR EXISTS (SELECT FROM pipeline_event WHERE id = %(event)s AND hash = %(hash)s),
       pg_postmaster_start_time()::text
"""
_NEWEST = "SELECT id, hash FROM pipeline_event ORDER BY id DESC LIMIT 1"
_HAS_EVENT = "SELECT EXISTS (SELECT FROM pipeline_event WHERE id = %s AND hash = %s)"
_FAILURES = (OperationalError, InterfaceError, NotSupportedError)
_ANY_ERROR = (DatabaseError, InterfaceError)

READS = Counter(
    "nextinline_replica_reads",
    "Reads that a replica may serve, by what served them: the replica, or the primary because the"
    " replica lagged or failed.",
    ["served"],
)


class Committed(NamedTuple):
    """A place in the primary's log, and the history that it belongs to."""

    lsn: str
    system: int
    timeline: int
    started: str
    event: int | None
    hash: bytes | None


class ReplicaState(Enum):
    """Result of comparing a replica with the primary. A STRANGER follows another history.

    On a FORMER_TIMELINE, it has the same events, but does not report yet that it follows the
    primary.
    """

    CURRENT = auto()
    BEHIND = auto()
    FORMER_TIMELINE = auto()
    STRANGER = auto()


class _Rest:
    """Time until which this process leaves the replica alone."""

    until = float("-inf")


class _Proven:
    """Starts of the primary and of the replica that were last seen to share their history."""

    starts = ("", "")


_only_primary = ContextVar("only_primary", default=False)


@contextmanager
def primary_only() -> Iterator[None]:
    """Let marked functions read from the primary in the block, as if there were no replica."""
    token = _only_primary.set(True)
    try:
        yield
    finally:
        _only_primary.reset(token)


@contextmanager
def current_or_primary() -> Iterator[bool]:
    """Read from the replica in the block if there is one and it is current, and yield whether.

    Inside a transaction, everything continues there. If the replica fails in the block, its error
    is raised, and the next blocks read from the primary.
    """
    usual: Any = connections[DEFAULT_DB_ALIAS]
    if REPLICA not in settings.DATABASES or _only_primary.get():
        yield False
        return
    if usual.in_atomic_block or usual.alias == REPLICA:
        yield False
        return
    replica: Any = connections[REPLICA]
    is_current = time.monotonic() >= _Rest.until and _is_ready(replica)
    READS.labels("replica" if is_current else "primary").inc()
    if not is_current:
        yield False
        return
    connections[DEFAULT_DB_ALIAS] = replica
    try:
        yield True
    except _FAILURES as error:
        if not isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            _stop_reading(replica, error)
        raise
    finally:
        connections[DEFAULT_DB_ALIAS] = usual


def reads_replica(read: Callable[P, R]) -> Callable[P, R]:
    """Let a function that only reads run on the replica, if there is one and it is current.

    If the replica fails meanwhile, it runs again on the primary. Its result must not read later, as
    a QuerySet does.
    """

    @wraps(read)
    def read_where_replica_is_current(*args: P.args, **kwargs: P.kwargs) -> R:
        is_on_replica = False
        try:
            with current_or_primary() as is_on_replica:
                return read(*args, **kwargs)
        except _FAILURES as error:
            # It took too long, as it would on the primary, or it was the primary.
            if not is_on_replica or isinstance(error.__cause__, psycopg.errors.QueryCanceled):
                raise
        return read(*args, **kwargs)

    return read_where_replica_is_current


def _is_ready(replica: Any) -> bool:
    try:
        committed = committed_place()
    except _ANY_ERROR as error:
        # It is in recovery itself, say. The read runs there, and meets errors of its own.
        _stop_reading(replica, f"the primary does not say what it has committed: {error}")
        return False
    try:
        state = read_state(replica, committed)
    except _ANY_ERROR as error:
        _stop_reading(replica, error)
        return False
    if state is ReplicaState.STRANGER:
        _stop_reading(replica, "it is no replica of this primary")
    elif state is ReplicaState.FORMER_TIMELINE:
        _stop_reading(replica, "it has not noted the primary's timeline yet")
    elif state is ReplicaState.BEHIND:
        _Rest.until = time.monotonic() + LAG_REST_SECONDS
    return state is ReplicaState.CURRENT


def _stop_reading(replica: Any, reason: object) -> None:
    _Rest.until = time.monotonic() + FAILURE_REST_SECONDS
    log.warning("the replica is left alone, and the primary serves its reads: %s", reason)
    replica.close()


def committed_place() -> Committed:
    """Return the place in the primary's log up to which everything is committed.

    Raises django.db's errors, also if the server is in recovery.
    """
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(_COMMITTED)
        lsn, system, segment, started, event, digest = cursor.fetchone()
    return Committed(lsn, system, int(segment[:8], 16), started, event, digest)


def read_state(replica: Any, committed: Committed) -> ReplicaState:
    """Tell whether the replica has replayed the log up to a place, after a short wait for it.

    A server can have replayed a place with the same number in another history: after a restore,
    or after the promotion of a standby that lacked the end. So its system and timeline must be the
    primary's, and it must have the primary's newest event. Once after each start of either server,
    the primary must also have the replica's newest event.

    Raises django.db's errors if it does not answer.
    """
    end = time.monotonic() + WAIT_SECONDS
    had_reached = False
    with replica.cursor() as cursor:
        while True:
            cursor.execute(_LOOK, committed._asdict())
            is_related, timeline, has_reached, has_newest, started = cursor.fetchone()
            if not is_related or timeline > committed.timeline:
                return ReplicaState.STRANGER
            if timeline < committed.timeline:
                is_shared = has_newest and _is_history_shared(cursor, committed, started)
                return ReplicaState.FORMER_TIMELINE if is_shared else ReplicaState.STRANGER
            if has_reached and has_newest and _is_history_shared(cursor, committed, started):
                return ReplicaState.CURRENT
            # A look that began after the place was reached misses what was there. The one that
            # first sees it reached may have begun before, so another follows, however late it is.
            if time.monotonic() >= end and had_reached == has_reached:
                return ReplicaState.STRANGER if had_reached else ReplicaState.BEHIND
            had_reached = has_reached
            time.sleep(STEP_SECONDS)


def _is_history_shared(replica_cursor: Any, committed: Committed, replica_started: str) -> bool:
    starts = (committed.started, replica_started)
    if _Proven.starts == starts:
        return True
    replica_cursor.execute(_NEWEST)
    newest = replica_cursor.fetchone()
    if newest:
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute(_HAS_EVENT, newest)
            if not cursor.fetchone()[0]:
                return False
    _Proven.starts = starts
    return True
