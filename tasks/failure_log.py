"""Log of what fails again and again in a long-running process, without flooding the log.

While the database is away, a process writes one short line at once and one a minute, and one when
the database answers again. Other errors are logged with their traceback, the same one once a
minute.
"""

from __future__ import annotations

import logging
import threading
import time

import django.db
import psycopg

from tasks.errors import DatabaseAway

REPEAT_SECONDS = 60.0
LONGEST_REASON = 200  # characters
MOST_KINDS = 1_000  # of errors that are remembered
# Classes of SQLSTATE: no connection, no resources (too many connections, a full disk), shutting
# down or starting; and a server that has lost the primary role.
_AWAY = ("08", "53", "57P", "25006")

Kind = tuple[str, type[BaseException], str]


class FailureLog:
    """Failures of a process and when they were last written. Threads share it."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._away_since: float | None = None
        self._attempts = 0
        self._is_written = False  # whether a line about this outage was written
        self._written_at = float("-inf")  # when the last line about an outage was
        self._unexpected: dict[Kind, tuple[float, int]] = {}  # last written, left out since then

    def write_failure(self, log: logging.Logger, what: str, error: BaseException) -> None:
        """Log that `what` failed, unless the same was written in the last minute."""
        with self._mutex:
            now = time.monotonic()
            if is_database_away(error):
                self._write_outage(log, what, error, now)
            else:
                self._write_unexpected(log, what, error, now)

    def write_answer(self, log: logging.Logger) -> None:
        """Log that the database answers again, if a line has said that it does not."""
        if self._away_since is None:
            return
        with self._mutex:
            since, attempts, is_written = self._away_since, self._attempts, self._is_written
            self._away_since, self._attempts, self._is_written = None, 0, False
            if since is not None and is_written:
                seconds = time.monotonic() - since
                text = "the database answers again after %.0f s and %s failed attempts"
                log.warning(text, seconds, attempts)

    def _write_outage(
        self, log: logging.Logger, what: str, error: BaseException, now: float
    ) -> None:
        self._attempts += 1
        if self._away_since is None:
            self._away_since = now
        if now - self._written_at < REPEAT_SECONDS:
            return
        self._written_at, self._is_written = now, True
        reason = " ".join(str(error).split())[:LONGEST_REASON]
        if self._attempts == 1:
            log.warning("%s: the database is away, and is tried again: %s", what, reason)
        else:
            text = "%s: the database is still away after %.0f s and %s attempts: %s"
            log.warning(text, what, now - self._away_since, self._attempts, reason)

    def _write_unexpected(
        self, log: logging.Logger, what: str, error: BaseException, now: float
    ) -> None:
        kind = (what, type(error), _find_place(error))
        written_at, left_out = self._unexpected.get(kind, (float("-inf"), 0))
        if now - written_at < REPEAT_SECONDS:
            self._unexpected[kind] = written_at, left_out + 1
            return
        if len(self._unexpected) >= MOST_KINDS:
            self._unexpected.clear()
        self._unexpected[kind] = now, 0
        again = f" ({left_out} more times since it was last written here)" if left_out else ""
        log.error("%s%s", what, again, exc_info=error)


def is_database_away(error: BaseException) -> bool:
    """Tell whether an error means that the database cannot be used now, whatever was asked."""
    if isinstance(error, (django.db.OperationalError, django.db.InterfaceError)):
        error = error.__cause__ or error
    if isinstance(error, DatabaseAway):
        return True
    if isinstance(error, psycopg.Error) and error.sqlstate:
        return error.sqlstate.startswith(_AWAY)
    return isinstance(
        error,
        (
            psycopg.OperationalError,
            psycopg.InterfaceError,
            django.db.OperationalError,
            django.db.InterfaceError,
        ),
    )


def _find_place(error: BaseException) -> str:
    """Return the file and line that raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""


failures = FailureLog()
