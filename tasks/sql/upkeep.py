"""Statements beside the hot path: the reaper, sleeping workers, and reports of running handlers."""

from __future__ import annotations

# Take tasks from workers whose lease has expired: to the next attempt, or to the dead letters. An
# attempt that certainly had not begun does not count. A lease that its worker is just renewing is
# locked, and skipped.
REAP = """
WITH expired AS MATERIALIZED (
    SELECT id FROM tasks_task
    WHERE status IN ('RUNNING', 'CANCELLING') AND lease_until < statement_timestamp()
    ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED
), reaped AS (
    UPDATE tasks_task t SET
        status = CASE WHEN t.status = 'CANCELLING' THEN 'CANCELLED'
                      WHEN t.begun AND t.attempt >= t.max_attempts THEN 'DEAD' ELSE 'PENDING' END,
        finished_at = CASE WHEN t.status = 'CANCELLING'
                             OR t.begun AND t.attempt >= t.max_attempts
            THEN statement_timestamp() END,
        run_after = statement_timestamp(), lease_until = NULL,
        attempt = t.attempt - CASE WHEN t.begun THEN 0 ELSE 1 END,
        errors = CASE WHEN t.begun THEN t.errors || jsonb_build_object(
            'class', 'LeaseExpired', 'message', 'its worker did not renew the lease in time',
            'attempt', t.attempt, 'traceback', '', 'worker', t.worker,
            'at', statement_timestamp()) ELSE t.errors END
    WHERE t.id = ANY(ARRAY(SELECT id FROM expired))
    RETURNING t.id, t.type_id, t.status, t.attempt, t.max_attempts, t.worker, t.begun,
              t.payload::text AS payload, t.request_id, t.owner_id, t.trace
), told AS (
    INSERT INTO tasks_taskevent (task_id, kind, attempt, actor)
    SELECT r.id, e.kind, r.attempt, r.worker FROM reaped r CROSS JOIN LATERAL (
        SELECT 1 AS n, 'lease_lost' AS kind
        UNION ALL SELECT 2, lower(r.status) WHERE r.status <> 'PENDING'
        UNION ALL SELECT 3, CASE WHEN r.begun THEN 'retry_scheduled' ELSE 'returned' END
        WHERE r.status = 'PENDING' ORDER BY n) e
), tallied AS (
    INSERT INTO tasks_tasktally AS y (type_id, slot, expired, failed, dead, cancelled)
    SELECT type_id, date_bin('10 seconds', statement_timestamp(), 'epoch'), count(*),
        count(*) FILTER (WHERE begun), count(*) FILTER (WHERE status = 'DEAD'),
        count(*) FILTER (WHERE status = 'CANCELLED')
    FROM reaped GROUP BY type_id ORDER BY type_id
    ON CONFLICT (type_id, slot) DO UPDATE SET expired = y.expired + excluded.expired,
        failed = y.failed + excluded.failed, dead = y.dead + excluded.dead,
        cancelled = y.cancelled + excluded.cancelled
), owned AS (
    INSERT INTO tasks_taskownertally AS y (type_id, owner_id, slot, failed)
    SELECT type_id, owner_id, date_bin('10 seconds', statement_timestamp(), 'epoch'), count(*)
    FROM reaped WHERE begun AND owner_id IS NOT NULL
    GROUP BY type_id, owner_id ORDER BY type_id, owner_id
    ON CONFLICT (type_id, owner_id, slot) DO UPDATE SET failed = y.failed + excluded.failed
)
SELECT id, type_id, status, attempt, max_attempts, payload, request_id, owner_id, trace
FROM reaped
"""

# Wake sleeping workers after runs of capped types have ended, if more tasks of those are due.
WAKE_FOR_DUE = """
SELECT pg_notify('tasks', 'work') FROM tasks_tasktype k
WHERE k.id = ANY(%(types)s) AND EXISTS (SELECT FROM tasks_taskworker WHERE sleeping)
  AND (SELECT 1 FROM tasks_task t
       WHERE t.status = 'PENDING' AND NOT t.parked AND t.type_id = k.id
         AND t.run_after <= statement_timestamp() LIMIT 1) = 1
LIMIT 1
"""

# Record whether this worker may sleep and must be woken.
SET_SLEEPING = """
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
UPDATE tasks_taskworker w SET sleeping = %(sleeping)s FROM quick WHERE name = %(worker)s
"""

# Write the progress and events that running handlers report, if the worker still owns the task. The
# task's row always has the latest progress; its history gets one entry every 30 seconds.
WRITE_MESSAGES = """
WITH written AS MATERIALIZED (
    SELECT s.* FROM json_to_recordset(%(messages)s::json) AS s(
        n int, id uuid, attempt int, kind text, data jsonb)
    JOIN tasks_task t ON t.id = s.id AND t.attempt = s.attempt AND t.worker = %(worker)s
     AND t.lease_until IS NOT NULL
), moved AS (
    UPDATE tasks_task t SET progress = p.data FROM (
        SELECT DISTINCT ON (id) id, data FROM written WHERE kind = 'progress' ORDER BY id, n DESC) p
    WHERE t.id = p.id
)
INSERT INTO tasks_taskevent (task_id, kind, attempt, actor, data)
SELECT id, kind, attempt, %(worker)s, data FROM written s
WHERE kind <> 'progress' OR n = (
    SELECT max(n) FROM written m WHERE m.id = s.id AND m.kind = 'progress'
) AND NOT EXISTS (
    SELECT FROM tasks_taskevent e WHERE e.task_id = s.id AND e.kind = 'progress'
      AND e.attempt = s.attempt AND e.at > statement_timestamp() - interval '30 seconds'
)
ORDER BY n
"""


# Circuit breakers: when nearly all runs of a type fail, try only one run a minute. Each owner has
# its own breaker for each type, so failures of one company do not stop another. The breaker of the
# type itself applies to everyone, and opens when runs of several owners fail. The claim skips tasks
# behind an open breaker, except for one probe a minute. `control.resume` closes a breaker by hand.


# Most runs of one owner that count towards everyone's breaker: two owners cannot open it alone.
MOST_OF_AN_OWNER = 7

# Open the breakers of owners with at least 20 runs in five minutes, of which over 80 % failed.
# Runs before the breaker last changed do not count.
OPEN_OWNER_BREAKERS = """
INSERT INTO tasks_taskownerbreaker AS b (type_id, owner_id, probe_at)
SELECT g.type_id, g.owner_id, statement_timestamp() + interval '1 minute'
FROM (SELECT DISTINCT type_id, owner_id
      FROM unnest(%(types)s::bigint[], %(owners)s::uuid[]) AS g(type_id, owner_id)
      ORDER BY type_id, owner_id) g
LEFT JOIN tasks_taskownerbreaker had ON had.type_id = g.type_id AND had.owner_id = g.owner_id
WHERE (SELECT sum(failed + succeeded) >= 20 AND sum(failed) > 0.8 * sum(failed + succeeded)
       FROM tasks_taskownertally y
       WHERE y.type_id = g.type_id AND y.owner_id = g.owner_id
         AND y.slot > statement_timestamp() - interval '5 minutes'
         AND (had.changed_at IS NULL OR y.slot >= had.changed_at))
ON CONFLICT (type_id, owner_id) DO UPDATE SET breaker = 'OPEN',
    changed_at = statement_timestamp(), probe_at = excluded.probe_at
WHERE b.breaker = 'CLOSED'
RETURNING type_id
"""

# Open the breakers of types, for everyone, if over 80 % of at least 20 runs in five minutes have
# failed. An owner counts for at most MOST_OF_AN_OWNER runs; tasks without an owner count in full.
# The owners' own breakers of the type then close: the type is to blame.
OPEN_BREAKERS = f"""
WITH opened AS (
    UPDATE tasks_tasktype k SET breaker = 'OPEN', breaker_changed_at = statement_timestamp(),
        breaker_probe_at = statement_timestamp() + interval '1 minute'
    WHERE k.id = ANY(%(types)s) AND k.breaker = 'CLOSED' AND (
        WITH owned AS (
            SELECT sum(y.succeeded)::float8 AS succeeded, sum(y.failed)::float8 AS failed
            FROM tasks_taskownertally y
            WHERE y.type_id = k.id AND y.slot > statement_timestamp() - interval '5 minutes'
              AND (k.breaker_changed_at IS NULL OR y.slot >= k.breaker_changed_at)
            GROUP BY y.owner_id HAVING sum(y.succeeded + y.failed) > 0
        ), everything AS (
            SELECT coalesce(sum(y.succeeded), 0) AS succeeded, coalesce(sum(y.failed), 0) AS failed
            FROM tasks_tasktally y
            WHERE y.type_id = k.id AND y.slot > statement_timestamp() - interval '5 minutes'
              AND (k.breaker_changed_at IS NULL OR y.slot >= k.breaker_changed_at)
        ), voice AS (
            SELECT failed * weight AS failed, (failed + succeeded) * weight AS runs
            FROM (SELECT *, least(1, {MOST_OF_AN_OWNER} / (failed + succeeded)) AS weight
                  FROM owned) o
            UNION ALL
            SELECT site.failed, site.failed + site.succeeded FROM (
                SELECT greatest(0, e.failed - coalesce((SELECT sum(failed) FROM owned), 0))
                           AS failed,
                       greatest(0, e.succeeded - coalesce((SELECT sum(succeeded) FROM owned), 0))
                           AS succeeded
                FROM everything e) site
        )
        SELECT sum(runs) >= 20 AND sum(failed) > 0.8 * sum(runs) FROM voice)
    RETURNING k.id
), relieved AS (
    UPDATE tasks_taskownerbreaker SET breaker = 'CLOSED', changed_at = statement_timestamp(),
        probe_at = NULL
    WHERE type_id IN (SELECT id FROM opened) AND breaker = 'OPEN'
)
SELECT id FROM opened
"""

# Close the breakers of types that have succeeded again.
CLOSE_BREAKERS = """
UPDATE tasks_tasktype SET breaker = 'CLOSED', breaker_changed_at = statement_timestamp(),
    breaker_probe_at = NULL
WHERE id = ANY(%(types)s) AND breaker = 'OPEN' RETURNING id
"""

# Close the breakers of owners for whom the type has succeeded again.
CLOSE_OWNER_BREAKERS = """
UPDATE tasks_taskownerbreaker b SET breaker = 'CLOSED', changed_at = statement_timestamp(),
    probe_at = NULL
FROM unnest(%(types)s::bigint[], %(owners)s::uuid[]) AS g(type_id, owner_id)
WHERE b.type_id = g.type_id AND b.owner_id = g.owner_id AND b.breaker = 'OPEN'
RETURNING b.type_id
"""

# Remove old counts and closed breakers that are no longer needed.
FORGET_OWNER_COUNTS = """
WITH counts AS (
    DELETE FROM tasks_taskownertally WHERE slot < statement_timestamp() - interval '1 hour'
)
DELETE FROM tasks_taskownerbreaker
WHERE breaker = 'CLOSED' AND changed_at < statement_timestamp() - interval '1 hour'
"""
