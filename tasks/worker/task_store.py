"""Task store: a worker's reads and writes of its attempts in the database."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import Error, connection

from tasks import registry
from tasks.json import as_json
from tasks.models import NO_OWNER, Status
from tasks.sql.claim import LANES, LANES_FROM_FLOORS, PARKED_AT_ONCE, STOPPED_OWNERS, UNPARK
from tasks.sql.enqueue import QUICK, WAKE
from tasks.worker.attempt import Attempt
from tasks.worker.connection import Unavailable, WorkerConnection, as_array
from tasks.worker.options import Options

log = logging.getLogger(__name__)

# Renew a worker's leases and its heartbeat. Returns the tasks that it still owns, each with whether
# to cancel it. It has lost the others.
RENEW_LEASES = f"""
WITH {QUICK}, beat AS (
    UPDATE tasks_task t SET lease_until = statement_timestamp() + %(lease)s * interval '1 second'
    FROM unnest(%(ids)s::uuid[], %(attempts)s::int[]) AS held(id, attempt)
    WHERE t.id = held.id AND t.attempt = held.attempt AND t.worker = %(worker)s
      AND coalesce(t.lease_until IS NOT NULL, false)
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
      AND coalesce(t.lease_until IS NOT NULL, false)
    RETURNING t.id
)
SELECT b.id FROM quick CROSS JOIN begun b
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
      AND coalesce(t.lease_until IS NOT NULL, false)
    RETURNING t.id, t.attempt, t.status
)
INSERT INTO tasks_taskevent (task_id, kind, attempt, actor)
SELECT id, CASE status WHEN 'PENDING' THEN 'returned' ELSE 'cancelled' END, attempt, %(worker)s
FROM back
"""

# Take tasks from workers whose lease has expired: to the next attempt, or to the dead letters. An
# attempt that certainly had not begun does not count. A lease that its worker is just renewing is
# locked, and skipped. With `since`, only leases that ended in that many seconds are looked at.
# Their order is the index's: if they were ordered by id, the planner would go through all tasks
# where its statistics come from a moment at which many were held.
REAP = """
WITH expired AS MATERIALIZED (
    SELECT t.id FROM tasks_tasktype k CROSS JOIN LATERAL (
        SELECT id FROM tasks_task t
        WHERE t.type_id = k.id AND t.status IN ('RUNNING', 'CANCELLING')
          AND t.lease_until < statement_timestamp() AND t.lease_until >= coalesce(
            statement_timestamp() - %(since)s::float8 * interval '1 second', '-infinity')
        ORDER BY lease_until LIMIT %(most)s FOR UPDATE SKIP LOCKED) t
    LIMIT %(most)s
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
REAPED_AT_ONCE = 1000
# A lease that a statement grants can have ended this long before others see it, at most: see
# `statement_timeout` in the session of a worker.
LATE_LEASE_SECONDS = 15.0


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
     AND coalesce(t.lease_until IS NOT NULL, false)
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

# Whether there may be tasks to park, tasks to unpark, and owners' breakers to try out.
FOR_PARKING = f"""
SELECT EXISTS (SELECT FROM {STOPPED_OWNERS} z),
       EXISTS (SELECT FROM tasks_task WHERE status = 'PENDING' AND parked),
       EXISTS (SELECT FROM tasks_taskownerbreaker WHERE breaker = 'OPEN')
"""

# Seconds until the worker's next task may run: by its due time, a probe, or its type's rate.
# Tasks count that were not due when the last claim looked: one may have become due since.
NEXT_DUE = f"""
WITH RECURSIVE {LANES_FROM_FLOORS}
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


GOODBYE = "DELETE FROM tasks_taskworker WHERE name = %(worker)s"
SLACK = 8

# A claim that looks at everything and takes longer than this probably goes through the entries of
# ended tasks, which a snapshot holds. The next one follows after LOOK_SHARE times as long, but soon
# enough for a task that was given back; until then, claims begin at the floors of MOST_LANES lanes.
SLOW_LOOK_SECONDS, LOOK_SHARE, LONGEST_PAUSE_SECONDS, MOST_LANES = 0.003, 200, 10.0, 64
EVERYTHING = "[]"

Accepted = set[tuple[str, int]]


class TaskStore:
    """Claims, leases and results of a worker. It keeps no attempts. Calls raise Unavailable.

    `connection` also receives the announcements of other processes.
    """

    def __init__(self, worker: str, options: Options) -> None:
        self.worker = worker
        self.options = options
        self.connection = WorkerConnection()
        self._specs: dict[int, registry.TaskSpec] = {}
        self._bound: list[int] = []  # types with a cap or a rate
        self._is_sleeping: bool | None = None
        self._looked: str | None = None
        self._is_crowded = False
        self._has_trials = True  # as the last check of tasks to park found
        self._last_turns: dict[int, str] = {}  # last claimed owner, by priority
        self._lanes: dict[tuple[int, str, int], str] = {}  # with its floor, as the claim expects
        self._reaped_at = self._reap_all_at = 0.0
        self._look_at = 0.0  # when to look at everything again, not only from the floors on

    def claim(self, limit: int, *, only_urgent: bool = False) -> tuple[list[Attempt], int]:
        """Claim up to `limit` due tasks; return their attempts, and how many tasks were seen."""
        specs = self.known_types()
        types = [row for row, spec in specs.items() if spec.urgent or not only_urgent]
        now, lanes = time.monotonic(), self._known_lanes()
        parameters = {
            "types": as_array(types),
            "queues": list(self.options.queues) if self.options.queues else None,
            "limit": limit,
            "reach": limit * 3 // 2 + SLACK,
            "worker": self.worker,
            "lease": self.options.lease_seconds,
            "after": as_json(self._last_turns),
            "lanes": lanes,
        }
        rows = self.connection.claim(
            parameters,
            [row for row in self._bound if row in types],
            is_crowded=self._is_crowded and not only_urgent,
            has_trials=self._has_trials,
        )
        ends = now + self.options.lease_seconds
        attempts = []
        for task, type_id, payload, number, most, request, owner, trace, *more in rows:
            if task is not None:
                spec = specs[type_id]
                attempt = Attempt(
                    *(task, number, most, spec, payload, request, ends, now, owner, trace)
                )
                attempt.is_probe, priority, *_ = more
                self._last_turns[priority] = owner or str(NO_OWNER)
                attempts.append(attempt)
        *_, floors, seen, looked = rows[0]
        took = time.monotonic() - now
        if lanes == EVERYTHING and took > SLOW_LOOK_SECONDS:
            self._look_at = now + min(LOOK_SHARE * took, LONGEST_PAUSE_SECONDS)
        if now < self._look_at and floors:
            self._note_floors(json.loads(floors))
        if not only_urgent:
            self._looked, self._is_crowded = looked, seen >= parameters["reach"]
        return attempts, seen

    def renew_leases(self, held: Iterable[Attempt], *, running: int) -> dict[str, bool]:
        """Renew leases and the heartbeat; map each task still held to whether to cancel it."""
        parameters = {
            **self._fence(held),
            "lease": self.options.lease_seconds,
            "slots": self.options.slots,
            "queues": as_json(sorted(self.options.queues)) if self.options.queues else None,
            "types": as_json(sorted(self.options.types)) if self.options.types else None,
            "running": running,
        }
        rows = self.connection.rows(RENEW_LEASES, parameters)
        return {str(task): cancelled for task, cancelled in rows}

    def mark_begun(self, attempts: Iterable[Attempt]) -> set[str]:
        """Record that last attempts begin now; return the tasks that are still this worker's."""
        return {str(task) for (task,) in self.connection.rows(MARK_BEGUN, self._fence(attempts))}

    def give_back(self, attempts: Iterable[Attempt]) -> None:
        """Return these tasks to the queue; the attempts do not count."""
        self.connection.rows(GIVE_BACK, self._fence(attempts))

    def write_messages(self, messages: list[dict[str, Any]]) -> None:
        """Write the progress and events that handlers reported."""
        for n, message in enumerate(messages):
            message["n"] = n
            if message["kind"] == "emitted":
                data = message["data"]
                message["data"] = {"name": data["name"], "data": json.loads(data["data"])}
        if messages:
            parameters = {"messages": as_json(messages), "worker": self.worker}
            self.connection.rows(WRITE_MESSAGES, parameters)

    def announce(self, results: list[tuple[Attempt, dict[str, Any]]], accepted: Accepted) -> None:
        """Wake sleeping workers and open or close breakers, after results were written."""
        kept = []
        for attempt, result in results:
            if (attempt.task_id, attempt.number) in accepted:
                kept.append((attempt, result))
            else:
                log.warning(
                    "task %s: the acknowledgement of attempt %s came too late and was refused",
                    attempt.task_id,
                    attempt.number,
                )
        if any(result["outcome"] == Status.PENDING for _, result in kept):
            self.connection.rows(WAKE)  # so that a sleeping worker learns when the retry is due
        done = [attempt for attempt, result in kept if result["outcome"] == Status.SUCCEEDED]
        failed = [attempt for attempt, result in kept if result["failed"]]
        probes = [attempt for attempt in done if attempt.is_probe]
        self._run_for_owners(OPEN_OWNER_BREAKERS, failed)
        self._run_for_types(OPEN_BREAKERS, failed)
        self._run_for_owners(CLOSE_OWNER_BREAKERS, probes)
        self._run_for_types(CLOSE_BREAKERS, probes)
        self._run_for_types(WAKE_FOR_DUE, [attempt for attempt, _ in kept if attempt.spec.cap])

    def reap(self) -> list[Attempt]:
        """Take tasks from dead workers; return the attempts of tasks that became dead letters."""
        now, since = time.monotonic(), None
        if now < self._reap_all_at:
            since = now - self._reaped_at + LATE_LEASE_SECONDS
        rows = self.connection.rows(REAP, {"since": since, "most": REAPED_AT_ONCE})
        self._reaped_at = now
        if since is None and (took := time.monotonic() - now) > SLOW_LOOK_SECONDS:
            self._reap_all_at = now + min(LOOK_SHARE * took, LONGEST_PAUSE_SECONDS)
        if len(rows) == REAPED_AT_ONCE:
            self._reap_all_at = 0.0  # more of them may be left
        specs = self.known_types()
        dead = []
        for task, type_id, status, number, most, payload, request_id, owner, trace in rows:
            about = {"task_id": str(task), "request_id": request_id}
            log.warning("task %s: the lease of attempt %s has expired", task, number, extra=about)
            if status == Status.DEAD and (spec := specs.get(type_id)):
                attempt = Attempt(str(task), number, most, spec, payload, request_id, 0.0, 0.0)
                attempt.owner_id, attempt.trace = owner and str(owner), trace
                dead.append(attempt)
        if rows:
            owned = [(row[1], row[7]) for row in rows if row[7]]
            given = {"types": [of for of, _ in owned], "owners": [owner for _, owner in owned]}
            self.connection.rows(OPEN_OWNER_BREAKERS, given)
            self.connection.rows(OPEN_BREAKERS, {"types": sorted({row[1] for row in rows})})
            self.connection.rows(WAKE)
        return dead

    def park(self) -> int:
        """Park a batch of stopped tasks and unpark others; return the number moved.

        Also learn whether claims must try out owners' breakers. The first trial comes a minute
        after a breaker opens, many times later than the next call.
        """
        [(pauses, parked, self._has_trials)] = self.connection.rows(FOR_PARKING)
        batch = {"batch": PARKED_AT_ONCE}
        moved = len(self.connection.rows(PARK, batch)) if pauses else 0
        freed = len(self.connection.rows(UNPARK, batch)) if parked else 0
        if freed:
            self.connection.rows(WAKE)
        return moved + freed

    def set_sleeping(self, *, sleeping: bool) -> bool:
        """Record whether to wake this worker; return False if nothing changed."""
        if self._is_sleeping is sleeping:
            return False
        self.connection.rows(SET_SLEEPING, {"worker": self.worker, "sleeping": sleeping})
        self._is_sleeping = sleeping
        return True

    def seconds_until_due(self) -> float:
        """Return the seconds until this worker's next task becomes due; infinite if none will."""
        parameters = {
            "types": as_array(self.known_types()),
            "queues": list(self.options.queues) if self.options.queues else None,
            "looked": self._looked,
            "lanes": self._known_lanes(),
        }
        [(seconds,)] = self.connection.rows(NEXT_DUE, parameters)
        return float("inf") if seconds is None else max(0.0, seconds)

    def sign_off(self) -> None:
        """Remove the worker from the list of workers."""
        self.connection.rows(GOODBYE, {"worker": self.worker})

    def known_types(self) -> Mapping[int, registry.TaskSpec]:
        """Map row ids to the types that this worker takes; the first call writes the rows."""
        if not self._specs:
            try:
                rows = registry.write_registered_types()
            except Error as error:
                connection.close()  # after a failover it may be read-only
                raise Unavailable from error
            wanted = self.options.types
            for row, spec in (
                (row, registry.find_registered_type(*name)) for name, row in rows.items()
            ):
                if not wanted or spec.key in wanted or spec.name in wanted:
                    self._specs[row] = spec
            self._bound = [row for row, spec in self._specs.items() if spec.cap or spec.rate]
        return self._specs

    def _known_lanes(self) -> str:
        """Return the parameter `lanes` of claims, until it is time to look at everything again."""
        if time.monotonic() >= self._look_at:
            return EVERYTHING
        return f"[{','.join(self._lanes.values())}]"

    def _note_floors(self, floors: Iterable[dict[str, Any]]) -> None:
        for lane in floors:
            name = (lane["type_id"], lane["queue"], lane["priority"])
            self._lanes.pop(name, None)  # the lanes seen last are the last
            self._lanes[name] = as_json(lane)
        for forgotten in list(self._lanes)[:-MOST_LANES]:
            del self._lanes[forgotten]

    def _fence(self, attempts: Iterable[Attempt]) -> dict[str, Any]:
        """Return the parameters that limit a statement to tasks this worker still owns."""
        held = list(attempts)
        return {
            "ids": [attempt.task_id for attempt in held],
            "attempts": [attempt.number for attempt in held],
            "worker": self.worker,
        }

    def _run_for_owners(self, statement: str, attempts: list[Attempt]) -> None:
        owned = [attempt for attempt in attempts if attempt.owner_id]
        if owned:
            row_of = {id(spec): row for row, spec in self._specs.items()}
            types = [row_of[id(attempt.spec)] for attempt in owned]
            owners = [attempt.owner_id for attempt in owned]
            self.connection.rows(statement, {"types": types, "owners": owners})

    def _run_for_types(self, statement: str, attempts: list[Attempt]) -> None:
        if attempts:
            row_of = {id(spec): row for row, spec in self._specs.items()}
            types = sorted({row_of[id(attempt.spec)] for attempt in attempts})
            self.connection.rows(statement, {"types": types})
