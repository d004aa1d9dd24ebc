"""A worker's one connection to the database: statements, notifications, interruptions."""

from __future__ import annotations

import logging
import time
from typing import Any

import psycopg
from django.db import connection

from tasks.json import as_json
from tasks.sql import claim, enqueue, runs

log = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0
CONNECT_SECONDS = 3
# Every statement of the hot path has its index. The planner, which sees the table when it happens
# to be small, must not remember a plan that reads all of it.
SESSION = (
    "SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),"
    " set_config('enable_bitmapscan', 'off', false), set_config('enable_hashjoin', 'off', false),"
    " set_config('enable_mergejoin', 'off', false), set_config('statement_timeout', '15s', false),"
    " set_config('plan_cache_mode', 'force_generic_plan', false)"
)

Connection = psycopg.Connection[Any]
LOST = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
"""After these the connection is of no more use. One that only reads leads to a server that was
primary until a failover: the next one may lead to the new primary."""


class Unavailable(Exception):
    """There is no connection now; the next attempt comes by itself."""


class Store:
    """Statements on a connection that comes back after it was lost."""

    def __init__(self) -> None:
        self.heard: set[str] = set()
        self._connection: Connection | None = None
        self._pause_seconds = 0.0
        self._not_before = 0.0

    def fileno(self) -> int | None:
        """What is readable when something was announced."""
        return self._connection.fileno() if self._connection else None

    @property
    def is_up(self) -> bool:
        """Whether a statement may be tried now."""
        return self._connection is not None or time.monotonic() >= self._not_before

    @property
    def retry_seconds(self) -> float:
        """How long until the next attempt to connect; 0 while connected."""
        return 0.0 if self._connection else max(0.0, self._not_before - time.monotonic())

    def rows(self, statement: str, parameters: dict[str, Any] | None = None) -> list[Any]:
        """Run one statement in a transaction of its own. Raises Unavailable."""
        try:
            cursor = self._connected().execute(statement, parameters)
            self._pause_seconds = 0.0
            return cursor.fetchall() if cursor.description else []
        except LOST as error:
            raise self._lost(error) from error

    def claim(self, parameters: dict[str, Any], bound: list[int]) -> list[Any]:
        """Claim; with types that have a cap or a rate, under their locks. Raises Unavailable."""
        if not bound:
            return self.rows(claim.CLAIM, parameters)
        try:
            raw = self._connected()
            with raw.pipeline(), raw.transaction():
                raw.execute(claim.LOCK_BOUND, {"bound": bound})
                claimed = raw.execute(claim.CLAIM, parameters)
            self._pause_seconds = 0.0
            return claimed.fetchall()
        except LOST as error:
            raise self._lost(error) from error

    def acknowledge(self, ends: list[dict[str, Any]]) -> set[tuple[str, int]]:
        """Write how runs ended; says for which (id, attempt) it was accepted. Raises Unavailable.

        One that the database cannot keep must not take the others along: it becomes a failure.
        """
        try:
            found = self.rows(runs.ACKNOWLEDGE, {"ends": as_json(ends)})
            return {(str(task), attempt) for task, attempt, _ in found}
        except (psycopg.DataError, ValueError) as error:
            if len(ends) > 1:
                return set().union(*(self.acknowledge([end]) for end in ends))
            log.error("task %s: its end cannot be kept: %s", ends[0]["id"], error)
            return self.acknowledge([_plain(ends[0])])

    def listen(self) -> set[str]:
        """What was announced since the last call: `work`, `cancel`."""
        if self._connection is not None:
            try:
                self._connection.pgconn.consume_input()
                while note := self._connection.pgconn.notifies():
                    self.heard.add(note.extra.decode())
            except psycopg.OperationalError as error:
                self._lost(error)
        heard, self.heard = self.heard, set()
        return heard

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Connection:
        if self._connection is None:
            if not self.is_up:
                raise Unavailable
            self._connection = _connect()
            self._connection.add_notify_handler(lambda note: self.heard.add(note.payload))
            self.heard.add("work")  # whatever was announced meanwhile
        return self._connection

    def _lost(self, error: Exception) -> Unavailable:
        if isinstance(error, (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable)):
            log.warning("a statement was given up: %s", error)
            return Unavailable()
        log.warning("the database is away: %s", error)
        self.close()
        doubled = max(FIRST_PAUSE_SECONDS, 2 * self._pause_seconds)
        self._pause_seconds = min(LONGEST_PAUSE_SECONDS, doubled)
        self._not_before = time.monotonic() + self._pause_seconds
        return Unavailable()


def _connect() -> Connection:
    wrapper = connection.copy()
    parameters = {"connect_timeout": CONNECT_SECONDS, **wrapper.get_connection_params()}
    try:
        raw = wrapper.get_new_connection(parameters)
    except Exception as error:
        raise psycopg.OperationalError(str(error)) from error
    raw.autocommit = True
    raw.cursor_factory = psycopg.Cursor  # Django's would send no prepared statements
    raw.prepare_threshold = 1
    try:
        raw.execute(SESSION)
        raw.execute(f"LISTEN {enqueue.CHANNEL}")  # refused by a server that only follows another
    except psycopg.Error:
        raw.close()
        raise
    return raw


def _plain(end: dict[str, Any]) -> dict[str, Any]:
    error = {
        "class": "Unkeepable",
        "message": "the end of this run could not be kept",
        "attempt": end["attempt"],
        "traceback": "",
    }
    return end | {"outcome": "DEAD", "failed": True, "result": None, "error": error}
