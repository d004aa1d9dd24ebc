"""Circuit breakers: when nearly all runs of a type fail, try only one run a minute.

Each owner has its own breaker for each type, so failures of one company do not stop another. The
breaker of the type itself applies to everyone, and opens when runs of several owners fail. The
claim skips tasks behind an open breaker, except for one probe a minute. `control.resume` closes a
breaker by hand.
"""

from __future__ import annotations

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
