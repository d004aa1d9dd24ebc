"""Statements about runs: leases, beginnings, results, and tasks that are given back."""

from __future__ import annotations

from tasks.sql.enqueue import QUICK

# Renew a worker's leases and its heartbeat. Returns the tasks that it still owns, each with whether
# to cancel it. It has lost the others.
RENEW_LEASES = f"""
WITH {QUICK}, beat AS (
    UPDATE tasks_task t SET lease_until = statement_timestamp() + %(lease)s * interval '1 second'
    FROM unnest(%(ids)s::uuid[], %(attempts)s::int[]) AS held(id, attempt)
    WHERE t.id = held.id AND t.attempt = held.attempt AND t.worker = %(worker)s
      AND t.lease_until IS NOT NULL
    RETURNING t.id, t.status
), alive AS (
    INSERT INTO tasks_taskworker (name, slots, queues, types, running)
    VALUES (%(worker)s, %(slots)s, %(queues)s::jsonb, %(types)s::jsonb, %(running)s)
    ON CONFLICT (name) DO UPDATE SET beat_at = statement_timestamp(), running = excluded.running
)
SELECT b.id, b.status = 'CANCELLING' FROM quick CROSS JOIN beat b
"""

# Record that last attempts begin now. From then on they count even if their worker dies; before
# that they do not. So attempts are limited however workers die, and no task is given up before its
# last attempt has begun. Returns the tasks that the worker still owns.
MARK_BEGUN = f"""
WITH {QUICK}, begun AS (
    UPDATE tasks_task t SET begun = true
    FROM unnest(%(ids)s::uuid[], %(attempts)s::int[]) AS g(id, attempt)
    WHERE t.id = g.id AND t.attempt = g.attempt AND t.worker = %(worker)s
      AND t.lease_until IS NOT NULL
    RETURNING t.id
)
SELECT b.id FROM quick CROSS JOIN begun b
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
      AND t.lease_until IS NOT NULL
    RETURNING t.id, t.type_id, t.owner_id, t.status, t.attempt, g.failed, g.seconds, g.worker,
              g.delay_seconds, g.outcome, g.error ->> 'class' AS class
), told AS (
    INSERT INTO tasks_taskevent (task_id, kind, attempt, actor, data)
    SELECT a.id, e.kind, a.attempt, a.worker, e.data FROM acked a CROSS JOIN LATERAL (
        SELECT 1 AS n, 'failed' AS kind, jsonb_build_object('error', a.class) AS data
        WHERE a.failed
        UNION ALL
        SELECT 2, CASE a.status WHEN 'PENDING' THEN 'retry_scheduled' ELSE lower(a.status) END,
            CASE WHEN a.status = 'PENDING'
                 THEN jsonb_build_object('delay_seconds', round(a.delay_seconds::numeric, 1))
                 WHEN a.status = 'CANCELLED' AND a.outcome = 'SUCCEEDED'
                 THEN '{"finished": true}'::jsonb END
        ORDER BY n) e
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
SELECT id, attempt, status FROM acked
"""

# Give back tasks whose attempt must not count: not started, or cut off by the worker's shutdown.
GIVE_BACK = """
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(%(ids)s::uuid[], %(attempts)s::int[]) AS g(id, attempt)
), back AS (
    UPDATE tasks_task t SET
        status = CASE t.status WHEN 'RUNNING' THEN 'PENDING' ELSE 'CANCELLED' END,
        finished_at = CASE t.status WHEN 'RUNNING' THEN NULL ELSE statement_timestamp() END,
        attempt = t.attempt - 1, worker = '', lease_until = NULL
    FROM given g
    WHERE t.id = g.id AND t.attempt = g.attempt AND t.worker = %(worker)s
      AND t.lease_until IS NOT NULL
    RETURNING t.id, t.attempt, t.status
)
INSERT INTO tasks_taskevent (task_id, kind, attempt, actor)
SELECT id, CASE status WHEN 'PENDING' THEN 'returned' ELSE 'cancelled' END, attempt, %(worker)s
FROM back
"""
