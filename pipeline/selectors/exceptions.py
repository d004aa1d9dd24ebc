"""Reads of the exceptions in a job's line: how many, and those that passed one person."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Count

from jobs.models import Job
from pipeline.models import LineException

# Those that passed an application: at that event, it waited ahead, verified. The log has at most
# one row for each that says so, the application's own last event before it.
_PASSING = """
SELECT passing.* FROM pipeline_lineexception passing
CROSS JOIN LATERAL (
    SELECT to_status, data FROM pipeline_event own
    WHERE own.application_id = %(application)s AND own.seq < passing.seq
    ORDER BY own.seq DESC LIMIT 1
) stood
WHERE passing.job_id = %(job)s AND stood.to_status = 'WAITLIST'
  AND stood.data ->> 'verify_by' IS NULL
  AND ((stood.data ->> 'ticket')::bigint, (stood.data ->> 'tie')::bigint)
      < (passing.from_ticket, passing.from_tie)
ORDER BY passing.seq DESC
"""


def read_exceptions_passing(job: Job, application_id: UUID) -> list[LineException]:
    """Return the exceptions that passed an application, newest first.

    Takes one query, and none if the job has had no exception.
    """
    if not job.exception_count:
        return []
    who = {"job": job.id, "application": application_id}
    return list(LineException.objects.raw(_PASSING, who))


def count_exceptions(job: Job) -> dict[str, int]:
    """Return how many exceptions a job has had, ever, by reason. At most one query, as above."""
    if not job.exception_count:
        return {}
    counted = LineException.objects.filter(job_id=job.id).values_list("reason")
    return dict(counted.annotate(Count("id")).order_by("reason"))
