"""Count of the visitors of a job's public page, by the source of their link.

Without cookies and without keeping addresses: a visitor is a hash of the job, the network and the
program, with a random salt of the day. Hashes and salt are gone the next day, and a hash of one job
says nothing of another. A page only leaves a note in memory; a thread counts the notes.
"""

from __future__ import annotations

import os
import re
from collections import Counter as Tally
from collections.abc import Mapping
from datetime import date
from hashlib import blake2b
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from prometheus_client import Counter

from pipeline.database.note_writer import NoteWriter
from pipeline.models import JobViews

GAP_SECONDS = 5.0
# The most sources of a job that are counted apart on a day: anyone can write a link.
MOST_SOURCES = 100
# The name under which the rest are counted.
OTHER = "other"
LONGEST_PROGRAM = 300

DROPPED = Counter("nextinline_views_dropped", "Views of public pages that were not counted.")

# Programs that say that they are no browser. Those that lie are counted.
_ROBOT = re.compile(
    "bot|crawl|spider|slurp|preview|fetch|scan|monitor|check|headless|lighthouse|curl|wget|python"
    "|java/|go-http|okhttp|axios|node|ruby|perl|php|libwww|httpclient|facebookexternalhit|whatsapp"
    "|embedly|feed|archive",
    re.IGNORECASE,
)


class View(NamedTuple):
    """Page that was shown to somebody. `visitor` is their network and program, only in memory."""

    job_id: UUID
    source: str
    visitor: str


def is_robot(headers: Mapping[str, str]) -> bool:
    """Tell whether a program reads a page for no person, or before a person asks for it."""
    program = headers.get("User-Agent", "")
    purpose = headers.get("Sec-Purpose", "") + headers.get("Purpose", "")
    is_ahead = "prefetch" in purpose or "prerender" in purpose
    return is_ahead or not program or bool(_ROBOT.search(program[:LONGEST_PROGRAM]))


def note(job_id: UUID, source: str, *, address: str, headers: Mapping[str, str]) -> None:
    """Count a person who is shown a job's public page, once a day. Never waits or fails."""
    if view_log.is_on and not is_robot(headers):
        program = headers.get("User-Agent", "")[:LONGEST_PROGRAM]
        view_log.keep(View(job_id, source, f"{address} {program}"))


class ViewLog(NoteWriter[View]):
    """Views that one process has noted, and the thread that counts them."""

    def __init__(self) -> None:
        super().__init__("count of views", gap_seconds=GAP_SECONDS, dropped=DROPPED)

    def store(self, notes: list[View]) -> None:
        """Count views."""
        count(notes)


view_log = ViewLog()

# Today, with its salt. Whoever comes first makes it.
_SALT = """
WITH today AS (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS day),
made AS (
    INSERT INTO pipeline_visitorsalt (day, salt) SELECT day, %(salt)s FROM today
    ON CONFLICT (day) DO UPDATE SET salt = pipeline_visitorsalt.salt RETURNING day, salt
)
SELECT day, salt FROM made
"""


@transaction.atomic
def count(views: list[View]) -> None:
    """Count views of people who have not seen the job's page today, each by their first source."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
        cursor.execute(_SALT, {"salt": os.urandom(32)})
        day, salt = cursor.fetchone()
    first: dict[bytes, View] = {}
    for view in views:
        first.setdefault(_digest(bytes(salt), view), view)
    new = _remember(day, first)
    tally = Tally((first[digest].job_id, first[digest].source) for digest in new)
    _add(day, tally)


def _digest(salt: bytes, view: View) -> bytes:
    text = f"{view.job_id} {view.visitor}".encode(errors="replace")
    return blake2b(text, key=salt, digest_size=16).digest()


_REMEMBER = """
INSERT INTO pipeline_visitor (digest, day) SELECT digest, %(day)s
FROM unnest(%(digests)s::bytea[]) AS seen (digest) ORDER BY digest
ON CONFLICT (digest) DO NOTHING RETURNING digest
"""


def _remember(day: date, digests: Mapping[bytes, View]) -> list[bytes]:
    """Keep the hashes of visitors, in one order, and return those that were not there."""
    with connection.cursor() as cursor:
        cursor.execute(_REMEMBER, {"day": day, "digests": list(digests)})
        return [bytes(digest) for (digest,) in cursor.fetchall()]


_ADD = """
INSERT INTO pipeline_jobviews (job_id, day, source, views)
SELECT job_id, %(day)s, source, views
FROM unnest(%(jobs)s::uuid[], %(sources)s::text[], %(views)s::integer[])
     AS seen (job_id, source, views)
WHERE EXISTS (SELECT FROM jobs_job WHERE id = job_id)
ORDER BY job_id, source
ON CONFLICT (job_id, day, source) DO UPDATE SET views = pipeline_jobviews.views + excluded.views
"""


def _add(day: date, tally: Mapping[tuple[UUID, str], int]) -> None:
    """Add to the numbers of a day. What comes after MOST_SOURCES of a job is counted together."""
    jobs = {job_id for job_id, _ in tally}
    rows = JobViews.objects.filter(day=day, job_id__in=jobs).values_list("job_id", "source")
    known: dict[UUID, set[str]] = {job_id: set() for job_id in jobs}
    for job_id, source in rows:
        known[job_id].add(source)
    sums: Tally[tuple[UUID, str]] = Tally()
    for (job_id, source), views in tally.items():
        is_beyond = source not in known[job_id] and len(known[job_id]) >= MOST_SOURCES
        name = OTHER if is_beyond else source
        known[job_id].add(name)
        sums[job_id, name] += views
    if sums:
        columns: dict[str, Any] = {
            "day": day,
            "jobs": [job_id for job_id, _ in sums],
            "sources": [source for _, source in sums],
            "views": list(sums.values()),
        }
        with connection.cursor() as cursor:
            cursor.execute(_ADD, columns)
