"""Timelines of an application and of a person, with sentences for the reader."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import company_in_view, visible_applicant, visible_application
from pipeline.api.callers import Caller, CompanyCaller, caller_of
from pipeline.api.endpoint import Endpoint, endpoint_page_answer
from pipeline.api.openapi.parameters import PAGED
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.pagination import page_cursor_place, page_cursor_seq, page_limit, paginated
from pipeline.api.problem_types import LOG_ARCHIVED
from pipeline.api.v1.events.outputs import ToldEventOut, event_with_sentence_out
from pipeline.api.v1.outputs import PageOf
from pipeline.domain.permissions import Action
from pipeline.line.event_log import logged_time
from pipeline.models import Event
from pipeline.selectors.cursors import encode_cursor
from pipeline.selectors.page import Page
from pipeline.selectors.timelines import TimelineMoment, timeline_of_application, timeline_of_person
from pipeline.wording.sentences import Reader


class TimelineOfApplication(Endpoint):
    """`/applications/{id}/timeline`"""

    @describes(
        "get_timeline_of_application",
        Tag.APPLICATIONS,
        Action.READ_APPLICATION,
        PageOf[ToldEventOut],
        parameters=PAGED,
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """Return an application's events, oldest first, each with a sentence that explains it."""
        caller = caller_of(request)
        visible_application(caller, application_id)
        page = timeline_of_application(
            application_id,
            after_seq=page_cursor_seq(request),
            limit=page_limit(request),
        )
        return _timeline_answer(request, caller, page, by_seq=True)


class TimelineOfApplicant(Endpoint):
    """`/applicants/{id}/timeline`"""

    @describes(
        "get_timeline_of_applicant",
        Tag.PEOPLE,
        Action.READ_APPLICANT,
        PageOf[ToldEventOut],
        parameters=PAGED,
    )
    def get(self, request: Request, applicant_id: UUID) -> Response:
        """Return a person's events, oldest first, with sentences; for a company, its own jobs'."""
        caller = caller_of(request)
        visible_applicant(caller, applicant_id)
        place = page_cursor_place(request, datetime, UUID, int)
        page = timeline_of_person(
            applicant_id,
            company_id=company_in_view(caller),
            after=TimelineMoment(*place) if place else None,
            limit=page_limit(request),
        )
        return _timeline_answer(request, caller, page, by_seq=False)


def _timeline_answer(
    request: Request, caller: Caller, page: Page[Event], *, by_seq: bool
) -> Response:
    reader = Reader.COMPANY if isinstance(caller, CompanyCaller) else Reader.APPLICANT
    listing = paginated(
        page,
        lambda event: event_with_sentence_out(event, reader),
        lambda event: (
            encode_cursor(event.seq)
            if by_seq
            else encode_cursor(logged_time(event.at), str(event.job_id), event.seq)
        ),
    )
    return endpoint_page_answer(request, listing)
