"""Connection of a worker to the database: statements, notifications, interruptions."""

from __future__ import annotations

import logging
import time
from typing import Any

import psycopg

from tasks.json import as_json
from tasks.listen import ReconnectWaits, connect_to_listen
from tasks.sql import claim, enqueue, runs

log = logging.getLogger(__name__)

# Every statement of the hot path has its index. The planner, which sees the table when it happens
# to be small, must not remember a plan that reads all of it.
SESSION = (
    "SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),"
    " set_config('enable_bitmapscan', 'off', false), set_config('enable_hashjoin', 'off', false),"
    " set_config('enable_mergejoin', 'off', false), set_config('statement_timeout', '15s', false),"
    " set_config('plan_cache_mode', 'force_generic_plan', false)"
)

Connection = psycopg.Connection[Any]
# After these errors the connection is of no use. One that only reads leads to a server that was
# primary until a failover: the next one may lead to the new primary.
LOST = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)


class Unavailable(Exception):
    """There is no connection now; the next attempt to connect comes by itself."""


class WorkerConnection:
    """Statements and notifications on a connection that comes back after it was lost."""

    def __init__(self) -> None:
        self._announced: set[str] = set()
        self._connection: Connection | None = None
        self._waits = ReconnectWaits()
        self._not_before = 0.0

    def fileno(self) -> int | None:
        """Return what becomes readable with a notification; None while there is no connection."""
        return self._connection.fileno() if self._connection else None

    @property
    def is_up(self) -> bool:
        """Tell whether a statement may be tried now."""
        return self._connection is not None or time.monotonic() >= self._not_before

    @property
    def retry_seconds(self) -> float:
        """Return the seconds until the next attempt to connect; 0 while connected."""
        return 0.0 if self._connection else max(0.0, self._not_before - time.monotonic())

    def rows(self, statement: str, parameters: dict[str, Any] | None = None) -> list[Any]:
        """Run one statement in a transaction of its own. Raises Unavailable."""
        try:
            cursor = self._connected().execute(statement, parameters)
            self._waits.reset()
            return cursor.fetchall() if cursor.description else []
        except LOST as error:
            raise self._lost(error) from error

    def claim(
        self, parameters: dict[str, Any], bound: list[int], *, is_crowded: bool = True
    ) -> list[Any]:
        """Claim tasks; types with a cap or a rate are locked first. Raises Unavailable.

        `is_crowded`: more may be due than the claim looks at, so that it has to look for owners.
        """
        statement = claim.CLAIM_FROM_ALL_OWNERS if is_crowded else claim.CLAIM
        if not bound:
            return self.rows(statement, parameters)
        try:
            raw = self._connected()
            with raw.pipeline(), raw.transaction():
                raw.execute(claim.LOCK_BOUND, {"bound": bound})
                claimed = raw.execute(statement, parameters)
            self._waits.reset()
            return claimed.fetchall()
        except LOST as error:
            raise self._lost(error) from error

    def acknowledge(self, results: list[dict[str, Any]]) -> set[tuple[str, int]]:
        """Write results; return the (task id, attempt) that were accepted. Raises Unavailable.

        A result that the database cannot keep does not affect the others: it becomes a failure.
        """
        try:
            found = self.rows(runs.ACKNOWLEDGE, {"ends": as_json(results)})
            return {(str(task), attempt) for task, attempt, _ in found}
        except (psycopg.DataError, ValueError) as error:
            if len(results) > 1:
                return set().union(*(self.acknowledge([each]) for each in results))
            log.error("task %s: its result cannot be kept: %s", results[0]["id"], error)
            error_entry = {
                "class": "Unkeepable",
                "message": "the end of this run could not be kept",
                "attempt": results[0]["attempt"],
                "traceback": "",
            }
            failure = {"outcome": "DEAD", "failed": True, "result": None, "error": error_entry}
            return self.acknowledge([results[0] | failure])

    def announced(self) -> set[str]:
        """Return what was announced since the last call: `work`, `cancel`."""
        if self._connection is not None:
            try:
                self._connection.pgconn.consume_input()
                while note := self._connection.pgconn.notifies():
                    self._announced.add(note.extra.decode())
            except psycopg.OperationalError as error:
                self._lost(error)
        announced, self._announced = self._announced, set()
        return announced

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Connection:
        if self._connection is None:
            if not self.is_up:
                raise Unavailable
            self._connection = _connect_worker()
            self._connection.add_notify_handler(lambda note: self._announced.add(note.payload))
            self._announced.add("work")  # it may have been announced meanwhile
        return self._connection

    def _lost(self, error: Exception) -> Unavailable:
        if isinstance(error, (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable)):
            log.warning("a statement was cancelled: %s", error)
            return Unavailable()
        log.warning("the database is away: %s", error)
        self.close()
        self._not_before = time.monotonic() + self._waits.next_seconds()
        return Unavailable()


def _connect_worker() -> Connection:
    try:
        raw = connect_to_listen(enqueue.CHANNEL, SESSION)
    except Exception as error:
        raise psycopg.OperationalError(str(error)) from error
    raw.cursor_factory = psycopg.Cursor  # Django's would send no prepared statements
    raw.prepare_threshold = 1
    return raw
