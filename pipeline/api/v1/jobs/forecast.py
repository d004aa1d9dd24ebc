"""Endpoint for the forecast of a job's line."""

from __future__ import annotations

from typing import TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import JobStatus
from pipeline.api.access import has_access_to_job
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, endpoint_answer
from pipeline.api.openapi.parameters import POSITION
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import integer_parameter
from pipeline.api.v1.outputs import Count
from pipeline.domain.errors import JobNotFound
from pipeline.domain.permissions import Action
from pipeline.forecast.statements import read_prospects_with_statements
from pipeline.selectors.jobs import read_job


class ForecastOut(TypedDict):
    """Waits of people at a position of a line until they were offered a seat, from its history."""

    position: Count
    half_wait_seconds: Count | None
    most_wait_seconds: Count | None
    offers_seen: Count
    forecasts_counted: Count
    forecasts_true_percent: Count | None


class ForecastOfJob(Endpoint):
    """`/jobs/{id}/forecast`"""

    @describes(
        "get_forecast",
        Tag.JOBS,
        Action.SEE_JOBS,
        ForecastOut,
        tagged=True,
        parameters=(POSITION,),
        about="Recomputed at most every ten minutes, from the job's own history; people who are"
        " still waiting or have left are taken into account. Null while too few people have"
        " been there, if"
        " it is older than a day, unless the job is open, and before its draw by lot. The order"
        " does not depend on it.",
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the forecast for a position; by default for a person who applies now."""
        caller, job = caller_of(request), read_job(job_id)
        if not has_access_to_job(caller, job.company_id, job.status, is_test=job.is_test):
            raise JobNotFound
        position = integer_parameter(request, "position", low=1) or job.people_waiting + 1
        is_open = job.status == JobStatus.OPEN and not job.awaits_draw
        found = read_prospects_with_statements({job_id: position}).get(job_id) if is_open else None
        payload: ForecastOut = {
            "position": position,
            "half_wait_seconds": found.forecast.half if found else None,
            "most_wait_seconds": found.forecast.most if found else None,
            "offers_seen": found.forecast.offers if found else 0,
            "forecasts_counted": found.counted if found else 0,
            "forecasts_true_percent": found.share if found else None,
        }
        return endpoint_answer(request, payload)
