"""Feed of all events in a company's jobs."""

from __future__ import annotations

from typing import NoReturn
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import authorize_company
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint
from pipeline.api.openapi.parameters import AFTER, LIMIT
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.pagination import link_to_next_page, page_limit
from pipeline.api.parameters import refuse_parameter
from pipeline.api.v1.events.outputs import EventOut, FeedOut, event_out
from pipeline.api.v1.outputs import PageOf
from pipeline.domain.errors import UnknownPlace
from pipeline.domain.permissions import Action
from pipeline.selectors.cursors import decode_cursor, encode_cursor
from pipeline.selectors.feed import FeedPlace, feed_of

_START = encode_cursor("start")


class EventFeed(Endpoint):
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
        """Return all events of the company's jobs in commit order; none lost, none twice.

        Send `next_cursor` as `after`. It is always present: after the last event, the next poll
        continues from it. An event appears once no older transaction is still running.
        """
        company_id = authorize_company(caller_of(request), Action.READ_COMPANY).company_id
        text = request.query_params.get("after", _START)
        place = decode_cursor(text, UUID, int)
        if place is None and text != _START:
            _refuse_feed_cursor()
        after = FeedPlace(*place) if place else None
        try:
            page = feed_of(company_id, after=after, limit=page_limit(request))
        except UnknownPlace:
            _refuse_feed_cursor()
        last = page.rows[-1] if page.rows else after
        next_cursor = encode_cursor(str(last.job_id), last.seq) if last else _START
        payload = {"data": [event_out(event) for event in page.rows], "next_cursor": next_cursor}
        headers: dict[str, str] = {}
        if page.more:
            headers = link_to_next_page(request, next_cursor, parameter="after")
        return Response(payload, headers=headers)


def _refuse_feed_cursor() -> NoReturn:
    refuse_parameter("after", "This cursor does not belong to this feed.")
