"""The channel of the database on which processes tell each other that lines have changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import connections

from pipeline.database.cluster import PORT

CHANNEL = "line"
# How many changes one notification tells: PostgreSQL takes less than 8,000 bytes.
JOBS_IN_ONE = 100

_OF_DJANGO = ("cursor_factory", "context", "prepare_threshold", "options", "server_side_binding")


def payloads(latest: Mapping[UUID, int]) -> Iterator[str]:
    """Yield the notifications that tell up to which seq each job's log has come."""
    pairs = (f"{job.hex}:{seq}" for job, seq in latest.items())
    while some := list(islice(pairs, JOBS_IN_ONE)):
        yield " ".join(some)


def changes(payload: str) -> dict[UUID, int]:
    """Parse a notification. Raises ValueError if it is not one of ours."""
    pairs = (pair.partition(":") for pair in payload.split())
    return {UUID(hex=job): int(seq) for job, _, seq in pairs}


def connection_parameters() -> dict[str, Any]:
    """Return the parameters of a direct connection to the database, outside Django."""
    given = connections["default"].get_connection_params()
    own = {"port": PORT} | {name: given[name] for name in given if name not in _OF_DJANGO}
    return own | {"autocommit": True, "connect_timeout": 5}
