"""What a worker reads and writes in the database about the runs on its desk."""

from __future__ import annotations

import json
import logging
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import Error

from tasks import types
from tasks.breaker import MEND, TRIP
from tasks.models import Status
from tasks.payloads import as_json
from tasks.runs import Run
from tasks.sql import BEAT, GIVE_BACK
from tasks.store import Store, Unavailable
from tasks.upkeep_sql import DOZE, NEXT_DUE, REAP, TELL

if TYPE_CHECKING:
    from tasks.desk import Desk
    from tasks.worker import Options

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
        self._kinds: dict[int, types.Kind] = {}
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
        for task, type_id, payload, attempt, most, request_id, is_probe, *_ in claimed:
            run = Run(
                id=str(task),
                attempt=attempt,
                max_attempts=most,
                kind=kinds[type_id],
                payload=payload,
                request_id=request_id,
                lease_ends=now + self.options.lease_seconds,
                claimed=now,
                is_probe=is_probe,
            )
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
            "worker": self.desk.worker,
            "lease": self.options.lease_seconds,
            "ids": list(held),
            "attempts": [run.attempt for run in held.values()],
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

    def give_back(self, runs: list[Run]) -> None:
        """Let others have these; their attempts do not count."""
        if runs:
            given = {
                "ids": [run.id for run in runs],
                "attempts": [run.attempt for run in runs],
                "worker": self.desk.worker,
            }
            self._store.rows(GIVE_BACK, given)

    def reap(self) -> int:
        """Take tasks from workers that are gone; says how many."""
        rows = self._store.rows(REAP)
        kinds = self._known()
        for task, type_id, status, attempt, most, payload, request_id in rows:
            log.warning("task %s: the lease of attempt %s has expired", task, attempt)
            kind = kinds.get(type_id)
            if status == Status.DEAD and kind and (kind.hooks.on_fail or kind.hooks.on_end):
                self.desk.hooks.append(
                    Run(str(task), attempt, most, kind, payload, request_id, 0.0, 0.0)
                )
        if rows:
            self._store.rows(TRIP, {"types": sorted({row[1] for row in rows})})
        return len(rows)

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

    def _known(self) -> dict[int, types.Kind]:
        if not self._kinds:
            try:
                rows = types.sync()
            except Error as error:
                raise Unavailable from error
            wanted = self.options.types
            kinds = {row: types.find(*name) for name, row in rows.items()}
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
        failed, mended = set(), set()
        of_kind = {id(kind): row for row, kind in self._kinds.items()}
        for run, end in ends:
            if (run.id, run.attempt) not in accepted:
                log.warning(
                    "task %s: the acknowledgement of attempt %s came too late and was refused",
                    run.id,
                    run.attempt,
                )
            elif end["failed"]:
                failed.add(of_kind[id(run.kind)])
            elif run.is_probe:
                mended.add(of_kind[id(run.kind)])
        if failed:
            self._store.rows(TRIP, {"types": sorted(failed)})
        if mended:
            self._store.rows(MEND, {"types": sorted(mended)})
