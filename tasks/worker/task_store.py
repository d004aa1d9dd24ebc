"""Task store: a worker's reads and writes of its attempts in the database."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import Error, connection

from tasks import registry
from tasks.json import as_json
from tasks.models import NO_OWNER, Status
from tasks.sql.enqueue import WAKE
from tasks.sql.running import (
    FOR_PARKING,
    GIVE_BACK,
    MARK_BEGUN,
    NEXT_DUE,
    PARK,
    PARKED_AT_ONCE,
    RENEW_LEASES,
    UNPARK,
)
from tasks.sql.upkeep import (
    CLOSE_BREAKERS,
    CLOSE_OWNER_BREAKERS,
    OPEN_BREAKERS,
    OPEN_OWNER_BREAKERS,
    REAP,
    SET_SLEEPING,
    WAKE_FOR_DUE,
    WRITE_MESSAGES,
)
from tasks.worker.attempt import Attempt
from tasks.worker.connection import Unavailable, WorkerConnection
from tasks.worker.options import Options

log = logging.getLogger(__name__)

GOODBYE = "DELETE FROM tasks_taskworker WHERE name = %(worker)s"
SLACK = 8

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
        self._looked: datetime | None = None
        self._is_crowded = False
        self._has_trials = True  # as the last check of tasks to park found
        self._last_turns: dict[int, str] = {}  # last claimed owner, by priority

    def claim(self, limit: int, *, only_urgent: bool = False) -> tuple[list[Attempt], int]:
        """Claim up to `limit` due tasks; return their attempts, and how many tasks were seen."""
        specs = self.known_types()
        types = [row for row, spec in specs.items() if spec.urgent or not only_urgent]
        now = time.monotonic()
        parameters = {
            "types": types,
            "queues": list(self.options.queues) if self.options.queues else None,
            "limit": limit,
            "reach": limit * 3 // 2 + SLACK,
            "worker": self.worker,
            "lease": self.options.lease_seconds,
            "after": as_json(self._last_turns),
        }
        rows = self.connection.claim(
            parameters,
            [row for row in self._bound if row in types] if only_urgent else self._bound,
            is_crowded=self._is_crowded and not only_urgent,
            has_trials=self._has_trials,
        )
        ends = now + self.options.lease_seconds
        attempts = []
        for task, type_id, payload, number, most, request, owner, trace, *more in rows:
            if task is not None:
                spec = specs[type_id]
                attempt = Attempt(str(task), number, most, spec, payload, request, ends, now)
                attempt.owner_id, attempt.trace = owner and str(owner), trace
                attempt.is_probe, priority, *_ = more
                self._last_turns[priority] = str(owner or NO_OWNER)
                attempts.append(attempt)
        *_, seen, looked = rows[0]
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
        rows = self.connection.rows(REAP)
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
        queues = list(self.options.queues) if self.options.queues else None
        parameters = {"types": list(self.known_types()), "queues": queues, "looked": self._looked}
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
