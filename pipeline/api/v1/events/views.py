"""Feed of all events in a company's jobs."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import authorize_company
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint
from pipeline.api.openapi.parameters import (
    AFTER,
    EVENT,
    EXPAND_APPLICATION,
    FEED_CURSOR,
    FEED_START,
    LIMIT,
    fields_parameter,
)
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.pagination import link_to_next_page, page_limit
from pipeline.api.parameters import choice_parameter, feed_start_parameter, refuse_parameter
from pipeline.api.problem_types import LOG_ARCHIVED
from pipeline.api.v1.events.outputs import EventOut, FeedOut, events_out
from pipeline.domain.errors import UnknownPlace
from pipeline.domain.permissions import Action
from pipeline.domain.states import EventType
from pipeline.selectors.cursors import decode_cursor, encode_cursor
from pipeline.selectors.feed import FeedPlace, end_of_feed, feed_of

_START = encode_cursor("start")
_FOREIGN = "This cursor does not belong to this feed."


class EventFeed(Endpoint):
    """`/events`"""

    @describes(
        "list_events",
        Tag.EVENTS,
        Action.READ_COMPANY,
        FeedOut,
        parameters=(
            FEED_CURSOR,
            AFTER,
            FEED_START,
            EVENT,
            LIMIT,
            EXPAND_APPLICATION,
            fields_parameter(EventOut),
        ),
        headers=("Link",),
        about="Events are kept for ever, except those of jobs that closed long ago whose logs were"
        " moved to the archive. With `event`, a page can be short or empty although"
        " more follow: continue while there is a `Link`.",
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request) -> Response:
        """Return all events of the company's jobs in commit order; none lost, none twice.

        Send `next_cursor` as `cursor`. It is always present: after the last event, the next poll
        continues from it. An event appears once no older transaction is still running. Save the
        cursor after you have handled the page: a page that you read again holds the same events.
        """
        company_id = authorize_company(caller_of(request), Action.READ_COMPANY).company_id
        event = choice_parameter(request, "event", EventType)
        name = "after" if "after" in request.query_params else "cursor"
        after = _event_feed_place(request, name, company_id)
        try:
            page = feed_of(company_id, after=after, limit=page_limit(request))
        except UnknownPlace:
            refuse_parameter(name, _FOREIGN)
        last = page.rows[-1] if page.rows else after
        next_cursor = encode_cursor(str(last.job_id), last.seq) if last else _START
        rows = [row for row in page.rows if event is None or row.event == event]
        payload = {
            "data": events_out(rows, with_applications="application" in self.expanded),
            "next_cursor": next_cursor,
        }
        headers: dict[str, str] = {}
        if page.more:
            headers = link_to_next_page(request, next_cursor, instead_of="after")
        return Response(payload, headers=headers)


def _event_feed_place(request: Request, name: str, company_id: UUID) -> FeedPlace | None:
    """Return the place in the parameter `name`, else where the client starts; None: the first."""
    text = request.query_params.get(name)
    if text is None:
        return end_of_feed(company_id) if feed_start_parameter(request) == "now" else None
    place = decode_cursor(text, UUID, int)
    if place is None and text != _START:
        refuse_parameter(name, _FOREIGN)
    return FeedPlace(*place) if place else None
