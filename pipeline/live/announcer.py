"""Announcements to all processes that lines have changed, sent after the commits.

A NOTIFY inside a change's transaction would make all commits wait for each other, so a thread sends
it on its own connection. It may get lost with the process; pages and task workers also check on
their own.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from typing import Any
from uuid import UUID

import psycopg

from pipeline.line.write import committed
from pipeline.live.channel import CHANNEL, connection_parameters, encode_payloads
from tasks.failure_log import failures
from tasks.sql.enqueue import WAKE

log = logging.getLogger(__name__)

# How long changes are collected after a notification before the next one.
GAP_SECONDS = 0.05
IDLE_SECONDS = 60.0
# How long an ending process waits for its unsent announcements.
FLUSH_SECONDS = 1.0
_SESSION = "-c synchronous_commit=off -c statement_timeout=3000 -c application_name=announcer"


class Announcer:
    """Thread that announces the latest seq of each changed job's log.

    It also wakes sleeping task workers after a change that wrote tasks.
    """

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self.idle_seconds = idle_seconds
        self._reset()

    def _reset(self) -> None:
        """Reset the state in a child process: thread and connection are its parent's."""
        self._news = threading.Condition()
        self._latest: dict[UUID, int] = {}
        self._wakes = self._wakes_next = False
        self._thread: threading.Thread | None = None
        self._sending = False
        self._session: psycopg.Connection | None = None

    def note_change(self, *, job_id: UUID, seq: int, wrote_tasks: bool = False, **_: Any) -> None:
        """Queue a change for announcing. Never waits for the database."""
        with self._news:
            self._wakes_next = self._wakes_next or wrote_tasks
            self._latest[job_id] = max(seq, self._latest.get(job_id, 0))
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="announcer", daemon=True)
                thread.start()  # may fail; the next change tries again
                self._thread = thread
            self._news.notify()

    def flush(self, seconds: float = FLUSH_SECONDS) -> bool:
        """Wait until everything is announced, up to a timeout. Returns whether it was."""
        end = time.monotonic() + seconds
        while True:
            with self._news:  # changes being taken are in neither for a moment
                done = not self._latest and not self._sending
            if done or time.monotonic() >= end:
                return done
            time.sleep(0.005)

    def _run(self) -> None:
        while latest := self._take():
            try:
                self._send(latest)
            except Exception as error:
                failures.write_failure(log, "changes of jobs were not announced to pages", error)
            finally:
                self._sending = False
            time.sleep(GAP_SECONDS)

    def _take(self) -> dict[UUID, int]:
        """Return the queued changes, or none after a long idle time, which ends the thread."""
        with self._news:
            if not self._latest:
                self._news.wait_for(lambda: self._latest, timeout=self.idle_seconds)
            latest, self._latest = self._latest, {}
            self._wakes, self._wakes_next = self._wakes_next, False
            self._sending = bool(latest)
            if not latest:
                self._thread = None
                self.close()
            return latest

    def _send(self, latest: dict[UUID, int]) -> None:
        """Send a notification. Raises psycopg.Error if a fresh connection fails as well."""
        try:
            self._notify(latest, self._session or self._connect())
        except psycopg.Error:
            self.close()  # the server was restarted, perhaps long ago
            self._notify(latest, self._connect())

    def _connect(self) -> psycopg.Connection:
        self._session = psycopg.connect(**connection_parameters(), options=_SESSION)
        return self._session

    def _notify(self, latest: dict[UUID, int], session: psycopg.Connection) -> None:
        if self._wakes:
            session.execute(WAKE)
        for payload in encode_payloads(latest):
            session.execute("SELECT pg_notify(%s, %s)", [CHANNEL, payload])

    def close(self) -> None:
        """Close the connection. The next change opens another one."""
        if self._session is not None:
            self._session.close()
            self._session = None


announcer = Announcer()
os.register_at_fork(after_in_child=announcer._reset)


def start_announcing() -> None:
    """Announce every change that this process commits, including the last one."""
    committed.connect(announcer.note_change, dispatch_uid="announcer")
    atexit.register(announcer.flush)


def stop_announcing() -> None:
    """Stop announcing, and close the connection (for tests)."""
    committed.disconnect(dispatch_uid="announcer")
    announcer.flush()
    announcer.close()
