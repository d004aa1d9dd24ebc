"""Read of the reason why a person's place in line last changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from pipeline.domain.states import EventType
from pipeline.models import Application, ApplicationRow
from pipeline.wording.moved_positions import PlaceChange

# How many of a job's last events are searched for the cause, however long the line is.
LOOKED_AT = 200

# The events that moved a place in line, newest first: someone ahead left or was offered a seat,
# someone joined ahead or came back to a former place ahead, or the person joined (the tie of their
# place is that event's seq).
_READ = """
WITH recent AS MATERIALIZED (
    SELECT application_id, seq, cause_seq, event, from_status, to_status, at,
           (data->>'ticket')::bigint AS ticket, (data->>'tie')::bigint AS tie
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq >= %(tie)s
      AND (event <> 'PLACED' OR application_id = %(application)s)  -- a draw places all at once
      AND seq > (SELECT seq FROM jobs_job WHERE id = %(job)s) - %(most)s
)
SELECT recent.event, recent.at, recent.application_id = %(application)s, recent.seq,
       recent.cause_seq
FROM recent
LEFT JOIN LATERAL (
    SELECT (data->>'ticket')::bigint AS ticket, (data->>'tie')::bigint AS tie
    FROM pipeline_event before
    WHERE before.application_id = recent.application_id AND before.seq < recent.seq
      AND before.to_status = 'WAITLIST'
    ORDER BY before.seq DESC LIMIT 1
) stood ON recent.from_status = 'WAITLIST'
WHERE recent.event NOT IN (
      'DEFERRED', 'PREACCEPTED', 'PASS_ASKED', 'CONTESTED', 'CONTEST_ANSWERED')
  AND (recent.application_id = %(application)s
   OR (recent.event NOT IN ('REINSTATED', 'PASSED')
       AND (stood.ticket, stood.tie) < (%(ticket)s, %(tie)s))
   OR (recent.to_status = 'WAITLIST' AND (recent.ticket, recent.tie) < (%(ticket)s, %(tie)s)
       AND (recent.event NOT IN ('REINSTATED', 'PASSED')
            OR ((stood.ticket, stood.tie) < (%(ticket)s, %(tie)s)) IS NOT TRUE)))
ORDER BY recent.seq DESC
"""

_LEFT = (EventType.WITHDRAWN, EventType.REMOVED, EventType.CLOSED_OUT)
_CAME = (EventType.VERIFIED, EventType.REINSTATED, EventType.PASSED)


class _MovedPosition(NamedTuple):
    event: EventType
    at: datetime
    own: bool
    seq: int
    cause_seq: int | None

    @property
    def kind(self) -> tuple[object, ...]:
        """Return the key of events that are reported together.

        It hides how other people left the line.
        """
        return (EventType.REMOVED if self.event in _LEFT else self.event, self.at, self.own)


def last_change_of_position(
    application: Application | ApplicationRow,
) -> PlaceChange | None:
    """Return the last change of a person's place, in one query of at most LOOKED_AT events.

    Returns None if the application does not wait, or if none of these events moved it.
    """
    if application.ticket is None:
        return None
    values: dict[str, Any] = {
        "job": application.job_id,
        "application": application.id,
        "ticket": application.ticket,
        "tie": application.tie,
        "most": LOOKED_AT,
    }
    with connection.cursor() as cursor:
        cursor.execute(_READ, values)
        found = [_MovedPosition(EventType(event), *row) for event, *row in cursor.fetchall()]
    # People who get a place ahead and are offered a seat at the same moment have moved nobody.
    came = {move.seq for move in found if move.event in _CAME and not move.own}
    passing = came & {move.cause_seq for move in found if move.event is EventType.PROMOTED}
    moves = [move for move in found if not passing & {move.seq, move.cause_seq}]
    if not moves:
        return None
    last = next((move for move in moves if move.own and move.at == moves[0].at), moves[0])
    together = [move for move in moves if move.kind == last.kind]
    return PlaceChange(last.event, last.at, len(together), last.own)
