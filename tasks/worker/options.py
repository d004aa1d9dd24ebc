"""Options of a worker."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

# The longest rest of a worker with a free slot: it finds due tasks even if a NOTIFY was lost.
POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Options:
    """Options of one worker process; no queues or types means all."""

    slots: int = 4
    lease_seconds: float = 30.0
    queues: Collection[str] | None = None
    types: Collection[str] | None = None
    drain_seconds: float = 600.0
    poll_seconds: float = POLL_SECONDS
