"""Claim of due tasks. Within a priority, owners take turns, however many tasks one has waiting.

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


def _owner_turns(name: str, first: str, until: str) -> str:
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
    SELECT type_id, queue, priority, last, floor, min(quota) AS quota
    FROM oldest GROUP BY type_id, queue, priority, last, floor HAVING count(*) >= %(reach)s
), enough AS MATERIALIZED (
    SELECT coalesce(max(priority), -32768) AS priority FROM crowded WHERE quota IS NULL
), present AS MATERIALIZED (
    SELECT c.*, o.owner, count(*) OVER (PARTITION BY c.type_id, c.queue, c.priority) AS owners
    FROM crowded c JOIN ready ON ready.id = c.type_id CROSS JOIN LATERAL (
        WITH RECURSIVE {_owner_turns("behind", "> c.last", "true")},
        {_owner_turns("around", f">= {_SITE}", "{0}.owner <= c.last")}
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
          AND p.run_after BETWEEN o.floor AND statement_timestamp()
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


# Lanes of pending tasks, and parking, which keeps the heads of lanes clear.


_NEXT_LANE = """
    SELECT coalesce(u.type_id, k.type_id) AS type_id, coalesce(u.queue, k.queue) AS queue,
           coalesce(u.priority, k.priority) AS priority,
           CASE WHEN u.type_id IS NULL THEN k.floor ELSE '-infinity' END AS floor
    FROM (SELECT) AS one LEFT JOIN LATERAL (
        SELECT * FROM known WHERE (known.type_id, known.queue, known.priority)
            > (l.type_id, l.queue, l.priority) ORDER BY type_id, queue, priority LIMIT 1) k ON true
    LEFT JOIN LATERAL (
        SELECT t.type_id, t.queue, t.priority FROM tasks_task t
        WHERE t.status = 'PENDING' AND NOT t.parked
          AND (t.type_id, t.queue, t.priority) > (l.type_id, l.queue, l.priority)
          AND (t.type_id, t.queue, t.priority)
            < (coalesce(k.type_id, 9223372036854775807), coalesce(k.queue, ''),
               coalesce(k.priority, 0))
        ORDER BY t.type_id, t.queue, t.priority LIMIT 1) u ON true
    WHERE coalesce(u.type_id, k.type_id) IS NOT NULL"""

# Lanes: every combination of type, queue and priority with pending tasks, found by index jumps.
#
# While a snapshot is held, the entries of tasks that have been claimed since stay in the index, in
# front of the pending ones. So a worker says in `lanes` which lanes it knows, each with its floor:
# nothing that is due before it was pending when the worker last looked. The jumps pass over known
# lanes, and what reads a lane begins at its floor.
LANES_FROM_FLOORS = f"""
known AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(lanes)s::json) AS k(
        type_id bigint, queue varchar, priority smallint, floor timestamptz)
), lane AS (
    SELECT n.* FROM (VALUES (0::bigint, ''::varchar, 0::smallint)) l(type_id, queue, priority)
    CROSS JOIN LATERAL ({_NEXT_LANE}) n
    UNION ALL
    SELECT n.* FROM lane l CROSS JOIN LATERAL ({_NEXT_LANE}) n
)"""

LANES = LANES_FROM_FLOORS.replace("%(lanes)s", "'[]'")

# A task enters its lane when its transaction commits, at most so much after its due time. One that
# comes later, or is returned to its lane, waits for the next look at everything.
LATE = "interval '1 second'"

# Owners whose tasks of a type are skipped: they have paused it, or its breaker is open for them.
STOPPED_OWNERS = """(
    SELECT type_id, owner_id FROM tasks_taskpause
    UNION ALL SELECT type_id, owner_id FROM tasks_taskownerbreaker WHERE breaker = 'OPEN'
)"""

# Batch size of parking and `UNPARK`: about 30 ms.
PARKED_AT_ONCE = 1_000

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


# The claim.


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
# may take the first ones. The last columns are the floors of the lanes it has looked at (in the
# first row), the number of candidates (if more were seen than taken, claim again soon) and the time
# of the claim.
_CLAIM = f"""
WITH RECURSIVE {QUICK}, {LANES_FROM_FLOORS}, turn AS MATERIALIZED (
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
    SELECT t.*, lane.queue, lane.last, lane.floor, ready.quota
    FROM ready JOIN turn lane ON lane.type_id = ready.id CROSS JOIN LATERAL (
        SELECT p.id, p.type_id, p.priority, p.run_after, {OWNER} AS owner FROM tasks_task p
        WHERE p.status = 'PENDING' AND NOT p.parked AND p.type_id = lane.type_id
          AND p.queue = lane.queue AND p.priority = lane.priority
          AND p.run_after BETWEEN lane.floor AND statement_timestamp()
          AND (p.owner_id = ANY(ready.without)) IS NOT TRUE
        ORDER BY p.run_after, p.id LIMIT %(reach)s) t
    WHERE (ready.quota IS NULL OR ready.quota > 0)
      AND (%(queues)s::text[] IS NULL OR lane.queue = ANY(%(queues)s))
), floors AS (
    SELECT type_id, queue, priority, min(run_after) AS floor FROM (
        SELECT type_id, queue, priority, run_after FROM oldest
        UNION ALL
        SELECT lane.type_id, lane.queue, lane.priority, statement_timestamp() - {LATE}
        FROM ready JOIN turn lane ON lane.type_id = ready.id
        WHERE (ready.quota IS NULL OR ready.quota > 0)
          AND (%(queues)s::text[] IS NULL OR lane.queue = ANY(%(queues)s))) f
    GROUP BY type_id, queue, priority
), CANDIDATES, {IN_TURNS}, picked AS MATERIALIZED (
    SELECT t.id, first.number FROM first JOIN tasks_task t ON t.id = first.id
    WHERE t.status = 'PENDING'
    ORDER BY first.number LIMIT %(limit)s FOR UPDATE OF t SKIP LOCKED
), started AS (
    UPDATE tasks_task t SET status = 'RUNNING', attempt = t.attempt + 1, worker = %(worker)s,
        started_at = statement_timestamp(), progress = NULL,
        begun = t.attempt + 1 < t.max_attempts, parked = false,
        lease_until = statement_timestamp() + %(lease)s * interval '1 second'
    FROM picked WHERE t.id = picked.id
    RETURNING t.id, t.type_id, t.payload::text AS payload, t.attempt, t.max_attempts, t.priority,
              t.request_id, t.owner_id, t.trace, picked.number
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
SELECT s.id::text, s.type_id, s.payload, s.attempt, s.max_attempts, s.request_id,
       s.owner_id::text, s.trace, s.type_id IN (SELECT id FROM probe) IS_TRIAL, s.priority,
       CASE WHEN s.number IS NOT DISTINCT FROM (SELECT min(number) FROM picked)
            THEN (SELECT json_agg(floors)::text FROM floors) END AS floors,
       (SELECT count(*) FROM first) AS seen, statement_timestamp()::text AS looked
FROM quick LEFT JOIN started s ON true ORDER BY s.number
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
