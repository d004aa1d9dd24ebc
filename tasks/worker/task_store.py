"""What a worker reads and writes in the database about the runs on its desk."""

from __future__ import annotations

import json
import logging
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import Error, connection

from tasks import registry
from tasks.json import as_json
from tasks.models.statuses import Status
from tasks.sql.breaker import MEND, TRIP
from tasks.sql.claim import NEXT_DUE
from tasks.sql.enqueue import WAKE
from tasks.sql.queues import FOR_PARKING, PARK, PARKED_AT_ONCE, UNPARK
from tasks.sql.runs import BEAT, BEGIN, GIVE_BACK
from tasks.sql.upkeep import DOZE, OFFER, REAP, TELL
from tasks.worker.attempt import Run
from tasks.worker.connection import Store, Unavailable

if TYPE_CHECKING:
    from tasks.worker.dispatcher import Desk
    from tasks.worker.worker import Options

log = logging.getLogger(__name__)

GOODBYE = "DELETE FROM tasks_taskworker WHERE name = %(worker)s"
SLACK = 8
MOST_ENDS = 500


class Ledger:
    """Claims, leases and acknowledgements; every call may raise Unavailable."""

    def __init__(self, desk: Desk, options: Options) -> None:
        self.desk = desk
        self.options = options
        self.oldest_end = 0.0
        self._store = Store()
        self._kinds: dict[int, registry.TaskSpec] = {}
        self._bound: list[int] = []
        self._says_sleeping: bool | None = None
        self._looked: datetime | None = None

    @property
    def is_up(self) -> bool:
        """Whether the database may be asked now."""
        return self._store.is_up

    @property
    def retry_seconds(self) -> float:
        """How long until it may be."""
        return self._store.retry_seconds

    def fileno(self) -> int | None:
        """Readable when something was announced."""
        return self._store.fileno()

    def listen(self) -> set[str]:
        """What was announced."""
        return self._store.listen()

    def claim(self, limit: int) -> tuple[int, int]:
        """Put at most so many due tasks on the desk; how many it got, and how many it saw."""
        kinds = self._known()
        now = time.monotonic()
        given = {
            "types": list(kinds),
            "queues": list(self.options.queues) if self.options.queues else None,
            "limit": limit,
            "reach": limit * 3 // 2 + SLACK,
            "worker": self.desk.worker,
            "lease": self.options.lease_seconds,
        }
        rows = self._store.claim(given, self._bound)
        claimed = [row for row in rows if row[0] is not None]
        ends = now + self.options.lease_seconds
        for task, kind, payload, attempt, most, request, owner, trace, is_probe, *_ in claimed:
            run = Run(str(task), attempt, most, kinds[kind], payload, request, ends, now)
            run.owner_id, run.trace, run.is_probe = owner and str(owner), trace, is_probe
            self.desk.waiting.append(run)
        *_, seen, self._looked = rows[0]
        return len(claimed), seen

    def flush(self, now: float, *, wait_seconds: float) -> int:
        """Write how runs ended, and what they told, if the first of it has waited so long."""
        desk = self.desk
        if not desk.ends and not desk.said:
            self.oldest_end = now
            return 0
        if now - self.oldest_end < wait_seconds and len(desk.ends) < MOST_ENDS:
            return 0
        self._tell()
        ends, desk.ends = desk.ends[:MOST_ENDS], desk.ends[MOST_ENDS:]
        if ends:
            try:
                accepted = self._store.acknowledge([end for _, end in ends])
            except BaseException:
                desk.ends[:0] = ends
                raise
            self._note(ends, accepted)
        return len(ends)

    def beat(self) -> None:
        """Renew all leases and our sign of life; end what was cancelled, drop what was lost."""
        held = {run.id: run for run in self.desk.held()}
        sent = time.monotonic()
        given = {
            **self._named(list(held.values())),
            "lease": self.options.lease_seconds,
            "slots": self.options.slots,
            "queues": as_json(sorted(self.options.queues)) if self.options.queues else None,
            "types": as_json(sorted(self.options.types)) if self.options.types else None,
            "running": sum(1 for slot in self.desk.slots if slot.runs),
        }
        alive = {str(task): cancelled for task, cancelled in self._store.rows(BEAT, given)}
        for name in alive:
            held[name].lease_ends = sent + self.options.lease_seconds
        self.desk.cancel((name for name, cancelled in alive.items() if cancelled), sent)
        self.desk.lose([run for name, run in held.items() if name not in alive])

    def begin(self, runs: list[Run]) -> None:
        """Say of these last attempts that they begin now; what we have lost leaves the desk."""
        if runs:
            ours = {str(task) for (task,) in self._store.rows(BEGIN, self._named(runs))}
            for run in runs:
                run.may_begin = run.id in ours
            self.desk.lose([run for run in runs if not run.may_begin])

    def give_back(self, runs: list[Run]) -> None:
        """Let others have these; their attempts do not count."""
        if runs:
            self._store.rows(GIVE_BACK, self._named(runs))

    def reap(self) -> int:
        """Take tasks from workers that are gone; says how many."""
        rows = self._store.rows(REAP)
        kinds = self._known()
        for task, type_id, status, attempt, most, payload, request_id, owner, trace in rows:
            log.warning("task %s: the lease of attempt %s has expired", task, attempt)
            kind = kinds.get(type_id)
            if status == Status.DEAD and kind and (kind.hooks.on_fail or kind.hooks.on_end):
                run = Run(str(task), attempt, most, kind, payload, request_id, 0.0, 0.0)
                run.owner_id, run.trace = owner and str(owner), trace
                self.desk.hooks.append(run)
        if rows:
            self._store.rows(TRIP, {"types": sorted({row[1] for row in rows})})
            self._store.rows(WAKE)
        return len(rows)

    def park(self) -> int:
        """Move a batch of paused tasks out of the claim's way, or back; says how many."""
        [(pauses, parked)] = self._store.rows(FOR_PARKING)
        given = {"batch": PARKED_AT_ONCE}
        moved = len(self._store.rows(PARK, given)) if pauses else 0
        freed = len(self._store.rows(UNPARK, given)) if parked else 0
        if freed:
            self._store.rows(WAKE)
        return moved + freed

    def doze(self, *, sleeping: bool) -> bool:
        """Say whether we want to be woken; False when that was said already."""
        if self._says_sleeping is sleeping:
            return False
        self._store.rows(DOZE, {"worker": self.desk.worker, "sleeping": sleeping})
        self._says_sleeping = sleeping
        return True

    def seconds_until_due(self) -> float:
        """How long until the next task that we could claim becomes due; may be infinite."""
        queues = list(self.options.queues) if self.options.queues else None
        given = {"types": list(self._known()), "queues": queues, "looked": self._looked}
        [(seconds,)] = self._store.rows(NEXT_DUE, given)
        return float("inf") if seconds is None else max(0.0, seconds)

    def say_goodbye(self) -> None:
        """Take ourselves off the list of workers."""
        self._store.rows(GOODBYE, {"worker": self.desk.worker})

    def close(self) -> None:
        """Give the connection back."""
        self._store.close()

    def _named(self, runs: list[Run]) -> dict[str, Any]:
        ids, attempts = [run.id for run in runs], [run.attempt for run in runs]
        return {"ids": ids, "attempts": attempts, "worker": self.desk.worker}

    def _known(self) -> dict[int, registry.TaskSpec]:
        if not self._kinds:
            try:
                rows = registry.sync()
            except Error as error:
                connection.close()  # after a failover it may be one that only reads
                raise Unavailable from error
            wanted = self.options.types
            kinds = {row: registry.find(*name) for name, row in rows.items()}
            self._kinds = {
                row: kind
                for row, kind in kinds.items()
                if not wanted or kind.key in wanted or kind.name in wanted
            }
            self._bound = [row for row, kind in self._kinds.items() if kind.cap or kind.rate]
        return self._kinds

    def _tell(self) -> None:
        said, self.desk.said = self.desk.said, []
        if said:
            for n, each in enumerate(said):
                each["n"] = n
                if each["kind"] == "emitted":
                    data = each["data"]
                    each["data"] = {"name": data["name"], "data": json.loads(data["data"])}
            self._store.rows(TELL, {"said": as_json(said), "worker": self.desk.worker})

    def _note(self, ends: list[tuple[Run, dict[str, Any]]], accepted: set[tuple[str, int]]) -> None:
        kept = []
        for run, end in ends:
            if (run.id, run.attempt) in accepted:
                kept.append((run, end))
            else:
                log.warning(
                    "task %s: the acknowledgement of attempt %s came too late and was refused",
                    run.id,
                    run.attempt,
                )
        if any(end["outcome"] == Status.PENDING for _, end in kept):
            self._store.rows(WAKE)  # whoever rests has to learn when the retry is due
        succeeded = Status.SUCCEEDED
        self._about(TRIP, [run for run, end in kept if end["failed"]])
        self._about(MEND, [r for r, end in kept if r.is_probe and end["outcome"] == succeeded])
        self._about(OFFER, [run for run, _ in kept if run.kind.cap])

    def _about(self, statement: str, runs: list[Run]) -> None:
        if runs:
            row_of = {id(kind): row for row, kind in self._kinds.items()}
            types = sorted({row_of[id(run.kind)] for run in runs})
            self._store.rows(statement, {"types": types})
