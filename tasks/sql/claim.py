"""Statements that claim tasks for a worker, and find out when the next one is due."""

from __future__ import annotations

import re

from tasks.sql.enqueue import QUICK
from tasks.sql.queues import LANES, STOPPED_OWNERS
from tasks.sql.turns import AS_FOUND, FROM_ALL_OWNERS, IN_TURNS, LAST, OWNER

# Lock the types with a cap or a rate. The claim that follows is a separate statement with a newer
# snapshot, so it sees what the last holder of the lock claimed.
LOCK_BOUND = """
SELECT id FROM tasks_tasktype WHERE id = ANY(%(bound)s) ORDER BY id FOR NO KEY UPDATE
"""

_tokens = """
least(k.rate_count, k.tokens + k.rate_count / k.rate_seconds * coalesce(
    extract(epoch FROM statement_timestamp() - k.tokens_at)::float8, k.rate_seconds))"""
# How many runs a rate allows now: a token bucket that starts full and refills with time.

# Take at most `limit` due tasks of the worker's types and queues, by priority, then in turns.
#
# The claim skips types that are paused, broken, at their cap or beyond their rate. It also skips
# the tasks of owners who have paused the type, or for whom its breaker is open; of the latter, it
# tries one a minute (`trial`). A last attempt counts as begun only after `MARK_BEGUN`, any other
# attempt at once. The claim looks at `reach` candidates, more than it takes, because other workers
# may take the first ones. The last columns are the number of candidates (if more were seen than
# taken, claim again soon) and the time of the claim.
_CLAIM = f"""
WITH RECURSIVE {QUICK}, {LANES}, turn AS MATERIALIZED (
    SELECT lane.*, {LAST % "lane.priority"} AS last FROM lane
), probe AS (
    UPDATE tasks_tasktype k SET breaker_probe_at = statement_timestamp() + interval '1 minute'
    WHERE k.breaker = 'OPEN' AND NOT k.paused AND k.id = ANY(%(types)s)
      AND k.breaker_probe_at <= statement_timestamp()
      AND (SELECT 1 FROM tasks_task t WHERE t.status = 'PENDING' AND NOT t.parked
           AND t.type_id = k.id AND t.run_after <= statement_timestamp()
           AND (%(queues)s::text[] IS NULL OR t.queue = ANY(%(queues)s)) LIMIT 1) = 1
    RETURNING k.id
), ready AS MATERIALIZED (
    SELECT k.id, (SELECT array_agg(owner_id) FROM {STOPPED_OWNERS} z
                  WHERE z.type_id = k.id) AS without, k.rate_count, {_tokens} AS tokens, least(
        CASE WHEN k.breaker = 'OPEN' THEN 1 END,
        CASE WHEN k.cap IS NOT NULL THEN k.cap - (
            SELECT count(*) FROM tasks_task t
            WHERE t.type_id = k.id AND t.status IN ('RUNNING', 'CANCELLING')) END,
        CASE WHEN k.rate_count IS NOT NULL THEN floor({_tokens}) END) AS quota
    FROM tasks_tasktype k
    WHERE k.id = ANY(%(types)s) AND NOT k.paused
      AND (k.breaker = 'CLOSED' OR k.id IN (SELECT id FROM probe))
), TRIAL oldest AS MATERIALIZED (
    SELECT t.*, lane.queue, lane.last, ready.quota
    FROM ready JOIN turn lane ON lane.type_id = ready.id CROSS JOIN LATERAL (
        SELECT p.id, p.type_id, p.priority, p.run_after, {OWNER} AS owner FROM tasks_task p
        WHERE p.status = 'PENDING' AND NOT p.parked AND p.type_id = lane.type_id
          AND p.queue = lane.queue AND p.priority = lane.priority
          AND p.run_after <= statement_timestamp()
          AND (p.owner_id = ANY(ready.without)) IS NOT TRUE
        ORDER BY p.run_after, p.id LIMIT %(reach)s) t
    WHERE (ready.quota IS NULL OR ready.quota > 0)
      AND (%(queues)s::text[] IS NULL OR lane.queue = ANY(%(queues)s))
), CANDIDATES, {IN_TURNS}, picked AS MATERIALIZED (
    SELECT t.id, first.number FROM first JOIN tasks_task t ON t.id = first.id
    WHERE t.status = 'PENDING'
    ORDER BY first.number LIMIT %(limit)s FOR UPDATE OF t SKIP LOCKED
), started AS (
    UPDATE tasks_task SET status = 'RUNNING', attempt = attempt + 1, worker = %(worker)s,
        started_at = statement_timestamp(), progress = NULL, begun = attempt + 1 < max_attempts,
        lease_until = statement_timestamp() + %(lease)s * interval '1 second', parked = false
    WHERE id = ANY(ARRAY(SELECT id FROM picked))
    RETURNING id, type_id, payload::text AS payload, attempt, max_attempts, priority, run_after,
              request_id, owner_id, trace
), told AS (
    INSERT INTO tasks_taskevent (task_id, kind, attempt, actor)
    SELECT id, 'started', attempt, %(worker)s FROM started
), TRIED spent AS (
    UPDATE tasks_tasktype k SET tokens = ready.tokens - (
            SELECT count(*) FROM started WHERE type_id = k.id),
        tokens_at = statement_timestamp()
    FROM ready WHERE ready.id = k.id AND ready.rate_count IS NOT NULL
      AND k.id IN (SELECT type_id FROM started)
)
SELECT s.id, s.type_id, s.payload, s.attempt, s.max_attempts, s.request_id, s.owner_id, s.trace,
       s.type_id IN (SELECT id FROM probe) IS_TRIAL, s.priority,
       (SELECT count(*) FROM first) AS seen, statement_timestamp() AS looked
FROM quick LEFT JOIN (started s JOIN picked USING (id)) ON true ORDER BY picked.number
"""

# The claim also looks at this while a breaker is open for an owner: their next task, a minute
# after the last one. Without it a claim takes a tenth less of the database's CPU.
_TRIALS = {
    "TRIAL": f"""
trial AS MATERIALIZED (
    SELECT t.*, ready.quota, b.id AS breaker_id, {LAST % "t.priority"} AS last
    FROM ready JOIN tasks_taskownerbreaker b ON b.type_id = ready.id CROSS JOIN LATERAL (
        SELECT p.id, p.type_id, p.priority, p.run_after, p.owner_id AS owner FROM tasks_task p
        WHERE p.owner_id = b.owner_id AND p.status = 'PENDING' AND p.type_id = b.type_id
          AND p.run_after <= statement_timestamp()
          AND (%(queues)s::text[] IS NULL OR p.queue = ANY(%(queues)s))
        ORDER BY p.id LIMIT 1) t
    WHERE (ready.quota IS NULL OR ready.quota > 0)
      AND b.breaker = 'OPEN' AND b.probe_at <= statement_timestamp() AND NOT EXISTS (
        SELECT FROM tasks_taskpause z WHERE z.type_id = b.type_id AND z.owner_id = b.owner_id)
),
""",
    "TRIAL_ROWS": """
UNION ALL SELECT id, type_id, priority, run_after, owner, quota, last FROM trial
""",
    "TRIED": """
tried AS (
    UPDATE tasks_taskownerbreaker SET probe_at = statement_timestamp() + interval '1 minute'
    WHERE id IN (SELECT breaker_id FROM trial JOIN started USING (id))
),
""",
    "IS_TRIAL": "OR s.id IN (SELECT id FROM trial)",
}


def _claim_statement(*, is_crowded: bool, has_trials: bool) -> str:
    """Return the claim, for lanes in which more is due than the last claim looked at, or not.

    `has_trials`: a breaker may be open for an owner.
    """
    text = _CLAIM.replace("CANDIDATES", FROM_ALL_OWNERS if is_crowded else AS_FOUND)
    return re.sub(
        "|".join(rf"\b{name}\b" for name in _TRIALS),
        lambda found: _TRIALS[found[0]] if has_trials else "",
        text,
    )


# By is_crowded and has_trials.
CLAIMS = {
    (crowded, trials): _claim_statement(is_crowded=crowded, has_trials=trials)
    for crowded in (False, True)
    for trials in (False, True)
}

# Seconds until the worker's next task may run: by its due time, a probe, or its type's rate.
# Tasks count that were not due when the last claim looked: one may have become due since.
NEXT_DUE = f"""
WITH RECURSIVE {LANES}
SELECT extract(epoch FROM least(
    (SELECT min(next.run_after) FROM lane JOIN tasks_tasktype k ON k.id = lane.type_id
     CROSS JOIN LATERAL (
        SELECT run_after FROM tasks_task
        WHERE status = 'PENDING' AND NOT parked AND type_id = lane.type_id AND queue = lane.queue
          AND priority = lane.priority AND run_after > %(looked)s
        ORDER BY run_after LIMIT 1) next
     WHERE k.id = ANY(%(types)s) AND NOT k.paused AND k.breaker = 'CLOSED'
       AND (%(queues)s::text[] IS NULL OR lane.queue = ANY(%(queues)s))),
    (SELECT min(breaker_probe_at) FROM tasks_tasktype
     WHERE id = ANY(%(types)s) AND breaker = 'OPEN' AND NOT paused
       AND breaker_probe_at > %(looked)s),
    (SELECT min(probe_at) FROM tasks_taskownerbreaker
     WHERE type_id = ANY(%(types)s) AND breaker = 'OPEN' AND probe_at > %(looked)s),
    (SELECT min(tokens_at + (ceil(greatest(tokens, 0) + 0.001) - tokens) * rate_seconds / rate_count
                * interval '1 second')
     FROM tasks_tasktype
     WHERE id = ANY(%(types)s) AND tokens < 1 AND rate_count IS NOT NULL AND NOT paused
       AND tokens_at > statement_timestamp() - rate_seconds / rate_count * interval '1 second')
) - statement_timestamp())::float8
"""
