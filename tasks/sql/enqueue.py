"""SQL with which several rooms enqueue tasks and wake workers; conventions of all hot statements.

All times come from the database: `statement_timestamp()`, which unlike `now()` advances within a
transaction. `quick` makes a commit not wait for the disk. A server crash can then lose a claim or a
renewed lease, which only makes a task run again, and handlers must allow for that anyway. A task
has a `lease_until` exactly while a worker owns it (RUNNING or CANCELLING). Statements check that
column instead of the status, which keeps the planner on the primary key. The check is written as
`coalesce(… IS NOT NULL, false)`: for the bare one, statistics promise the planner that hardly any
task is owned, and it reads all tasks to find those few, then compares each with all it is given.
"""

from __future__ import annotations

# Workers listen here: `work` means that a task is due, `cancel` that a run must end.
CHANNEL = "tasks"

QUICK = "quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))"

# Insert tasks, each with its event, but nothing for a known idempotency key.
#
# The tasks arrive in columns: their ids, payloads and keys, and for each the number of its `kind`,
# which has everything that tasks of a batch usually have in common. `keys` and `of` may be left
# out: no task has a key, all are of the first kind.
#
# Rows are inserted in the order of their keys, so that two callers with the same keys cannot
# deadlock. These are parts of a WITH, for any statement that writes a task together with other
# rows. `enqueue_parameter` makes the parameter `tasks`. Tasks whose type has no row are left out.
ENQUEUE_PARTS = """
tasks_kinds AS MATERIALIZED (
    SELECT kind.*, k.id AS type_id, k.queue AS usual_queue, k.max_attempts AS usual_attempts
    FROM jsonb_to_recordset(%(tasks)s::jsonb -> 'kinds') AS kind(
        number int, key text, version int, priority smallint, run_after timestamptz,
        delay_seconds float8, max_attempts smallint, queue text, owner_id uuid, producer text,
        request_id text, trace text)
    JOIN tasks_tasktype k ON k.key = kind.key AND k.version = kind.version
), tasks_given AS MATERIALIZED (
    SELECT g.*, kind.* FROM ROWS FROM (
        unnest((%(tasks)s::jsonb ->> 'ids')::uuid[]),
        jsonb_array_elements(%(tasks)s::jsonb -> 'payloads'),
        jsonb_array_elements_text(%(tasks)s::jsonb -> 'keys'),
        jsonb_array_elements_text(%(tasks)s::jsonb -> 'of')
    ) WITH ORDINALITY AS g(id, payload, idempotency_key, of_kind, n)
    JOIN tasks_kinds kind ON kind.number = coalesce(g.of_kind::int, 0)
), tasks_made AS (
    INSERT INTO tasks_task (id, type_id, payload, priority, run_after, max_attempts, queue,
                            idempotency_key, owner_id, producer, request_id, trace)
    SELECT id, type_id, payload, priority,
           coalesce(run_after, statement_timestamp() + delay_seconds * interval '1 second'),
           coalesce(max_attempts, usual_attempts), coalesce(queue, usual_queue),
           idempotency_key, owner_id, producer, request_id, trace
    FROM tasks_given ORDER BY type_id, owner_id, idempotency_key, n
    ON CONFLICT DO NOTHING RETURNING id, producer
), tasks_told AS (
    INSERT INTO tasks_taskevent (task_id, kind, actor)
    SELECT id, 'enqueued', producer FROM tasks_made
)"""


def without_keys(parts: str) -> str:
    """Leave out what only idempotency keys need: the order, and a look for each and its result."""
    for text, instead in (
        ("ORDER BY type_id, owner_id, idempotency_key, n", ""),
        ("ON CONFLICT DO NOTHING RETURNING id, producer", ""),
        ("producer FROM tasks_made", "producer FROM tasks_given"),
    ):
        parts = parts.replace(text, instead)
    return parts


# Wake the workers if one may be asleep. Send this after the commit that made a task due.
#
# A worker first records that it may sleep, then looks for tasks again, so either the worker sees
# the task or this statement sees the worker. A NOTIFY inside the writing transaction would make all
# commits wait for each other.
WAKE = """
SELECT pg_notify('tasks', 'work') WHERE EXISTS (SELECT FROM tasks_taskworker WHERE sleeping)
"""
