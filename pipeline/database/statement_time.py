"""Time limits of statements, for the current transaction."""

from __future__ import annotations

from django.db import connection

# One heavy read must not use all the database's processors or much of its memory.
_BOUNDS = """
SELECT set_config('statement_timeout', %s, true), set_config('work_mem', '32MB', true),
       set_config('max_parallel_workers_per_gather', '0', true)
"""


def limit(seconds: float) -> None:
    """Limit each statement of this transaction, which reads a lot."""
    with connection.cursor() as cursor:
        cursor.execute(_BOUNDS, [f"{seconds * 1_000:.0f}"])


def lift() -> None:
    """Lift the time limit of statements for this transaction, even in a web server."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
