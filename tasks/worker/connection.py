"""Database connection of a worker: statements, notifications, reconnection."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

import psycopg

from tasks import listen
from tasks.failure_log import failures
from tasks.json import as_json
from tasks.listen import ListenerWaits
from tasks.sql import enqueue
from tasks.sql.claim import CLAIMS

log = logging.getLogger(__name__)

# Every statement of the hot path has an index. If the planner sees the table while it is small, it
# must not cache a plan that reads the whole table.
SESSION = (
    "SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),"
    " set_config('enable_bitmapscan', 'off', false), set_config('enable_hashjoin', 'off', false),"
    " set_config('enable_mergejoin', 'off', false), set_config('statement_timeout', '15s', false),"
    " set_config('plan_cache_mode', 'force_generic_plan', false)"
)

# Lock the types with a cap or a rate. The claim that follows is a separate statement with a newer
# snapshot, so it sees what the last holder of the lock claimed.
LOCK_BOUND = """
SELECT id FROM tasks_tasktype WHERE id = ANY(%(bound)s) ORDER BY id FOR NO KEY UPDATE
"""

# Write how attempts ended. Each is fenced by task, attempt and worker: nothing is written or
# returned for a task that was lost meanwhile. A cancelled one ends as CANCELLED.
ACKNOWLEDGE = """
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(ends)s::json) AS g(
        id uuid, attempt int, outcome text, delay_seconds float8, seconds float8, failed boolean,
        result jsonb, error jsonb, worker text)
), acked AS (
    UPDATE tasks_task t SET
        status = CASE WHEN t.status = 'CANCELLING' THEN 'CANCELLED' ELSE g.outcome END,
        run_after = CASE WHEN g.outcome = 'PENDING' AND t.status = 'RUNNING'
            THEN statement_timestamp() + g.delay_seconds * interval '1 second'
            ELSE t.run_after END,
        finished_at = CASE WHEN g.outcome <> 'PENDING' OR t.status = 'CANCELLING'
            THEN statement_timestamp() END,
        lease_until = NULL, result = g.result,
        errors = CASE WHEN g.error IS NULL THEN t.errors ELSE t.errors || jsonb_set(
            g.error, '{at}', to_jsonb(statement_timestamp())) END
    FROM given g
    WHERE t.id = g.id AND t.attempt = g.attempt AND t.worker = g.worker
      AND coalesce(t.lease_until IS NOT NULL, false)
    RETURNING t.id, t.type_id, t.owner_id, t.status, t.attempt, g.failed, g.seconds, g.worker,
              g.delay_seconds, g.outcome, g.error ->> 'class' AS class
), told AS (
    INSERT INTO tasks_taskevent (task_id, kind, attempt, actor, data)
    SELECT id, 'failed', attempt, worker, jsonb_build_object('error', class) FROM acked
    WHERE failed
    UNION ALL
    SELECT id, CASE status WHEN 'PENDING' THEN 'retry_scheduled' ELSE lower(status) END, attempt,
        worker, CASE
            WHEN status = 'PENDING'
            THEN jsonb_build_object('delay_seconds', round(delay_seconds::numeric, 1))
            WHEN status = 'CANCELLED' AND outcome = 'SUCCEEDED'
            THEN '{"finished": true}'::jsonb END
    FROM acked
), tallied AS (
    INSERT INTO tasks_tasktally AS y (type_id, slot, succeeded, failed, retried, dead, cancelled,
                                      discarded, seconds, took_100ms, took_1s, took_10s,
                                      took_60s, took_300s, took_longer)
    SELECT type_id, date_bin('10 seconds', statement_timestamp(), 'epoch'),
        count(*) FILTER (WHERE status = 'SUCCEEDED'), count(*) FILTER (WHERE failed),
        count(*) FILTER (WHERE status = 'PENDING'), count(*) FILTER (WHERE status = 'DEAD'),
        count(*) FILTER (WHERE status = 'CANCELLED'), count(*) FILTER (WHERE status = 'DISCARDED'),
        coalesce(sum(seconds), 0), count(*) FILTER (WHERE seconds <= 0.1),
        count(*) FILTER (WHERE seconds > 0.1 AND seconds <= 1),
        count(*) FILTER (WHERE seconds > 1 AND seconds <= 10),
        count(*) FILTER (WHERE seconds > 10 AND seconds <= 60),
        count(*) FILTER (WHERE seconds > 60 AND seconds <= 300),
        count(*) FILTER (WHERE seconds > 300)
    FROM acked GROUP BY type_id ORDER BY type_id
    ON CONFLICT (type_id, slot) DO UPDATE SET
        succeeded = y.succeeded + excluded.succeeded, failed = y.failed + excluded.failed,
        retried = y.retried + excluded.retried, dead = y.dead + excluded.dead,
        cancelled = y.cancelled + excluded.cancelled,
        discarded = y.discarded + excluded.discarded, seconds = y.seconds + excluded.seconds,
        took_100ms = y.took_100ms + excluded.took_100ms, took_1s = y.took_1s + excluded.took_1s,
        took_10s = y.took_10s + excluded.took_10s, took_60s = y.took_60s + excluded.took_60s,
        took_300s = y.took_300s + excluded.took_300s,
        took_longer = y.took_longer + excluded.took_longer
), owned AS (
    INSERT INTO tasks_taskownertally AS y (type_id, owner_id, slot, succeeded, failed)
    SELECT type_id, owner_id, date_bin('10 seconds', statement_timestamp(), 'epoch'),
        count(*) FILTER (WHERE status = 'SUCCEEDED'), count(*) FILTER (WHERE failed)
    FROM acked WHERE owner_id IS NOT NULL AND (failed OR status = 'SUCCEEDED')
    GROUP BY type_id, owner_id ORDER BY type_id, owner_id
    ON CONFLICT (type_id, owner_id, slot) DO UPDATE SET
        succeeded = y.succeeded + excluded.succeeded, failed = y.failed + excluded.failed
)
SELECT id::text, attempt FROM acked
"""

Connection = psycopg.Connection[Any]
# After these errors the connection is useless. If it has become read-only, its server lost the
# primary role in a failover; the next connection may reach the new primary.
LOST = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)


class Unavailable(Exception):
    """There is no connection now. It is reopened automatically."""


class WorkerConnection:
    """Statements and notifications on a connection that is reopened after a loss."""

    def __init__(self) -> None:
        self._announced: set[str] = set()
        self._connection: Connection | None = None
        self._waits = ListenerWaits()
        self._not_before = 0.0

    def fileno(self) -> int | None:
        """Return the descriptor that notifications make readable; None while disconnected."""
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
        """Run one statement in a separate transaction. Raises Unavailable."""
        try:
            cursor = self._connected().execute(statement, parameters)
            self._note_answer()
            return cursor.fetchall() if cursor.description else []
        except LOST as error:
            raise self._lost(error) from error

    def claim(
        self,
        parameters: dict[str, Any],
        bound: list[int],
        *,
        is_crowded: bool = True,
        has_trials: bool = True,
    ) -> list[Any]:
        """Claim tasks, after locking the types with a cap or rate. Raises Unavailable.

        `is_crowded` means that more tasks may be due than the claim looks at. It then looks for
        tasks of every owner. `has_trials` means that a breaker may be open for an owner.
        """
        statement = CLAIMS[is_crowded, has_trials]
        parameters = {"lanes": "[]"} | parameters
        if not bound:
            return self.rows(statement, parameters)
        try:
            raw = self._connected()
            with raw.pipeline(), raw.transaction():
                raw.execute(LOCK_BOUND, {"bound": as_array(bound)})
                claimed = raw.execute(statement, parameters)
            self._note_answer()
            return claimed.fetchall()
        except LOST as error:
            raise self._lost(error) from error

    def acknowledge(self, results: list[dict[str, Any]]) -> set[tuple[str, int]]:
        """Write results; return the accepted (task id, attempt) pairs. Raises Unavailable.

        A result that the database cannot store becomes a failure and does not affect the others.
        """
        try:
            found = self.rows(ACKNOWLEDGE, {"ends": as_json(results)})
            return set(found)
        except (psycopg.DataError, ValueError) as error:
            if len(results) > 1:
                return set().union(*(self.acknowledge([each]) for each in results))
            log.error("task %s: its result cannot be stored: %s", results[0]["id"], error)
            error_entry = {
                "class": "Unkeepable",
                "message": "the result of this run could not be stored",
                "attempt": results[0]["attempt"],
                "traceback": "",
            }
            failure = {"outcome": "DEAD", "failed": True, "result": None, "error": error_entry}
            return self.acknowledge([results[0] | failure])

    def announced(self) -> set[str]:
        """Return the announcements since the last call, out of `work` and `cancel`."""
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
            self._connection = _connect()
            self._connection.add_notify_handler(lambda note: self._announced.add(note.payload))
            self._announced.add("work")  # an announcement may have been missed
        return self._connection

    def _note_answer(self) -> None:
        self._waits.reset()
        failures.write_answer(log)

    def _lost(self, error: Exception) -> Unavailable:
        if isinstance(error, (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable)):
            log.warning("a statement was cancelled: %s", error)
            return Unavailable()
        failures.write_failure(log, "a statement failed", error)
        self.close()
        self._not_before = time.monotonic() + self._waits.next_seconds()
        return Unavailable()


def as_array(numbers: Iterable[int]) -> str:
    """Return numbers as PostgreSQL writes an array; the driver would convert each by itself."""
    return f"{{{','.join(map(str, numbers))}}}"


def _connect() -> Connection:
    try:
        raw = listen.connect(enqueue.CHANNEL, SESSION)
    except Exception as error:
        raise psycopg.OperationalError(str(error)) from error
    raw.cursor_factory = psycopg.Cursor  # Django's cursor sends no prepared statements
    raw.prepare_threshold = 1
    return raw
