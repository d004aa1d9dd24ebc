"""Turns: within a priority, owners take turns, however many tasks one of them has waiting.

The claim looks at the oldest due tasks of each lane. If more are due than it looks at, one owner's
tasks may crowd out the others'. The next claim (`FROM_ALL_OWNERS`, which costs more) then also
looks at the oldest task of every owner, by jumps along the index `tasks_turns`. The parameter
`after` holds, for each priority, the owner who had the last turn at this worker; the next owner by
id goes first. So the same worker never skips an owner that it looks at twice.
"""

from __future__ import annotations

import re

from tasks.sql.enqueue import QUICK

# Represents tasks without an owner, as in the index.
_SITE = "'00000000-0000-0000-0000-000000000000'::uuid"
OWNER = f"coalesce(p.owner_id, {_SITE})"

# How many owners of a lane are looked at on either side of the last turn, and how many of them may
# have due tasks. Beyond that, tasks go in the order of their due times.
MOST_JUMPS, MOST_OWNERS = 100, 16

# The next owner of the lane `c` in the order of ids, with its earliest due time.
_NEXT = f"""
    SELECT {OWNER} AS owner, p.run_after FROM tasks_task p
    WHERE p.status = 'PENDING' AND NOT p.parked AND p.type_id = c.type_id
      AND p.queue = c.queue AND p.priority = c.priority AND {OWNER} %s
    ORDER BY {OWNER}, p.run_after LIMIT 1"""


def _sql_of_owner_turns(name: str, first: str, until: str) -> str:
    following = _NEXT % f"> {name}.owner"
    return f"""
        {name}(owner, run_after, n) AS (
            (SELECT f.*, 1 FROM ({_NEXT % first}) f WHERE {until.format("f")})
            UNION ALL
            SELECT f.*, {name}.n + 1 FROM {name} CROSS JOIN LATERAL ({following}) f
            WHERE {name}.n < {MOST_JUMPS} AND {until.format("f")})"""


# The owner that had the last turn with this worker in the priority `%s`. To be asked once a lane,
# because it reads the whole parameter.
LAST = f"coalesce((%%(after)s::jsonb ->> %s::text)::uuid, {_SITE})"

# Expects `ready` (types with their quota, and the owners to be left out), `oldest` (due tasks of
# each lane, with its queue, quota and last turn) and, for TRIAL_ROWS, `trial` (tasks that try out a
# broken owner's type).
AS_FOUND = """
candidate AS (
    SELECT id, type_id, priority, run_after, owner, quota, last FROM oldest
    TRIAL_ROWS
)"""

# Adds to the oldest those of other owners, where a lane is crowded; and leaves out what is less
# urgent than a crowded lane without a quota (`enough`). Of the owners only those that can be among
# the first `reach` are looked for: the jumps are made as they are read, in their order, and those
# around are not begun if there are enough behind the last turn.
FROM_ALL_OWNERS = f"""
crowded AS MATERIALIZED (
    SELECT type_id, queue, priority, last, min(quota) AS quota
    FROM oldest GROUP BY type_id, queue, priority, last HAVING count(*) >= %(reach)s
), enough AS MATERIALIZED (
    SELECT coalesce(max(priority), -32768) AS priority FROM crowded WHERE quota IS NULL
), present AS MATERIALIZED (
    SELECT c.*, o.owner, count(*) OVER (PARTITION BY c.type_id, c.queue, c.priority) AS owners
    FROM crowded c JOIN ready ON ready.id = c.type_id CROSS JOIN LATERAL (
        WITH RECURSIVE {_sql_of_owner_turns("behind", "> c.last", "true")},
        {_sql_of_owner_turns("around", f">= {_SITE}", "{0}.owner <= c.last")}
        SELECT owner FROM (
            (SELECT owner FROM behind WHERE run_after <= statement_timestamp()
             LIMIT {MOST_OWNERS})
            UNION ALL
            (SELECT owner FROM around WHERE run_after <= statement_timestamp()
             LIMIT {MOST_OWNERS})) found
        WHERE (owner = ANY(ready.without)) IS NOT TRUE LIMIT %(reach)s) o
    WHERE c.priority >= (SELECT priority FROM enough)
), candidate AS (
    SELECT id, type_id, priority, run_after, owner, quota, last FROM oldest
    WHERE priority >= (SELECT priority FROM enough)
    UNION
    SELECT t.*, o.quota, o.last FROM present o CROSS JOIN LATERAL (
        SELECT p.id, p.type_id, p.priority, p.run_after, {OWNER} AS owner FROM tasks_task p
        WHERE p.status = 'PENDING' AND NOT p.parked AND p.type_id = o.type_id
          AND p.queue = o.queue AND p.priority = o.priority AND {OWNER} = o.owner
          AND p.run_after <= statement_timestamp()
        ORDER BY p.run_after, p.id LIMIT 1 + %(reach)s / o.owners) t
    WHERE o.owners > 1
    TRIAL_ROWS
)"""

_IN_TURN = "priority DESC, round, owner <= last, owner, run_after, id"

# The candidates in turns: a round has one task of each owner and type. Candidates beyond the quota
# of their type are left out.
IN_TURNS = f"""
first AS MATERIALIZED (
    SELECT id, row_number() OVER () AS number FROM (
        SELECT id FROM (
            SELECT *, CASE WHEN quota IS NOT NULL THEN row_number() OVER (
                PARTITION BY type_id ORDER BY {_IN_TURN}) END AS place
            FROM (SELECT *, row_number() OVER (
                      PARTITION BY type_id, priority, owner ORDER BY run_after, id) AS round
                  FROM candidate) c) c
        WHERE quota IS NULL OR place <= quota
        ORDER BY {_IN_TURN} LIMIT %(reach)s) c
)"""


# Statements about runs: leases, beginnings, results, and tasks that are given back.


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


# Lanes of pending tasks, and parking, which keeps the heads of lanes clear.


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


# Statements that claim tasks for a worker, and find out when the next one is due.


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
