"""Log of the requests that companies' programs have made, for their owners: the last seven days.

A request only leaves a note in memory; a thread writes the notes, once a second. No note holds a
body, a query or a credential. Answers with 429 leave none: they are cheap to provoke, and no rate
limits their number.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction
from prometheus_client import Counter

from pipeline.database.note_writer import NoteWriter
from pipeline.models import RequestRecord
from pipeline.selectors.pages import Page

# How often they are written.
GAP_SECONDS = 1.0

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


class RequestLog(NoteWriter[RequestNote]):
    """Notes of one process, and the thread that writes them."""

    def __init__(self, *, gap_seconds: float = GAP_SECONDS) -> None:
        super().__init__("log of requests", gap_seconds=gap_seconds, dropped=DROPPED)

    def store(self, notes: list[RequestNote]) -> None:
        """Write notes."""
        store_notes(notes)

    def note_request(self, note: RequestNote) -> None:
        """Keep a note until the thread writes it, cut to what a row holds. Never waits or fails."""
        # Long texts would burst the memory, and PostgreSQL refuses the whole batch for one NUL.
        method = note.method[: RequestRecord.LONGEST_METHOD].replace("\0", "")
        path = note.path[: RequestRecord.LONGEST_PATH].replace("\0", "")
        self.keep(note._replace(method=method, path=path))


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
