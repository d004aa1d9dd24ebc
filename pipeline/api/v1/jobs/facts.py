"""Endpoints for a job in numbers: its facts for everyone, and its figures for the company."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import has_access_to_job, own_job
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, endpoint_answer
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import LOG_ARCHIVED
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.throttles import check_throttle
from pipeline.api.v1.jobs.outputs import SummaryOut, summary_out
from pipeline.api.v1.outputs import Count
from pipeline.audit.heavy_reads import turn_for_heavy_read
from pipeline.domain.errors import JobNotFound
from pipeline.domain.permissions import Action
from pipeline.selectors.jobs import read_job
from pipeline.stats.job_totals import totals_of_job
from pipeline.stats.public_facts import public_facts_of


class FactsOut(TypedDict):
    """Counts of what happened in a line, for everyone. Null is a number from 1 to 4."""

    counted_since: datetime
    counted_events: Count
    offered_count: Count | None
    confirmed_count: Count | None
    missed_count: Count | None
    withdrawn_count: Count | None
    removals_by_reason: dict[str, Count | None]
    reinstatements_by_reason: dict[str, Count | None]
    contested_count: Count | None
    contests_changed_count: Count | None
    contests_overdue_count: Count | None
    capacity_changes: Count
    policy_changes: Count


class FactsOfJob(Endpoint):
    """`/jobs/{id}/facts`"""

    @describes(
        "get_facts",
        Tag.JOBS,
        Action.SEE_JOBS,
        FactsOut,
        tagged=True,
        about="Without personal data, at most a minute old, from the job's last 50,000 events. A"
        " number from 1 to 4 is null, because it could point at a person. The rules and the"
        " length are in the job, the wait in its forecast.",
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return how often offers, misses, decisions and overrides happened in a job's line."""
        caller, job = caller_of(request), read_job(job_id)
        if not has_access_to_job(caller, job.company_id, job.status, is_test=job.is_test):
            raise JobNotFound
        counts = public_facts_of(job)
        payload: FactsOut = {
            "counted_since": counts.since,
            "counted_events": counts.events,
            "offered_count": counts.offered,
            "confirmed_count": counts.confirmed,
            "missed_count": counts.missed,
            "withdrawn_count": counts.withdrawn,
            "removals_by_reason": dict(counts.removals),
            "reinstatements_by_reason": dict(counts.given_back),
            "contested_count": counts.contests.asked,
            "contests_changed_count": counts.contests.changed,
            "contests_overdue_count": counts.contests.overdue,
            "capacity_changes": counts.seats_changed,
            "policy_changes": counts.rules_changed,
        }
        return endpoint_answer(request, payload)


class JobSummary(Endpoint):
    """`/jobs/{id}/summary`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "get_summary",
        Tag.LINE,
        Action.READ_COMPANY,
        SummaryOut,
        tagged=True,
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the job in numbers, from its log; null where there is no data."""
        caller, job = own_job(caller_of(request), job_id, Action.READ_COMPANY)
        check_throttle(request, "replay", caller.log_name)
        with turn_for_heavy_read(job.company_id, events=job.seq):
            payload = summary_out(job_id, totals_of_job(job_id))
        return endpoint_answer(request, payload)
