"""Options of a worker."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

# Longest rest of a worker with a free slot, so that it finds due tasks even if a NOTIFY is lost.
POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Options:
    """Options of one worker process. Without queues or types it takes all of them."""

    slots: int = 4
    lease_seconds: float = 30.0
    queues: Collection[str] | None = None
    types: Collection[str] | None = None
    drain_seconds: float = 600.0
    poll_seconds: float = POLL_SECONDS
