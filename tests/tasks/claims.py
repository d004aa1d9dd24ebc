"""Workers without processes: claim, acknowledge and beat as a worker of a name would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest

from tasks import registry
from tasks.json import as_json
from tasks.models import NO_OWNER
from tasks.worker.attempt import Attempt
from tasks.worker.connection import WorkerConnection
from tasks.worker.task_store import GIVE_BACK, MARK_BEGUN, RENEW_LEASES


class Claimer:
    """A worker as the database sees it, on a separate connection."""

    def __init__(self, name: str = "w1", *, queues: list[str] | None = None) -> None:
        self.name = name
        self.connection = WorkerConnection()
        self.queues = queues
        self.last_turns: dict[int, str] = {}
        self.has_trials = True

    def claim(self, limit: int = 10, *, lease: float = 30.0, types_: Any = None) -> list[Attempt]:
        """Claim so many; what comes back can be acknowledged."""
        specs = {
            row: registry.find_registered_type(*name)
            for name, row in registry.write_registered_types().items()
        }
        if types_:
            specs = {row: spec for row, spec in specs.items() if spec.key in types_}
        given = {
            "types": list(specs),
            "queues": self.queues,
            "limit": limit,
            "reach": 2 * limit + 16,
            "worker": self.name,
            "lease": lease,
            "after": as_json(self.last_turns),
        }
        bound = [row for row, spec in specs.items() if spec.cap or spec.rate]
        found = self.connection.claim(given, bound, has_trials=self.has_trials)
        rows = [row for row in found if row[0]]
        attempts = []
        for name, spec, payload, number, most, request, owner, _, probe, priority, *_ in rows:
            attempt = Attempt(str(name), number, most, specs[spec], payload, request, 0.0, 0.0)
            attempt.owner_id, attempt.is_probe = owner and str(owner), probe
            self.last_turns[priority] = str(owner or NO_OWNER)
            attempts.append(attempt)
        return attempts

    def names(self, limit: int = 10, **options: Any) -> list[UUID]:
        return [UUID(attempt.task_id) for attempt in self.claim(limit, **options)]

    def succeed(self, *attempts: Attempt, result: Any = None) -> int:
        """Acknowledge success; for how many that was accepted."""
        ends = [attempt.succeeded(0.01, result, self.name) for attempt in attempts]
        return len(self.connection.acknowledge(ends))

    def fail(self, *attempts: Attempt, how: str = "error") -> int:
        """Acknowledge failure."""
        ends = [
            attempt.crashed("Boom", "it broke", 0.01, self.name)
            if how == "error"
            else attempt.failed({"how": how, "error": {"class": how}}, 0.01, self.name)
            for attempt in attempts
        ]
        return len(self.connection.acknowledge(ends))

    def begin(self, *attempts: Attempt) -> int:
        """Note that last attempts begin; for how many that was accepted."""
        return len(self.connection.rows(MARK_BEGUN, self.fence(attempts)))

    def beat(self, *attempts: Attempt, lease: float = 30.0) -> dict[str, bool]:
        """Renew leases; which tasks are still ours, and whether they are cancelled."""
        options = {"lease": lease, "slots": 1, "queues": None, "types": None, "running": 0}
        rows = self.connection.rows(RENEW_LEASES, self.fence(attempts) | options)
        return {str(name): cancelled for name, cancelled in rows}

    def give_back(self, *attempts: Attempt) -> None:
        self.connection.rows(GIVE_BACK, self.fence(attempts))

    def fence(self, attempts: Sequence[Attempt]) -> dict[str, Any]:
        ids, numbers = [each.task_id for each in attempts], [each.number for each in attempts]
        return {"ids": ids, "attempts": numbers, "worker": self.name}


@pytest.fixture
def claimer(transactional_db: None) -> Iterator[Any]:
    """Makes claimers, and closes their connections."""
    made: list[Claimer] = []

    def make(name: str = "w1", **options: Any) -> Claimer:
        made.append(Claimer(name, **options))
        return made[-1]

    yield make
    for each in made:
        each.connection.close()
