"""Share of the decisions on people in seats that met the company's own target, from the log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import caches
from django.db import connection

from jobs.models import Job
from pipeline.database.replica import reads_replica
from pipeline.line.clock import read_company_clock

# With fewer cases nothing is said: a share of them would be chance, and could point at a person.
FEWEST_CASES = 10
SPAN, MOST_CASES = timedelta(days=180), 500
KEPT_SECONDS = 60

# When the last people on whom the company decided took their seats, and when it decided; then those
# whose decision is overdue. Without the latter, a company that never decides would look quick.
_CASES = """
SELECT seated.at, decided.at
FROM (
    SELECT application_id, seq, at FROM pipeline_event
    WHERE job_id = %(job)s AND event = 'REMOVED' AND from_status = 'ACTIVE' AND at > %(since)s
    ORDER BY at DESC LIMIT %(most)s
) decided CROSS JOIN LATERAL (
    SELECT at FROM pipeline_event
    WHERE application_id = decided.application_id AND to_status = 'ACTIVE' AND seq < decided.seq
    ORDER BY seq DESC LIMIT 1
) seated
UNION ALL
(SELECT status_since, NULL FROM pipeline_application
 WHERE job_id = %(job)s AND status = 'ACTIVE' AND status_since <= %(cutoff)s LIMIT %(most)s)
"""


@dataclass(frozen=True, slots=True)
class ReviewPace:
    """Reviews that ended with a decision since a time, or are overdue, and those in time."""

    cases: int
    within: int
    since: datetime

    @property
    def tenths(self) -> int:
        """Return in how many of ten cases the company was in time, rounded down."""
        return self.within * 10 // self.cases


def read_review_pace(job: Job) -> ReviewPace | None:
    """Return how often a job's reviews met the target that it has now, at most a minute old.

    None without a target, and with fewer than FEWEST_CASES. In two queries.
    """
    clock = job.review_clock
    if clock is None:
        return None
    key = f"review_pace:{job.id}:{hash(clock)}"
    kept: tuple[ReviewPace | None] | None = caches["local"].get(key)
    if kept is None:
        kept = (_compute_pace(job),)
        caches["local"].set(key, kept, KEPT_SECONDS)
    return kept[0]


@reads_replica
def _compute_pace(job: Job) -> ReviewPace | None:
    clock = job.review_clock
    assert clock is not None  # noqa: S101  checked above
    now = read_company_clock(job.company_id).now
    values: dict[str, Any] = {"job": job.id, "since": now - SPAN, "most": MOST_CASES}
    with connection.cursor() as cursor:
        cursor.execute(_CASES, values | {"cutoff": clock.cutoff(now)})
        cases = cursor.fetchall()
    if len(cases) < FEWEST_CASES:
        return None
    within = sum(
        decided is not None and decided <= clock.due_at(seated) for seated, decided in cases
    )
    return ReviewPace(len(cases), within, max(now - SPAN, job.opened_at or job.created_at))
