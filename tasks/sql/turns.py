"""Turns: within a priority, owners take turns, however many tasks one of them has waiting.

The claim looks at the oldest due tasks of each lane. If more are due than it looks at, one owner's
tasks may crowd out the others'. The next claim (`FROM_ALL_OWNERS`, which costs more) then also
looks at the oldest task of every owner, by jumps along the index `tasks_turns`. The parameter
`after` holds, for each priority, the owner who had the last turn at this worker; the next owner by
id goes first. So the same worker never skips an owner that it looks at twice.
"""

from __future__ import annotations

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
