"""Feed of the changes of a company's data that are no events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import authorize_company
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint
from pipeline.api.openapi.parameters import (
    CHANGES_CURSOR,
    CHANGES_START,
    EXPAND_CHANGED_APPLICATION,
    LIMIT,
    fields_parameter,
)
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.pagination import link_to_next_page, page_limit
from pipeline.api.parameters import feed_start_parameter, refuse_parameter
from pipeline.api.v1.applications.outputs import ApplicationOut, application_out
from pipeline.domain.errors import UnknownPlace
from pipeline.domain.permissions import Action
from pipeline.models import Change, ChangeKind
from pipeline.selectors.applications import applications_by_id
from pipeline.selectors.cursors import decode_cursor, encode_cursor
from pipeline.selectors.feed import changes_of, end_of_changes

_START = encode_cursor("start")
_FOREIGN = "This cursor does not belong to this feed."


class ChangeOut(TypedDict):
    """A change that is no event: ids only. Read what it concerns."""

    id: UUID
    kind: Annotated[str, ChangeKind]
    job_id: UUID | None
    application_id: UUID | None
    webhook_id: UUID | None
    at: datetime
    application: ApplicationOut | None


class ChangesOut(TypedDict):
    """Changes in commit order. The cursor is always present; the feed continues from it."""

    data: list[ChangeOut]
    next_cursor: str


class ChangeFeed(Endpoint):
    """`/changes`"""

    @describes(
        "list_changes",
        Tag.EVENTS,
        Action.READ_COMPANY,
        ChangesOut,
        parameters=(
            CHANGES_CURSOR,
            CHANGES_START,
            LIMIT,
            EXPAND_CHANGED_APPLICATION,
            fields_parameter(ChangeOut),
        ),
        headers=("Link",),
        about="`JOB_CHANGED`: its title, description, location, `external_id` or `metadata`."
        " `APPLICATION_CHANGED`: its name, `external_id` or `metadata`. `APPLICATION_ERASED`: the"
        " person's data was erased; erase yours too. `JOB_DELETED`: a draft."
        " `PLANNED_SEATS_CHANGED`: a plan was added or cancelled. `WEBHOOK_SWITCHED_OFF`: an"
        " endpoint gets nothing any more, by hand or because of its answers.",
    )
    def get(self, request: Request) -> Response:
        """Return the company's changes that are no events, in commit order; none lost, none twice.

        Send `next_cursor` as `cursor`. It is always present. A change appears within seconds: once
        no older transaction is still running. With `/events`, this is everything that a copy of
        jobs and applications needs.
        """
        company_id = authorize_company(caller_of(request), Action.READ_COMPANY).company_id
        after = _changes_place(request, company_id)
        try:
            page = changes_of(company_id, after=after, limit=page_limit(request))
        except UnknownPlace:
            refuse_parameter("cursor", _FOREIGN)
        last = page.rows[-1].id if page.rows else after
        next_cursor = encode_cursor(str(last)) if last else _START
        rows = _changes_out(page.rows, with_applications="application" in self.expanded)
        headers = link_to_next_page(request, next_cursor) if page.more else {}
        return Response({"data": rows, "next_cursor": next_cursor}, headers=headers)


def _changes_place(request: Request, company_id: UUID) -> UUID | None:
    """Return the change after which the client reads on; None: before the first."""
    text = request.query_params.get("cursor")
    if text is None:
        return end_of_changes(company_id) if feed_start_parameter(request) == "now" else None
    place = decode_cursor(text, UUID)
    if place is None and text != _START:
        refuse_parameter("cursor", _FOREIGN)
    return place[0] if place else None


def _changes_out(changes: Sequence[Change], *, with_applications: bool) -> list[ChangeOut]:
    """Return changes, on request with their applications as they are now (one query)."""
    ids = {each.application_id for each in changes if each.application_id}
    found = applications_by_id(ids) if with_applications and ids else {}
    return [
        {
            "id": each.id,
            "kind": each.kind,
            "job_id": each.job_id,
            "application_id": each.application_id,
            "webhook_id": each.webhook_id,
            "at": each.at,
            "application": application_out(seen) if seen else None,
        }
        for each in changes
        for seen in [found.get(each.application_id)]
    ]
