"""Responses with log events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID, uuid5

from django.utils.translation import gettext_lazy
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import JobStatus
from pipeline.api import parameters
from pipeline.api.auth import (
    Caller,
    CompanyCaller,
    authorize_company,
    caller_of,
    visible_applicant,
    visible_application,
    visible_company,
)
from pipeline.api.endpoint import Endpoint, answer_page
from pipeline.api.openapi.parameters import (
    AFTER,
    CHANGES_CURSOR,
    CHANGES_START,
    EVENT,
    EXPAND_APPLICATION,
    EXPAND_CHANGED_APPLICATION,
    FEED_CURSOR,
    FEED_START,
    LIMIT,
    PAGED,
    describe_fields,
)
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import (
    next_page_link,
    page_cursor_place,
    page_cursor_seq,
    page_limit,
    paginated,
    refuse_parameter,
)
from pipeline.api.problem_types import LOG_ARCHIVED
from pipeline.api.v1.applications.shapes import ApplicationOut, application_out
from pipeline.api.v1.outputs import ActorRef, Count, Hash, PageOf
from pipeline.domain.errors import UnknownPlace
from pipeline.domain.permissions import Action
from pipeline.domain.states import EventType, Outcome, Status
from pipeline.line.event_log import logged_time
from pipeline.models import Change, ChangeKind, Event
from pipeline.selectors import applications
from pipeline.selectors.pages import Page, decode_cursor, encode_cursor
from pipeline.selectors.system import FeedPlace, changes_end, feed_end, read_changes, read_feed
from pipeline.selectors.timelines import TimelineMoment, read_application_events, read_person_events
from pipeline.wording import sentences
from pipeline.wording.sentences import Reader


class EventOut(TypedDict):
    """An event in a job's log."""

    seq: Count
    id: UUID
    job_id: UUID
    application_id: UUID | None
    event: Annotated[str, EventType]
    from_status: Annotated[str, Status, JobStatus] | None
    to_status: Annotated[str, Status, JobStatus] | None
    outcome: Annotated[str, Outcome] | None
    actor: ActorRef
    cause_seq: Count | None
    policy_version: Count
    at: datetime
    effective_at: datetime
    data: dict[str, Any]
    prev_hash: Hash
    hash: Hash
    application: ApplicationOut | None


class ToldEventOut(EventOut):
    """An event in a job's log, with a sentence for its reader."""

    sentence: str


class FeedOut(TypedDict):
    """Events in commit order. The cursor is always present; the feed continues from it."""

    data: list[EventOut]
    next_cursor: str


def event_out(event: Event, application: ApplicationOut | None = None) -> EventOut:
    """Return a log event, on request with its application as it is now.

    Its id is made from its place in the log, because row ids span all companies.
    """
    return {
        "seq": event.seq,
        "id": uuid5(event.job_id, str(event.seq)),
        "job_id": event.job_id,
        "application_id": event.application_id,
        "event": event.event,
        "from_status": event.from_status,
        "to_status": event.to_status,
        "outcome": event.outcome,
        "actor": {"kind": event.actor_kind, "id": event.actor_id},
        "cause_seq": event.cause_seq,
        "policy_version": event.policy_version,
        "at": event.at,
        "effective_at": event.effective_at,
        "data": event.data,
        "prev_hash": bytes(event.prev_hash).hex(),
        "hash": bytes(event.hash).hex(),
        "application": application,
    }


def events_out(events: Sequence[Event], *, with_applications: bool = False) -> list[EventOut]:
    """Return log events, on request with their applications as they are now (one query)."""
    ids = {event.application_id for event in events if event.application_id}
    seen = applications.find_many(ids) if with_applications and ids else {}
    found = {id_: application_out(each) for id_, each in seen.items()}
    return [event_out(event, found.get(event.application_id)) for event in events]


def told_out(event: Event, reader: Reader) -> ToldEventOut:
    """Return a log event with its sentence."""
    return {**event_out(event), "sentence": sentences.compose(event, reader)}


# Timelines of an application and of a person, with sentences for the reader.


class TimelineOfApplication(Endpoint):
    """`/applications/{id}/timeline`"""

    @describes(
        "get_timeline_of_application",
        Tag.APPLICATIONS,
        Action.READ_HISTORY,
        PageOf[ToldEventOut],
        parameters=PAGED,
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """Return an application's events, oldest first, each with a sentence that explains it."""
        caller = caller_of(request)
        visible_application(caller, application_id, Action.READ_HISTORY)
        page = read_application_events(
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
        page = read_person_events(
            applicant_id,
            company_id=visible_company(caller),
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
        lambda event: told_out(event, reader),
        lambda event: (
            encode_cursor(event.seq)
            if by_seq
            else encode_cursor(logged_time(event.at), str(event.job_id), event.seq)
        ),
    )
    return answer_page(request, listing)


# Feed of all events in a company's jobs.


_START = encode_cursor("start")
_FOREIGN = gettext_lazy("This cursor does not belong to this feed.")


class EventFeed(Endpoint):
    """`/events`"""

    @describes(
        "list_events",
        Tag.EVENTS,
        Action.READ_FEED,
        FeedOut,
        parameters=(
            FEED_CURSOR,
            AFTER,
            FEED_START,
            EVENT,
            LIMIT,
            EXPAND_APPLICATION,
            describe_fields(EventOut),
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
        caller = authorize_company(caller_of(request), Action.READ_FEED)
        company_id, among = caller.company_id, caller.jobs_allowing(Action.READ_FEED)
        event = parameters.choice(request, "event", EventType)
        name = "after" if "after" in request.query_params else "cursor"
        after = _feed_place(request, name, company_id, among)
        try:
            page = read_feed(company_id, after=after, limit=page_limit(request), among=among)
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
            headers = next_page_link(request, next_cursor, instead_of="after")
        return Response(payload, headers=headers)


def _feed_place(
    request: Request, name: str, company_id: UUID, among: list[UUID] | None
) -> FeedPlace | None:
    """Return the place in the parameter `name`, else where the client starts; None: the first."""
    text = request.query_params.get(name)
    if text is None:
        starts_now = parameters.feed_start(request) == "now"
        return feed_end(company_id, among=among) if starts_now else None
    place = decode_cursor(text, UUID, int)
    if place is None and text != _START:
        refuse_parameter(name, _FOREIGN)
    return FeedPlace(*place) if place else None


# Feed of the changes of a company's data that are no events.


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
        Action.READ_FEED,
        ChangesOut,
        parameters=(
            CHANGES_CURSOR,
            CHANGES_START,
            LIMIT,
            EXPAND_CHANGED_APPLICATION,
            describe_fields(ChangeOut),
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
        caller = authorize_company(caller_of(request), Action.READ_FEED)
        company_id, among = caller.company_id, caller.jobs_allowing(Action.READ_FEED)
        after = _changes_place(request, company_id, among)
        try:
            page = read_changes(company_id, after=after, limit=page_limit(request), among=among)
        except UnknownPlace:
            refuse_parameter("cursor", _FOREIGN)
        last = page.rows[-1].id if page.rows else after
        next_cursor = encode_cursor(str(last)) if last else _START
        rows = _changes_out(page.rows, with_applications="application" in self.expanded)
        headers = next_page_link(request, next_cursor) if page.more else {}
        return Response({"data": rows, "next_cursor": next_cursor}, headers=headers)


def _changes_place(request: Request, company_id: UUID, among: list[UUID] | None) -> UUID | None:
    """Return the change after which the client reads on; None: before the first."""
    text = request.query_params.get("cursor")
    if text is None:
        starts_now = parameters.feed_start(request) == "now"
        return changes_end(company_id, among=among) if starts_now else None
    place = decode_cursor(text, UUID)
    if place is None and text != _START:
        refuse_parameter("cursor", _FOREIGN)
    return place[0] if place else None


def _changes_out(changes: Sequence[Change], *, with_applications: bool) -> list[ChangeOut]:
    """Return changes, on request with their applications as they are now (one query)."""
    ids = {each.application_id for each in changes if each.application_id}
    found = applications.find_many(ids) if with_applications and ids else {}
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
