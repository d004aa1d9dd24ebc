"""Workers without processes: claim, acknowledge and beat as a worker of a name would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from tasks import registry
from tasks.sql.runs import BEAT, BEGIN, GIVE_BACK
from tasks.worker.attempt import Run
from tasks.worker.connection import Store


class Claimer:
    """A worker as the database sees it, on a connection of its own."""

    def __init__(self, name: str = "w1", *, queues: list[str] | None = None) -> None:
        self.name = name
        self.store = Store()
        self.queues = queues

    def claim(self, limit: int = 10, *, lease: float = 30.0, types_: Any = None) -> list[Run]:
        """Claim so many; what comes back can be acknowledged."""
        kinds = {row: registry.find(*name) for name, row in registry.sync().items()}
        if types_:
            kinds = {row: kind for row, kind in kinds.items() if kind.key in types_}
        given = {
            "types": list(kinds),
            "queues": self.queues,
            "limit": limit,
            "reach": 2 * limit + 16,
            "worker": self.name,
            "lease": lease,
        }
        bound = [row for row, kind in kinds.items() if kind.cap or kind.rate]
        rows = [row for row in self.store.claim(given, bound) if row[0]]
        return [
            Run(str(name), attempt, most, kinds[kind], payload, request, 0.0, 0.0, is_probe=probe)
            for name, kind, payload, attempt, most, request, _, _, probe, *_ in rows
        ]

    def names(self, limit: int = 10, **options: Any) -> list[UUID]:
        return [UUID(run.id) for run in self.claim(limit, **options)]

    def succeed(self, *runs: Run, result: Any = None) -> int:
        """Acknowledge success; for how many that was accepted."""
        ends = [run.succeeded(0.01, result, self.name) for run in runs]
        return len(self.store.acknowledge(ends))

    def fail(self, *runs: Run, how: str = "error") -> int:
        """Acknowledge failure."""
        ends = [
            run.fell("Boom", "it broke", 0.01, self.name)
            if how == "error"
            else run.failed({"how": how, "error": {"class": how}}, 0.01, self.name)
            for run in runs
        ]
        return len(self.store.acknowledge(ends))

    def begin(self, *runs: Run) -> int:
        """Say that last attempts begin; of how many that was accepted."""
        given = {"ids": [run.id for run in runs], "attempts": [run.attempt for run in runs]}
        return len(self.store.rows(BEGIN, given | {"worker": self.name}))

    def beat(self, *runs: Run, lease: float = 30.0) -> dict[str, bool]:
        """Renew leases; which tasks are still ours, and whether they are cancelled."""
        given = {
            "worker": self.name,
            "lease": lease,
            "ids": [run.id for run in runs],
            "attempts": [run.attempt for run in runs],
            "slots": 1,
            "queues": None,
            "types": None,
            "running": 0,
        }
        return {str(name): cancelled for name, cancelled in self.store.rows(BEAT, given)}

    def give_back(self, *runs: Run) -> None:
        given = {"ids": [run.id for run in runs], "attempts": [run.attempt for run in runs]}
        self.store.rows(GIVE_BACK, given | {"worker": self.name})


@pytest.fixture
def claimer(transactional_db: None) -> Iterator[Any]:
    """Makes claimers, and closes their connections."""
    made: list[Claimer] = []

    def make(name: str = "w1", **options: Any) -> Claimer:
        made.append(Claimer(name, **options))
        return made[-1]

    yield make
    for each in made:
        each.store.close()
