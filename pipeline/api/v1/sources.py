"""Endpoints for where people came from: the funnel of a job and of a company, by source."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api import parameters, throttles
from pipeline.api.auth import authorize_company, caller_of, own_job
from pipeline.api.endpoint import Endpoint, answer_read
from pipeline.api.openapi.parameters import Parameter, integer_schema
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import LOG_ARCHIVED
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.outputs import Count
from pipeline.audit.verify import heavy_read
from pipeline.domain.permissions import Action
from pipeline.figures import idle_seats
from pipeline.selectors.jobs import read_job
from pipeline.sources import funnel
from pipeline.sources.funnel import Funnel, SourceRow

OF_DAYS = (
    Parameter(
        "days",
        "How many days, until now: people who applied in them, and views.",
        integer_schema(1, funnel.MOST_DAYS, default=funnel.USUAL_DAYS),
    ),
)
_ABOUT = (
    "`source` is the name in the link or the application, in lower case, `direct` without one. It"
    " is empty for erased people, and null for all sources after the first 50. `viewed` counts each"
    " visitor of the public page once a day. Each median is of the seconds since the step before."
)


class SourceFunnelOut(TypedDict):
    """People from one source, and how far they got."""

    source: str | None
    viewed: Count
    applied: Count
    verified: Count
    seated: Count
    hired: Count
    median_seconds_to_verified: float | None
    median_seconds_to_seated: float | None
    median_seconds_to_hired: float | None


class SourcesOut(TypedDict):
    """A funnel by source. `is_cut`: old events or jobs were left out because there are too many."""

    since: datetime
    is_cut: bool
    total: SourceFunnelOut
    sources: list[SourceFunnelOut]


class SourcesOfJob(Endpoint):
    """`/jobs/{id}/sources`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "get_sources",
        Tag.LINE,
        Action.READ_COMPANY,
        SourcesOut,
        tagged=True,
        parameters=OF_DAYS,
        about=_ABOUT,
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return where a job's people came from, and how far they got."""
        caller, job = own_job(caller_of(request), job_id, Action.READ_COMPANY)
        days = _days(request)
        throttles.check(request, "replay", caller.log_name)
        with heavy_read(job.company_id, events=min(job.seq, funnel.MOST_EVENTS)):
            found = funnel.read_job(read_job(job_id), days=days)
        return answer_read(request, _funnel_out(found))


class SourcesOfCompany(Endpoint):
    """`/companies/me/sources`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "get_company_sources",
        Tag.COMPANIES,
        Action.READ_COMPANY,
        SourcesOut,
        tagged=True,
        parameters=OF_DAYS,
        about=f"{_ABOUT} Without jobs whose log was moved to the archive.",
    )
    def get(self, request: Request) -> Response:
        """Return where the people of all the company's jobs came from, and how far they got."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        days = _days(request)
        throttles.check(request, "replay", caller.log_name)
        with heavy_read(caller.company_id, events=idle_seats.count_events(caller.company_id)):
            found = funnel.read_company(caller.company_id, days=days)
        return answer_read(request, _funnel_out(found))


def _days(request: Request) -> int:
    days = parameters.integer(request, "days", low=1, high=funnel.MOST_DAYS)
    return days or funnel.USUAL_DAYS


def _funnel_out(found: Funnel) -> SourcesOut:
    return {
        "since": found.since,
        "is_cut": found.is_cut,
        "total": _row_out(found.total),
        "sources": [_row_out(row) for row in found.rows],
    }


def _row_out(row: SourceRow) -> SourceFunnelOut:
    return {
        "source": row.source,
        "viewed": row.viewed,
        "applied": row.applied,
        "verified": row.verified,
        "seated": row.seated,
        "hired": row.hired,
        "median_seconds_to_verified": row.to_verified,
        "median_seconds_to_seated": row.to_seated,
        "median_seconds_to_hired": row.to_hired,
    }
