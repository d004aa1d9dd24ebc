"""Facts of a job for everyone: how often each event happened in its line, without personal data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.core.cache import caches
from django.db import connection

from jobs.models import Job
from pipeline.domain.contests import ContestAnswer
from pipeline.line.company_clock import read_company_clock
from pipeline.line.removed_logs import refuse_removed_log
from pipeline.models import Contest, Event

# A number below this could point at a person, so the page only says that it is smaller.
FEWEST_SHOWN = 5
# How many of a job's last events are counted, and for how long the result is kept.
MOST_EVENTS = 50_000
KEPT_SECONDS = 60


class ContestCounts(NamedTuple):
    """Numbers of people who asked the company to look again, and who got their place back.

    `overdue` counts open requests whose time to answer is over.
    """

    asked: int | None
    changed: int | None
    overdue: int | None


@dataclass(frozen=True, slots=True)
class PublicCounts:
    """Numbers of a job's last events. A number from 1 to FEWEST_SHOWN - 1 is None.

    `since` is the time of the first counted event. The keys of the tables are codes of reasons;
    removals without a reason have the key NONE.
    """

    since: datetime
    events: int
    offered: int | None
    confirmed: int | None
    missed: int | None
    withdrawn: int | None
    removals: Mapping[str, int | None]
    given_back: Mapping[str, int | None]
    contests: ContestCounts
    seats_changed: int
    rules_changed: int


_READ = """
SELECT event, CASE WHEN event IN ('REMOVED', 'REINSTATED')
                   THEN coalesce(data ->> 'reason', 'NONE')
                   WHEN event = 'CONTEST_ANSWERED' THEN data ->> 'answer' END AS reason,
       count(*)
FROM pipeline_event
WHERE job_id = %(job)s AND seq > %(after)s
  AND (event <> 'APPLIED' OR to_status = 'PENDING_ACKNOWLEDGMENT')
  AND (event <> 'LAPSED' OR from_status = 'PENDING_ACKNOWLEDGMENT')
GROUP BY 1, 2
"""


def public_facts_of(job: Job) -> PublicCounts:
    """Return the counts of a job's last MOST_EVENTS events, at most KEPT_SECONDS old.

    Raises LogArchived.
    """
    key = f"public_counts:{job.id}"
    known: PublicCounts | None = caches["local"].get(key)
    if known is not None:
        return known
    after = max(0, job.seq - MOST_EVENTS)
    with connection.cursor() as cursor:
        cursor.execute(_READ, {"job": job.id, "after": after})
        rows = cursor.fetchall()
    first = Event.objects.filter(job_id=job.id, seq=after + 1).values_list("at", flat=True).first()
    if first is None:
        refuse_removed_log(job.id)
    open_contests = Contest.objects.filter(job_id=job.id, answer="")
    now = read_company_clock(job.company_id).now
    counts = {(event, reason): count for event, reason, count in rows}

    def public_total(*events: str) -> int:
        return sum(count for (event, _), count in counts.items() if event in events)

    def public_facts_by_reason(kind: str) -> dict[str, int | None]:
        found = {reason: count for (event, reason), count in counts.items() if event == kind}
        return {reason: _shown_fact(count) for reason, count in sorted(found.items())}

    known = PublicCounts(
        since=first or job.created_at,
        events=job.seq - after,
        offered=_shown_fact(public_total("PROMOTED", "APPLIED")),
        confirmed=_shown_fact(public_total("ACKNOWLEDGED")),
        missed=_shown_fact(public_total("DECAYED", "LAPSED")),
        withdrawn=_shown_fact(public_total("WITHDRAWN")),
        removals=public_facts_by_reason("REMOVED"),
        given_back=public_facts_by_reason("REINSTATED"),
        contests=ContestCounts(
            _shown_fact(public_total("CONTESTED")),
            _shown_fact(counts.get(("CONTEST_ANSWERED", ContestAnswer.CHANGED), 0)),
            _shown_fact(open_contests.filter(answer_by__lte=now).count()),
        ),
        seats_changed=public_total("CAPACITY_CHANGED"),
        rules_changed=public_total("POLICY_CHANGED"),
    )
    caches["local"].set(key, known, KEPT_SECONDS)
    return known


def _shown_fact(count: int) -> int | None:
    return count if count == 0 or count >= FEWEST_SHOWN else None
