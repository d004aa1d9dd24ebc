"""The statements beside the hot path: the reaper, the next due time, what runs tell."""

from __future__ import annotations

from tasks.sql import LANES

REAP = """
WITH expired AS MATERIALIZED (
    SELECT id FROM tasks_task
    WHERE status IN ('RUNNING', 'CANCELLING') AND lease_until < statement_timestamp()
    ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED
), reaped AS (
    UPDATE tasks_task t SET
        status = CASE WHEN t.status = 'CANCELLING' THEN 'CANCELLED'
                      WHEN t.attempt >= t.max_attempts THEN 'DEAD' ELSE 'PENDING' END,
        finished_at = CASE WHEN t.status = 'CANCELLING' OR t.attempt >= t.max_attempts
            THEN statement_timestamp() END,
        run_after = statement_timestamp(), lease_until = NULL,
        errors = t.errors || jsonb_build_object(
            'class', 'LeaseExpired', 'message', 'its worker gave no sign of life in time',
            'attempt', t.attempt, 'traceback', '', 'worker', t.worker,
            'at', statement_timestamp())
    WHERE t.id = ANY(ARRAY(SELECT id FROM expired))
    RETURNING t.id, t.type_id, t.status, t.attempt, t.max_attempts, t.worker,
              t.payload::text AS payload, t.request_id
), told AS (
    INSERT INTO tasks_taskevent (task_id, kind, attempt, actor)
    SELECT r.id, e.kind, r.attempt, r.worker FROM reaped r CROSS JOIN LATERAL (
        SELECT 1 AS n, 'lease_lost' AS kind
        UNION ALL SELECT 2, lower(r.status) WHERE r.status <> 'PENDING'
        UNION ALL SELECT 3, 'retry_scheduled' WHERE r.status = 'PENDING' ORDER BY n) e
), tallied AS (
    INSERT INTO tasks_tasktally AS y (type_id, slot, expired, failed, dead, cancelled)
    SELECT type_id, date_bin('10 seconds', statement_timestamp(), 'epoch'), count(*), count(*),
        count(*) FILTER (WHERE status = 'DEAD'), count(*) FILTER (WHERE status = 'CANCELLED')
    FROM reaped GROUP BY type_id ORDER BY type_id
    ON CONFLICT (type_id, slot) DO UPDATE SET expired = y.expired + excluded.expired,
        failed = y.failed + excluded.failed, dead = y.dead + excluded.dead,
        cancelled = y.cancelled + excluded.cancelled
)
SELECT id, type_id, status, attempt, max_attempts, payload, request_id FROM reaped
"""
"""Take tasks away from workers whose lease has expired: to the next attempt, or to the dead.

A lease that its worker renews at this moment is locked, and passed over.
"""

NEXT_DUE = f"""
WITH RECURSIVE {LANES}
SELECT extract(epoch FROM least(
    (SELECT min(next.run_after) FROM lane JOIN tasks_tasktype k ON k.id = lane.type_id
     CROSS JOIN LATERAL (
        SELECT run_after FROM tasks_task
        WHERE status = 'PENDING' AND type_id = lane.type_id AND queue = lane.queue
          AND priority = lane.priority AND run_after > %(looked)s
        ORDER BY run_after LIMIT 1) next
     WHERE k.id = ANY(%(types)s) AND NOT k.paused AND k.breaker = 'CLOSED'
       AND (%(queues)s::text[] IS NULL OR lane.queue = ANY(%(queues)s))),
    (SELECT min(breaker_probe_at) FROM tasks_tasktype
     WHERE id = ANY(%(types)s) AND breaker = 'OPEN' AND NOT paused
       AND breaker_probe_at > %(looked)s),
    (SELECT min(tokens_at + (ceil(greatest(tokens, 0) + 0.001) - tokens) * rate_seconds / rate_count
                * interval '1 second')
     FROM tasks_tasktype
     WHERE id = ANY(%(types)s) AND tokens < 1 AND rate_count IS NOT NULL AND NOT paused
       AND tokens_at > statement_timestamp() - rate_seconds / rate_count * interval '1 second')
) - statement_timestamp())::float8
"""
"""Seconds until the worker's next task becomes due: by its time, a probe's, or the rate's.

Counted are tasks that were not due yet when the last claim looked: one may have become so since.
"""

DOZE = """
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
UPDATE tasks_taskworker w SET sleeping = %(sleeping)s FROM quick WHERE name = %(worker)s
"""
"""Say that this worker may sleep, and wants to be woken; or that it does not."""

TELL = """
WITH said AS MATERIALIZED (
    SELECT s.* FROM json_to_recordset(%(said)s::json) AS s(
        n int, id uuid, attempt int, kind text, data jsonb)
    JOIN tasks_task t ON t.id = s.id AND t.attempt = s.attempt AND t.worker = %(worker)s
     AND t.lease_until IS NOT NULL
), moved AS (
    UPDATE tasks_task t SET progress = p.data FROM (
        SELECT DISTINCT ON (id) id, data FROM said WHERE kind = 'progress' ORDER BY id, n DESC) p
    WHERE t.id = p.id
)
INSERT INTO tasks_taskevent (task_id, kind, attempt, actor, data)
SELECT id, kind, attempt, %(worker)s, data FROM said ORDER BY n
"""
"""Write what running handlers tell: progress and events of their own, while the task is theirs."""
