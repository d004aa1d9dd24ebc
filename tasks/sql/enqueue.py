"""The statements of the hot path, each with a name and a sentence. Everything else uses the ORM.

Time is the database's everywhere: `statement_timestamp()`, which unlike `now()` moves on within a
transaction. `quick` lets a commit not wait for the disk: what a crash of the server could lose by
it (a claim, a renewed lease) only makes a task run again, which handlers must bear anyway. Exactly
a task that a worker has, one that is RUNNING or CANCELLING, has a `lease_until`; asking for that,
and not for the status, keeps the planner on the primary key.
"""

from __future__ import annotations

# Workers listen here: `work` says that something is due, `cancel` that a run is to end.
CHANNEL = "tasks"

QUICK = "quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))"

# Insert any number of tasks, each with its event, and nothing for a known idempotency key.
#
# They go in by their keys, so that two who bring the same ones do not wait for each other in a
# ring. Parts of a WITH, for any statement that writes something and a task along with it. The
# parameter `tasks` is made by `enqueue_parameter`; a task whose type has no row is left out.
ENQUEUE_PARTS = """
tasks_given AS MATERIALIZED (
    SELECT g.*, k.id AS type_id, k.queue AS usual_queue, k.max_attempts AS usual_attempts
    FROM json_to_recordset(%(tasks)s::json) AS g(
        n int, id uuid, key text, version int, payload text, priority smallint,
        run_after timestamptz, delay_seconds float8, max_attempts smallint, queue text,
        idempotency_key text, owner_id uuid, producer text, request_id text, trace text)
    JOIN tasks_tasktype k ON k.key = g.key AND k.version = g.version
), tasks_made AS (
    INSERT INTO tasks_task (id, type_id, payload, priority, run_after, max_attempts, queue,
                            idempotency_key, owner_id, producer, request_id, trace)
    SELECT id, type_id, payload::jsonb, priority,
           coalesce(run_after, statement_timestamp() + delay_seconds * interval '1 second'),
           coalesce(max_attempts, usual_attempts), coalesce(queue, usual_queue),
           idempotency_key, owner_id, producer, request_id, trace
    FROM tasks_given ORDER BY type_id, owner_id, idempotency_key, n
    ON CONFLICT DO NOTHING RETURNING id, producer
), tasks_told AS (
    INSERT INTO tasks_taskevent (task_id, kind, actor)
    SELECT id, 'enqueued', producer FROM tasks_made
)"""

# The same as a statement: for each task that has a type its number, the type, its id if new.
ENQUEUE = f"""
WITH {ENQUEUE_PARTS}
SELECT n, type_id, CASE WHEN id IN (SELECT id FROM tasks_made) THEN id END
FROM tasks_given ORDER BY n
"""

# Wake the workers, if one may sleep; to be sent after the commit that made something due.
#
# A worker first says that it may sleep, then looks again: so one of the two sees the other. A
# NOTIFY within the writing transaction would make all commits wait for each other.
WAKE = """
SELECT pg_notify('tasks', 'work') WHERE EXISTS (SELECT FROM tasks_taskworker WHERE sleeping)
"""
