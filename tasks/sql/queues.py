"""Lanes of pending tasks, and parking, which keeps the heads of lanes clear."""

from __future__ import annotations

LANES = """
lane AS (
    (SELECT type_id, queue, priority FROM tasks_task WHERE status = 'PENDING' AND NOT parked
     ORDER BY type_id, queue, priority LIMIT 1)
    UNION ALL
    SELECT n.type_id, n.queue, n.priority FROM lane l CROSS JOIN LATERAL (
        SELECT t.type_id, t.queue, t.priority FROM tasks_task t
        WHERE t.status = 'PENDING' AND NOT t.parked
          AND (t.type_id, t.queue, t.priority) > (l.type_id, l.queue, l.priority)
        ORDER BY t.type_id, t.queue, t.priority LIMIT 1) n
)"""
# Lanes: every combination of type, queue and priority with pending tasks, found by index jumps.

# Owners whose tasks of a type are skipped: they have paused it, or its breaker is open for them.
STOPPED_OWNERS = """(
    SELECT type_id, owner_id FROM tasks_taskpause
    UNION ALL SELECT type_id, owner_id FROM tasks_taskownerbreaker WHERE breaker = 'OPEN'
)"""

# Batch size of `PARK` and `UNPARK`: about 30 ms.
PARKED_AT_ONCE = 1_000

# Move the first tasks of stopped owners, one batch, out of the claim's way. The claim skips the
# others one by one, which is cheap while they are few.
PARK = f"""
WITH RECURSIVE {LANES}, ahead AS MATERIALIZED (
    SELECT t.id FROM (SELECT DISTINCT type_id FROM {STOPPED_OWNERS} z) k
    JOIN lane ON lane.type_id = k.type_id CROSS JOIN LATERAL (
        SELECT p.id, p.type_id, p.owner_id FROM tasks_task p
        WHERE p.status = 'PENDING' AND NOT p.parked AND p.type_id = lane.type_id
          AND p.queue = lane.queue AND p.priority = lane.priority
          AND p.run_after <= statement_timestamp()
        ORDER BY p.run_after, p.id LIMIT %(batch)s) t
    WHERE EXISTS (SELECT FROM {STOPPED_OWNERS} z
                  WHERE z.type_id = t.type_id AND z.owner_id = t.owner_id)
    LIMIT %(batch)s
), taken AS MATERIALIZED (
    SELECT id FROM tasks_task WHERE id = ANY(ARRAY(SELECT id FROM ahead)) AND status = 'PENDING'
    ORDER BY id FOR UPDATE SKIP LOCKED
)
UPDATE tasks_task SET parked = true WHERE id = ANY(ARRAY(SELECT id FROM taken)) RETURNING 1
"""

# Unpark a batch of tasks whose owner is no longer stopped.
UNPARK = f"""
WITH RECURSIVE owner AS (
    (SELECT type_id, owner_id FROM tasks_task WHERE status = 'PENDING' AND parked
     ORDER BY type_id, owner_id LIMIT 1)
    UNION ALL
    SELECT n.type_id, n.owner_id FROM owner o CROSS JOIN LATERAL (
        SELECT t.type_id, t.owner_id FROM tasks_task t
        WHERE t.status = 'PENDING' AND t.parked
          AND (t.type_id, t.owner_id) > (o.type_id, o.owner_id)
        ORDER BY t.type_id, t.owner_id LIMIT 1) n
), free AS MATERIALIZED (
    SELECT t.id FROM owner o CROSS JOIN LATERAL (
        SELECT id FROM tasks_task WHERE status = 'PENDING' AND parked
          AND type_id = o.type_id AND owner_id = o.owner_id LIMIT %(batch)s) t
    WHERE NOT EXISTS (SELECT FROM {STOPPED_OWNERS} z
                      WHERE z.type_id = o.type_id AND z.owner_id = o.owner_id)
    LIMIT %(batch)s
), taken AS MATERIALIZED (
    SELECT id FROM tasks_task WHERE id = ANY(ARRAY(SELECT id FROM free)) AND status = 'PENDING'
    ORDER BY id FOR UPDATE SKIP LOCKED
)
UPDATE tasks_task SET parked = false WHERE id = ANY(ARRAY(SELECT id FROM taken)) RETURNING 1
"""

# Whether there may be tasks to park, tasks to unpark, and owners' breakers to try out.
FOR_PARKING = f"""
SELECT EXISTS (SELECT FROM {STOPPED_OWNERS} z),
       EXISTS (SELECT FROM tasks_task WHERE status = 'PENDING' AND parked),
       EXISTS (SELECT FROM tasks_taskownerbreaker WHERE breaker = 'OPEN')
"""
