"""Log of the requests that companies' programs have made, for their owners: the last seven days.

A request only leaves a note in memory; a thread writes the notes, once a second. A process that
crashes loses its last second. While the database is away, notes wait; beyond MOST_WAITING they are
dropped and counted. No note holds a body, a query or a credential. Answers with 429 leave none:
they are cheap to provoke, and no rate limits their number.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection, transaction
from prometheus_client import Counter

from pipeline.database.errors import ClusterError
from pipeline.models import RequestRecord
from pipeline.selectors.pages import Page
from tasks.failure_log import failures

log = logging.getLogger(__name__)

# How many notes a process keeps in memory, how many one statement writes, and how often.
MOST_WAITING, BATCH, GAP_SECONDS = 10_000, 1_000, 1.0
# The time without a note after which the thread ends and closes its connection.
IDLE_SECONDS = 15.0
# How long an ending process waits for its last notes to be written.
FLUSH_SECONDS = 1.0

DROPPED = Counter(
    "nextinline_request_records_dropped",
    "Requests that are missing in the log of their API key.",
)


class StatusClass(StrEnum):
    """Class of response statuses, by which the log is filtered."""

    SUCCESS = "2xx"
    REDIRECTION = "3xx"
    CLIENT_ERROR = "4xx"
    SERVER_ERROR = "5xx"


class RequestNote(NamedTuple):
    """One answered request of a key, or of a portal token that the key made."""

    key_id: UUID
    is_portal: bool
    method: str
    path: str
    status: int
    request_id: str
    duration_seconds: float
    ended: float  # by time.monotonic()


# Times are the database's, so those of several machines fit together.
_WRITE = """
INSERT INTO pipeline_requestrecord
    (key_id, is_portal, method, path, status, status_class, request_id, duration_ms, at)
SELECT key_id, is_portal, method, path, status, status / 100, request_id, duration_ms,
       statement_timestamp() - age * interval '1 second'
FROM unnest(%s::uuid[], %s::boolean[], %s::text[], %s::text[], %s::smallint[], %s::text[],
            %s::integer[], %s::double precision[])
     AS noted (key_id, is_portal, method, path, status, request_id, duration_ms, age)
"""


class RequestLog:
    """Notes of one process, and the thread that writes them."""

    def __init__(self, *, gap_seconds: float = GAP_SECONDS) -> None:
        self.gap_seconds = gap_seconds
        self.is_on = False
        self._reset()

    def _reset(self) -> None:
        """Reset the state in a child process: notes and thread are its parent's."""
        self._waiting: deque[RequestNote] = deque()
        self._thread: threading.Thread | None = None
        self._starting, self._writing = threading.Lock(), threading.Lock()
        self._wake = threading.Event()

    def note_request(self, note: RequestNote) -> None:
        """Keep a note until the thread writes it, cut to what a row holds. Never waits or fails."""
        if len(self._waiting) >= MOST_WAITING:
            DROPPED.inc()
            return
        # Long texts would burst the memory, and PostgreSQL refuses the whole batch for one NUL.
        method = note.method[: RequestRecord.LONGEST_METHOD].replace("\0", "")
        path = note.path[: RequestRecord.LONGEST_PATH].replace("\0", "")
        self._waiting.append(note._replace(method=method, path=path))
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="request_log", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system has none left; the next request tries again
                    return
                self._thread = thread

    def _run(self) -> None:
        last = time.monotonic()
        while True:
            self._wake.wait(self.gap_seconds)
            self._wake.clear()
            if self.write_notes():
                last = time.monotonic()
            elif time.monotonic() - last > IDLE_SECONDS:
                connection.close()
                with self._starting:
                    self._thread = None
                    if not self._waiting:
                        return
                    self._thread = threading.current_thread()

    def write_notes(self) -> int:
        """Write the waiting notes, and return how many. While the database is away, they stay."""
        written = 0
        with self._writing:
            while self._waiting:
                notes = [self._waiting.popleft() for _ in range(min(len(self._waiting), BATCH))]
                try:
                    store_notes(notes)
                except (OperationalError, InterfaceError, ClusterError) as error:
                    self._waiting.extendleft(reversed(notes))
                    connection.close()
                    failures.write_failure(log, "the log of requests waits", error)
                    break
                except Exception as error:
                    DROPPED.inc(len(notes))
                    failures.write_failure(log, "the log of requests lost some", error)
                else:
                    written += len(notes)
                    failures.write_answer(log)
        return written

    def flush(self, seconds: float = FLUSH_SECONDS) -> bool:
        """Wait until everything is written, up to a timeout. Returns whether it was."""
        end = time.monotonic() + seconds
        while self._waiting or self._writing.locked():
            if time.monotonic() >= end:
                return False
            self._wake.set()
            time.sleep(0.005)
        return True


@transaction.atomic
def store_notes(notes: Sequence[RequestNote]) -> None:
    """Write notes in one statement, without waiting for the disk."""
    now = time.monotonic()
    columns = (
        [note.key_id for note in notes],
        [note.is_portal for note in notes],
        [note.method for note in notes],
        [note.path for note in notes],
        [note.status for note in notes],
        [note.request_id for note in notes],
        [round(note.duration_seconds * 1_000) for note in notes],
        [now - note.ended for note in notes],
    )
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
        cursor.execute(_WRITE, columns)


request_log = RequestLog()
os.register_at_fork(after_in_child=request_log._reset)


def start() -> None:
    """Record the requests of keys that this process answers, including the last one."""
    request_log.is_on = True
    atexit.register(request_log.flush)


def read_page(
    key_id: UUID, *, status_class: StatusClass | None, after: int | None, limit: int
) -> Page[RequestRecord]:
    """Return a page of a key's requests, newest first, in one query."""
    records = RequestRecord.objects.filter(key_id=key_id)
    if status_class:
        records = records.filter(status_class=int(status_class[0]))
    if after is not None:
        records = records.filter(id__lt=after)
    return Page.cut(list(records.order_by("-id")[: limit + 1]), limit)
