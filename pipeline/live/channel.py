"""Database channel on which processes tell each other that lines have changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any
from uuid import UUID

from pipeline.database.cluster import PORT
from tasks.listen import listen_parameters

CHANNEL = "line"
# How many changes fit in one notification: PostgreSQL accepts less than 8,000 bytes.
JOBS_IN_ONE = 100


def encode_payloads(latest: Mapping[UUID, int]) -> Iterator[str]:
    """Yield notifications with the latest seq of each job's log."""
    pairs = (f"{job.hex}:{seq}" for job, seq in latest.items())
    while some := list(islice(pairs, JOBS_IN_ONE)):
        yield " ".join(some)


def parse_payload(payload: str) -> dict[UUID, int]:
    """Parse a notification. Raises ValueError if it is not one of ours."""
    pairs = (pair.partition(":") for pair in payload.split())
    return {UUID(hex=job): int(seq) for job, _, seq in pairs}


def connection_parameters() -> dict[str, Any]:
    """Return the parameters of a direct connection to the product's database."""
    return {"port": PORT} | listen_parameters()
