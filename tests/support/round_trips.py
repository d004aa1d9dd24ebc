"""Counting actual round trips to the database, from libpq's own trace."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

from django.db import connection
from psycopg.pq import Trace
from psycopg.pq.abc import PGconn


def round_trips_of(act: Callable[[], Any]) -> int:
    """Count how often an act waits for the database, including BEGIN and COMMIT.

    Each of libpq's messages Query (a whole text of statements) and Sync is answered once.
    """
    return len(waits_in(trace_of(act)))


def trace_of(act: Callable[[], Any], wire: PGconn | None = None) -> list[list[str]]:
    """The messages of the act, each as [direction, length, name, …]; on Django's connection."""
    if wire is None:
        connection.ensure_connection()
        wire = connection.connection.pgconn
    with tempfile.NamedTemporaryFile("w+") as trace:
        wire.trace(trace.fileno())
        wire.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        try:
            act()
        finally:
            wire.untrace()
        trace.seek(0)
        return [line.split("\t") for line in trace.read().splitlines()]


def waits_in(messages: list[list[str]]) -> list[list[str]]:
    """Filter the messages after which the client waits for an answer."""
    return [m for m in messages if m[0] == "F" and len(m) > 2 and m[2] in ("Query", "Sync")]


def statements_in(messages: list[list[str]]) -> list[list[str]]:
    """Filter the messages that run a statement, with BEGIN and COMMIT."""
    return [m for m in messages if m[0] == "F" and len(m) > 2 and m[2] in ("Query", "Execute")]
