"""Lists of applications for a company: all to a job, and the one with an external id."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.annotations.write import normalised_tag
from pipeline.api.access import authorize_company, own_job
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, endpoint_page_answer
from pipeline.api.openapi.parameters import (
    EXPAND_DECISION,
    EXPAND_LIST,
    OF_APPLICATIONS,
    PAGED,
    WITH_EXTERNAL_ID,
    fields_parameter,
)
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.pagination import page_cursor_id, page_cursor_place, page_limit
from pipeline.api.parameters import (
    choice_parameter,
    flag_parameter,
    integer_parameter,
    metadata_parameter,
    moment_parameter,
    refuse_parameter,
    search_parameter,
    text_parameter,
)
from pipeline.api.v1.applications.outputs import (
    ApplicationOut,
    ApplicationsOut,
    TotalOut,
    applications_out,
)
from pipeline.api.v1.outputs import PageOf
from pipeline.domain.permissions import Action
from pipeline.domain.states import Outcome, Status
from pipeline.selectors.applications import application_with_external_id
from pipeline.selectors.cursors import encode_cursor
from pipeline.selectors.job_applications import (
    ORDERS,
    USUAL_ORDER,
    ListOrder,
    ListPlace,
    WantedJobApplications,
    count_job_applications,
    list_job_applications,
    list_searched_job_applications,
)
from pipeline.selectors.search import NamePlace

# Which order a list has by default, if it is limited by this parameter.
_BY_END = ("ended_after", "ended_before")


class JobApplicationList(Endpoint):
    """`GET /jobs/{id}/applications`"""

    @describes(
        "list_job_applications",
        Tag.APPLICATIONS,
        Action.READ_COMPANY,
        ApplicationsOut,
        parameters=(*OF_APPLICATIONS, *PAGED, EXPAND_LIST, fields_parameter(ApplicationOut)),
        about="`position` is null here: `/queue` has the waitlist in order. A page can be"
        " shorter than `limit` although more follow: with some filters, one request searches"
        " only 5,000 applications. Continue until `next_cursor` is null.",
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the applications to a job, including ended ones, newest first."""
        _, job = own_job(caller_of(request), job_id, Action.READ_COMPANY)
        filters, search = _application_list_filters(request), search_parameter(request)
        limit = page_limit(request)
        order = _application_list_order(request)
        if search:
            if "sort" in request.query_params or "total" in self.expanded:
                refuse_parameter("search", "Send neither sort nor expand=total with a search.")
            place = page_cursor_place(request, str, UUID)
            page = list_searched_job_applications(
                job.company_id,
                job_id,
                search,
                filters,
                after=NamePlace(*place) if place else None,
                limit=limit,
            )
        else:
            start = page_cursor_place(request, datetime, UUID)
            listed_after = ListPlace(*start) if start else None
            page = list_job_applications(
                job_id, filters, order=order, after=listed_after, limit=limit
            )
        total: TotalOut | None = None
        if "total" in self.expanded:
            counted = count_job_applications(job_id, filters, order)
            total = {"count": counted.people, "exact": counted.exact}
        rows = applications_out(page.rows, with_decisions="decision" in self.expanded)
        next_cursor = encode_cursor(*page.next) if page.next else None
        payload = {"data": rows, "next_cursor": next_cursor, "total": total}
        return endpoint_page_answer(request, payload)


class ApplicationList(Endpoint):
    """`/applications`"""

    @describes(
        "find_applications",
        Tag.APPLICATIONS,
        Action.READ_COMPANY,
        PageOf[ApplicationOut],
        parameters=(WITH_EXTERNAL_ID, *PAGED, EXPAND_DECISION, fields_parameter(ApplicationOut)),
    )
    def get(self, request: Request) -> Response:
        """Find the company's application with an `external_id`: one or none."""
        company_id = authorize_company(caller_of(request), Action.READ_COMPANY).company_id
        page_limit(request), page_cursor_id(request)
        external_id = text_parameter(request, "external_id")
        if external_id is None or not request.query_params["external_id"]:
            refuse_parameter("external_id", "Send the application's external_id.")
        found = application_with_external_id(company_id, external_id)
        rows = applications_out(found, with_decisions="decision" in self.expanded)
        return Response({"data": rows, "next_cursor": None})


def _application_list_filters(request: Request) -> WantedJobApplications:
    tag = text_parameter(request, "tag")
    return WantedJobApplications(
        status=choice_parameter(request, "status", Status),
        outcome=choice_parameter(request, "outcome", Outcome),
        applied_after=moment_parameter(request, "applied_after"),
        applied_before=moment_parameter(request, "applied_before"),
        ended_after=moment_parameter(request, "ended_after"),
        ended_before=moment_parameter(request, "ended_before"),
        min_decay_count=integer_parameter(request, "min_decay_count", low=0, high=10_000),
        verified=flag_parameter(request, "verified"),
        tag=None if tag is None else normalised_tag(tag),
        external_id=text_parameter(request, "external_id"),
        metadata=metadata_parameter(request),
    )


def _application_list_order(request: Request) -> ListOrder:
    by_end = any(name in request.query_params for name in _BY_END)
    name: Any = request.query_params.get("sort", "-ended_at" if by_end else USUAL_ORDER)
    if name not in ORDERS:
        refuse_parameter("sort", f"Must be one of {', '.join(ORDERS)}.")
    return ORDERS[name]
