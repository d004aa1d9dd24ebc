"""Emails to everyone whom an exception has passed, each once.

The log says who waited ahead at that event, so people who have left or moved since are told too.
"""

from __future__ import annotations

from uuid import UUID

from pipeline.models import LineException
from tasks.sql.prepared import PreparedStatement

# How many events of the log one task reads. The next task goes on from there.
EVENTS_AT_ONCE = 5_000

# The verified people who waited ahead of a place at an event, by the seq of their own last event
# before it. Each person stands in one stretch of the log only.
READ_PASSED = PreparedStatement("""
SELECT stood.application_id FROM pipeline_event stood
WHERE stood.job_id = %(job)s AND stood.seq > %(after)s AND stood.seq <= %(upto)s
  AND stood.to_status = 'WAITLIST' AND stood.data ->> 'verify_by' IS NULL
  AND ((stood.data ->> 'ticket')::bigint, (stood.data ->> 'tie')::bigint)
      < (%(ticket)s::bigint, %(tie)s::bigint)
  AND NOT EXISTS (
      SELECT FROM pipeline_event later
      WHERE later.application_id = stood.application_id
        AND later.seq > stood.seq AND later.seq < %(seq)s
  )
ORDER BY stood.seq
""")


def read_passed(exception: LineException, *, after: int, upto: int) -> list[UUID]:
    """Return the people whom an exception passed, by a stretch of the log before it."""
    rows = READ_PASSED.all(
        job=exception.job_id,
        seq=exception.seq,
        ticket=exception.from_ticket,
        tie=exception.from_tie,
        after=after,
        upto=min(upto, exception.seq - 1),
    )
    return [application_id for (application_id,) in rows]
