"""Everything that happens in a company's jobs, in one feed."""

from __future__ import annotations

from typing import Any, NoReturn
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api import pagination, parameters
from pipeline.api.access import as_company
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint
from pipeline.api.openapi.parameters import AFTER, LIMIT
from pipeline.api.schema import Tag, describes
from pipeline.api.v1.events.outputs import EventOut, FeedOut, event_out
from pipeline.api.v1.outputs import PageOf
from pipeline.domain.errors import UnknownPlace
from pipeline.domain.permissions import Action
from pipeline.models import Event
from pipeline.selectors.feed import Place, feed_of
from pipeline.selectors.paging import Page, decode_cursor, encode_cursor

_START = encode_cursor("start")


class Feed(Endpoint):
    """`/events`"""

    @describes(
        "list_events",
        Tag.EVENTS,
        Action.READ_COMPANY,
        PageOf[EventOut],
        parameters=(AFTER, LIMIT),
        headers=("Link",),
    )
    @describes("follow_events", Tag.EVENTS, Action.READ_COMPANY, FeedOut, parameters=(LIMIT, AFTER))
    def get(self, request: Request) -> Response:
        """All events of the company's jobs in the order of their commits; none lost, none twice.

        `next_cursor` is always there, to be sent as `after`: behind the last event it is where the
        next poll goes on. An event shows as soon as no older transaction still runs.
        """
        company_id = as_company(caller_of(request), Action.READ_COMPANY).company_id
        after = _after(request)
        page = _read(company_id, after, pagination.limit_of(request))
        payload = {"data": [event_out(event) for event in page.rows], "next_cursor": _START}
        last = _place_of(page.rows[-1]) if page.rows else after
        if last:
            payload["next_cursor"] = encode_cursor(str(last.job_id), last.seq)
        return Response(payload, headers=_link(request, page, payload))


def _after(request: Request) -> Place | None:
    text = request.query_params.get("after")
    if text is None or text == _START:
        return None
    place = decode_cursor(text, UUID, int)
    return Place(*place) if place else _refuse()


def _read(company_id: UUID, after: Place | None, limit: int) -> Page[Event]:
    try:
        return feed_of(company_id, after=after, limit=limit)
    except UnknownPlace:
        _refuse()


def _place_of(event: Event) -> Place:
    return Place(event.job_id, event.seq)


def _link(request: Request, page: Page[Event], payload: dict[str, Any]) -> dict[str, str]:
    if not page.more:
        return {}
    return pagination.link_to_next(request, payload["next_cursor"], parameter="after")


def _refuse() -> NoReturn:
    parameters.refuse("after", "This cursor does not belong to this feed.")
