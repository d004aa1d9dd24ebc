"""Reads of whole lines and logs for exports, in batches, however long.

Nothing here holds a transaction open while a slow client reads. Only one batch is held in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from applicants.models import ERASED
from pipeline.database.replica import reads_replica
from pipeline.line.removed_logs import refuse_removed_log
from pipeline.models import Event
from tasks.listen import listener_session

# Rows per batch.
SLICE = 2_000

# `reason` is the code of a decision, if there is one. `policy_version` is that of the rules at the
# application's last event. `misses` and `decision_note` are the old names of `decay_count` and
# `note`.
APPLICATION_COLUMNS = (
    "application_id",
    "applicant_id",
    "name",
    "email",
    "status",
    "verified",
    "outcome",
    "reason",
    "position",
    "misses",
    "applied_at",
    "promoted_at",
    "acknowledge_by",
    "acknowledged_at",
    "eligible_at",
    "ended_at",
    "policy_version",
    "decision_note",
    "decay_count",
    "note",
    "external_id",
    "not_before",
    "accept_until",
    "passes_used",
    "pass_next",
)

_APPLICATIONS = """
SELECT a.id, a.applicant_id, a.name,
       CASE WHEN NOT starts_with(person.email, %(erased)s) THEN person.email END,
       a.status, a.verify_by IS NULL, a.outcome,
       CASE WHEN a.ended_at IS NOT NULL THEN last.data ->> 'reason' END,
       CASE WHEN a.status = 'WAITLIST' AND a.verify_by IS NULL THEN
           count(*) FILTER (WHERE a.verify_by IS NULL)
           OVER (PARTITION BY a.status ORDER BY a.ticket, a.tie) END,
       a.decay_count, a.applied_at, a.promoted_at, a.acknowledge_by, a.acknowledged_at,
       a.eligible_at, a.ended_at, last.policy_version, note.text,
       a.decay_count, note.text, attached.external_id, a.not_before,
       a.accept_until, a.passes_used, a.pass_next
FROM pipeline_application a
JOIN applicants_applicant person ON person.id = a.applicant_id
LEFT JOIN LATERAL (
    SELECT policy_version, data FROM pipeline_event
    WHERE application_id = a.id ORDER BY seq DESC LIMIT 1
) last ON true  -- none if the log is in the archive
LEFT JOIN LATERAL (
    SELECT string_agg(text, E'\n' ORDER BY seq) AS text FROM pipeline_decisionnote
    WHERE application_id = a.id
) note ON true
LEFT JOIN pipeline_applicationreference attached ON attached.application_id = a.id
WHERE a.job_id = %(job)s
ORDER BY a.applied_at, a.id
"""


def exported_rows_of_applications(job_id: UUID) -> Iterator[tuple[Any, ...]]:
    """Return every application to a job in the order of APPLICATION_COLUMNS, oldest first.

    As of one instant: the database keeps the result of the single statement until it has been read.
    """
    with listener_session() as database, database.chunked_cursor() as cursor:
        cursor.execute(_APPLICATIONS, {"job": job_id, "erased": ERASED})
        while rows := cursor.fetchmany(SLICE):
            yield from rows


def exported_rows_of_log(job_id: UUID, head: int) -> Iterator[Event]:
    """Yield a job's log up to a seq, oldest first.

    Log rows never change, so this reads the log as of one instant. Raises LogArchived.
    """

    @reads_replica
    def read_slice_of_exported_rows(last: int) -> list[Event]:
        events = Event.objects.filter(job_id=job_id, seq__gt=last, seq__lte=head)
        return list(events.order_by("seq")[:SLICE])

    last = 0
    while last < head:
        if not (rows := read_slice_of_exported_rows(last)):
            refuse_removed_log(job_id)
            return
        yield from rows
        last = rows[-1].seq
