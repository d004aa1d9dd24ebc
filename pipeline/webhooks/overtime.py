"""Overtime of runs: while one waits for its last answers, the other serves further endpoints.

Otherwise two runs that began together would end together, and nothing new would be sent for as long
as receivers hang.
"""

from __future__ import annotations

from contextlib import suppress

from django.db import DatabaseError, connection

from tasks.advisory_locks import WEBHOOK_RUN_ENDS

LONGEST_OVERTIME_SECONDS = 30.0


class OvertimeTurn:
    """Turn of a run to end. A context manager; leaving it gives the turn back."""

    def __init__(self) -> None:
        self._is_mine = False

    def may_end(self, overtime_seconds: float) -> bool:
        """Tell whether a run that is over its time may end now."""
        if overtime_seconds < 0:
            return False
        if not self._is_mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_lock(%s)", [WEBHOOK_RUN_ENDS])
                (self._is_mine,) = cursor.fetchone()
        return self._is_mine or overtime_seconds > LONGEST_OVERTIME_SECONDS

    def __enter__(self) -> OvertimeTurn:
        return self

    def __exit__(self, *_: object) -> None:
        # If the connection was lost, the lock is gone too, and the run itself has done its work.
        if self._is_mine:
            with suppress(DatabaseError), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [WEBHOOK_RUN_ENDS])
