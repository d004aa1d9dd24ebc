"""The statements of the hot path, each with a name and a sentence. Everything else uses the ORM.

Time is the database's everywhere: `statement_timestamp()`, which unlike `now()` moves on within a
transaction. `quick` lets a commit not wait for the disk: what a crash of the server could lose by
it (a claim, a renewed lease) only makes a task run again, which handlers must bear anyway. Exactly
a task that a worker has, one that is RUNNING or CANCELLING, has a `lease_until`; asking for that,
and not for the status, keeps the planner on the primary key.
"""

from __future__ import annotations

CHANNEL = "tasks"
"""Workers listen here: `work` says that something is due, `cancel` that a run is to end."""

_quick = "quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))"

ENQUEUE_PARTS = """
tasks_given AS MATERIALIZED (
    SELECT g.*, k.id AS type_id, k.queue AS usual_queue, k.max_attempts AS usual_attempts
    FROM json_to_recordset(%(tasks)s::json) AS g(
        n int, id uuid, key text, version int, payload text, priority smallint,
        run_after timestamptz, delay_seconds float8, max_attempts smallint, queue text,
        idempotency_key text, owner_id uuid, producer text, request_id text)
    JOIN tasks_tasktype k ON k.key = g.key AND k.version = g.version
), tasks_made AS (
    INSERT INTO tasks_task (id, type_id, payload, priority, run_after, max_attempts, queue,
                            idempotency_key, owner_id, producer, request_id)
    SELECT id, type_id, payload::jsonb, priority,
           coalesce(run_after, statement_timestamp() + delay_seconds * interval '1 second'),
           coalesce(max_attempts, usual_attempts), coalesce(queue, usual_queue),
           idempotency_key, owner_id, producer, request_id
    FROM tasks_given ORDER BY n
    ON CONFLICT DO NOTHING RETURNING id, producer
), tasks_told AS (
    INSERT INTO tasks_taskevent (task_id, kind, actor)
    SELECT id, 'enqueued', producer FROM tasks_made
)"""
"""Insert any number of tasks, each with its event, and nothing for a known idempotency key.

Parts of a WITH, for any statement that writes something and a task along with it. The parameter
`tasks` is made by `enqueue.as_parameter`; a task whose type has no row is left out.
"""

ENQUEUE = f"""
WITH {ENQUEUE_PARTS}
SELECT n, type_id, CASE WHEN id IN (SELECT id FROM tasks_made) THEN id END
FROM tasks_given ORDER BY n
"""
"""The same as a statement: for each task that has a type its number, the type, its id if new."""

WAKE = """
SELECT pg_notify('tasks', 'work') WHERE EXISTS (SELECT FROM tasks_taskworker WHERE sleeping)
"""
"""Wake the workers, if one may sleep; to be sent after the commit that made something due.

A worker first says that it may sleep, then looks once more: so one of the two sees the other. A
NOTIFY within the writing transaction would make all commits wait for each other.
"""

LOCK_BOUND = """
SELECT id FROM tasks_tasktype WHERE id = ANY(%(bound)s) ORDER BY id FOR NO KEY UPDATE
"""
"""Lock the types with a cap or a rate. The count after it is a statement of its own, with a newer
snapshot: it sees what the last holder of the lock has claimed."""

LANES = """
lane AS (
    (SELECT type_id, queue, priority FROM tasks_task WHERE status = 'PENDING'
     ORDER BY type_id, queue, priority LIMIT 1)
    UNION ALL
    SELECT n.type_id, n.queue, n.priority FROM lane l CROSS JOIN LATERAL (
        SELECT t.type_id, t.queue, t.priority FROM tasks_task t
        WHERE t.status = 'PENDING'
          AND (t.type_id, t.queue, t.priority) > (l.type_id, l.queue, l.priority)
        ORDER BY t.type_id, t.queue, t.priority LIMIT 1) n
)"""
# Every combination of type, queue and priority that has pending tasks: jumps along the index.

_tokens = """
least(k.rate_count, k.tokens + k.rate_count / k.rate_seconds * coalesce(
    extract(epoch FROM statement_timestamp() - k.tokens_at)::float8, k.rate_seconds))"""
# What a rate allows now: the bucket is filled again with time, and full at first.

CLAIM = f"""
WITH RECURSIVE {_quick}, {LANES}, probe AS (
    UPDATE tasks_tasktype k SET breaker_probe_at = statement_timestamp() + interval '1 minute'
    WHERE k.breaker = 'OPEN' AND NOT k.paused AND k.id = ANY(%(types)s)
      AND k.breaker_probe_at <= statement_timestamp()
      AND (SELECT 1 FROM tasks_task t WHERE t.status = 'PENDING' AND t.type_id = k.id
           AND t.run_after <= statement_timestamp()
           AND (%(queues)s::text[] IS NULL OR t.queue = ANY(%(queues)s)) LIMIT 1) = 1
    RETURNING k.id
), ready AS MATERIALIZED (
    SELECT k.id, k.rate_count, {_tokens} AS tokens, least(
        CASE WHEN k.breaker = 'OPEN' THEN 1 END,
        CASE WHEN k.cap IS NOT NULL THEN k.cap - (
            SELECT count(*) FROM tasks_task t
            WHERE t.type_id = k.id AND t.status IN ('RUNNING', 'CANCELLING')) END,
        CASE WHEN k.rate_count IS NOT NULL THEN floor({_tokens}) END) AS quota
    FROM tasks_tasktype k
    WHERE k.id = ANY(%(types)s) AND NOT k.paused
      AND (k.breaker = 'CLOSED' OR k.id IN (SELECT id FROM probe))
), due AS (
    SELECT t.*, ready.quota, row_number() OVER (
        PARTITION BY t.type_id ORDER BY t.priority DESC, t.run_after, t.id) AS place
    FROM ready JOIN lane ON lane.type_id = ready.id CROSS JOIN LATERAL (
        SELECT p.id, p.type_id, p.priority, p.run_after FROM tasks_task p
        WHERE p.status = 'PENDING' AND p.type_id = lane.type_id AND p.queue = lane.queue
          AND p.priority = lane.priority AND p.run_after <= statement_timestamp()
        ORDER BY p.run_after, p.id LIMIT %(reach)s) t
    WHERE (ready.quota IS NULL OR ready.quota > 0)
      AND (%(queues)s::text[] IS NULL OR lane.queue = ANY(%(queues)s))
), first AS MATERIALIZED (
    SELECT id FROM due WHERE quota IS NULL OR place <= quota
    ORDER BY priority DESC, run_after, id LIMIT %(reach)s
), picked AS MATERIALIZED (
    SELECT id FROM tasks_task
    WHERE id = ANY(ARRAY(SELECT id FROM first)) AND status = 'PENDING'
    ORDER BY priority DESC, run_after, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), started AS (
    UPDATE tasks_task SET status = 'RUNNING', attempt = attempt + 1, worker = %(worker)s,
        started_at = statement_timestamp(), progress = NULL,
        lease_until = statement_timestamp() + %(lease)s * interval '1 second'
    WHERE id = ANY(ARRAY(SELECT id FROM picked))
    RETURNING id, type_id, payload::text AS payload, attempt, max_attempts, priority, run_after,
              request_id
), told AS (
    INSERT INTO tasks_taskevent (task_id, kind, attempt, actor)
    SELECT id, 'started', attempt, %(worker)s FROM started
), spent AS (
    UPDATE tasks_tasktype k SET tokens = ready.tokens - (
            SELECT count(*) FROM started WHERE type_id = k.id),
        tokens_at = statement_timestamp()
    FROM ready WHERE ready.id = k.id AND ready.rate_count IS NOT NULL
      AND k.id IN (SELECT type_id FROM started)
)
SELECT s.id, s.type_id, s.payload, s.attempt, s.max_attempts, s.request_id,
       s.type_id IN (SELECT id FROM probe), (SELECT count(*) FROM first) AS seen,
       statement_timestamp() AS looked
FROM quick LEFT JOIN started s ON true ORDER BY s.priority DESC, s.run_after, s.id
"""
"""Take at most `limit` due tasks of the worker's types and queues, by priority, time and id.

Types that are paused, broken, at their cap or out of their rate are passed over. It looks at
`reach` candidates, more than it takes, because other workers may be taking the first ones. The
last columns say how many there were (with fewer taken than seen, it is worth asking again), and
when it looked.
"""

BEAT = f"""
WITH {_quick}, beat AS (
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
"""Renew the leases of the tasks that a worker has, and its own sign of life.

Comes back: the tasks that are still its own, and whether they are to be cancelled. It has lost
the others.
"""

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
    RETURNING t.id, t.type_id, t.status, t.attempt, g.failed, g.seconds, g.worker,
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
                                      seconds)
    SELECT type_id, date_bin('10 seconds', statement_timestamp(), 'epoch'),
        count(*) FILTER (WHERE status = 'SUCCEEDED'), count(*) FILTER (WHERE failed),
        count(*) FILTER (WHERE status = 'PENDING'), count(*) FILTER (WHERE status = 'DEAD'),
        count(*) FILTER (WHERE status = 'CANCELLED'), coalesce(sum(seconds), 0)
    FROM acked GROUP BY type_id ORDER BY type_id
    ON CONFLICT (type_id, slot) DO UPDATE SET
        succeeded = y.succeeded + excluded.succeeded, failed = y.failed + excluded.failed,
        retried = y.retried + excluded.retried, dead = y.dead + excluded.dead,
        cancelled = y.cancelled + excluded.cancelled, seconds = y.seconds + excluded.seconds
)
SELECT id, attempt, status FROM acked
"""
"""Write how attempts ended. Each is fenced by task, attempt and worker: of a task that was lost
meanwhile nothing is written, and it does not come back. A cancelled one ends as CANCELLED."""

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
"""Give tasks back whose attempt shall not count: not started, or cut off by the worker's end."""
