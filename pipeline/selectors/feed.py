"""Feeds of a company: all events of its jobs, and all other changes; none is lost or repeated.

Rows get their ids before their transactions commit, so a reader that remembers the highest id it
has seen would miss the rows that commit later with lower ones. The feed is ordered by (`txid`,
`id`) and stops before the oldest transaction that is still running, so it is complete: whatever
commits later has a higher `txid`. Within one job, this is the order of `seq`.

It is read from the primary alone: a replica can show an event that a failover then undoes, and
readers keep what they were sent.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from django.db import connection

from pipeline.domain.errors import UnknownPlace
from pipeline.line.removed_logs import refuse_removed_log
from pipeline.models import Change, Event, RemovedLog
from pipeline.selectors.page import Page


class FeedPlace(NamedTuple):
    """Place in a company's feed, after an event. It reveals nothing about other companies."""

    job_id: UUID
    seq: int


_START = (0, 0)


def _feed_page_sql(rows: type[Event | Change]) -> str:
    """Return SQL of a page of a feed. The horizon is that of this statement's own snapshot."""
    return """
SELECT {columns} FROM {table}
WHERE company_id = %(company)s AND (txid, id) > (%(txid)s, %(row)s)
  AND txid < pipeline_feed_horizon()
ORDER BY txid, id LIMIT %(most)s
""".format(
        table=rows._meta.db_table,
        columns=", ".join(field.attname for field in rows._meta.concrete_fields),
    )


_PAGE, _CHANGES = _feed_page_sql(Event), _feed_page_sql(Change)


# The last event that the feed shows now.
_END = """
SELECT job_id, seq FROM pipeline_event
WHERE company_id = %(company)s AND txid < pipeline_feed_horizon()
ORDER BY txid DESC, id DESC LIMIT 1
"""


_END_OF_CHANGES = """
SELECT id FROM pipeline_change
WHERE company_id = %(company)s AND txid < pipeline_feed_horizon()
ORDER BY txid DESC, id DESC LIMIT 1
"""


def end_of_feed(company_id: UUID) -> FeedPlace | None:
    """Return the place after the last event in a company's feed; None if it is empty. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_END, {"company": company_id})
        row = cursor.fetchone()
    return FeedPlace(*row) if row else None


def _place_after_removed_log(company_id: UUID, after: FeedPlace) -> tuple[int, int]:
    """Return the place of a removed log's last event. Raises UnknownPlace, LogArchived."""
    removed = RemovedLog.objects.filter(job_id=after.job_id, job__company_id=company_id).first()
    if removed is None:
        raise UnknownPlace
    if removed.events != after.seq:
        refuse_removed_log(after.job_id)
    return removed.last_txid, removed.last_id


def feed_of(company_id: UUID, *, after: FeedPlace | None, limit: int) -> Page[Event]:
    """Return a page of a company's feed after a place (two queries), or from its start (one).

    Events of logs that were removed to the archive are left out. Raises UnknownPlace if the company
    has no such event, LogArchived if it was in such a log, and not its last one.
    """
    txid, row_id = _START
    if after:
        events = Event.objects.filter(company_id=company_id, job_id=after.job_id, seq=after.seq)
        found = events.values_list("txid", "id").first()
        txid, row_id = found or _place_after_removed_log(company_id, after)
    values = {"company": company_id, "txid": txid, "row": row_id, "most": limit + 1}
    return Page.cut(list(Event.objects.raw(_PAGE, values)), limit)


def end_of_changes(company_id: UUID) -> UUID | None:
    """Return the last of a company's changes that its feed shows now. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_END_OF_CHANGES, {"company": company_id})
        row = cursor.fetchone()
    return row[0] if row else None


def changes_of(company_id: UUID, *, after: UUID | None, limit: int) -> Page[Change]:
    """Return a page of a company's changes after one of them (two queries), or from the first.

    Raises UnknownPlace if the company has no such change.
    """
    txid, row_id = 0, UUID(int=0)
    if after:
        changes = Change.objects.filter(company_id=company_id, id=after)
        place = changes.values_list("txid", "id").first()
        if place is None:
            raise UnknownPlace
        txid, row_id = place
    values = {"company": company_id, "txid": txid, "row": row_id, "most": limit + 1}
    return Page.cut(list(Change.objects.raw(_CHANGES, values)), limit)
