"""Responses about a job's line: pipeline, replay and verification."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, TypedDict
from uuid import UUID

from django.utils.translation import gettext as _
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import JobStatus
from pipeline.api import parameters, throttles
from pipeline.api.auth import PersonCaller, caller_of, own_job
from pipeline.api.conditional import version_etag
from pipeline.api.endpoint import Endpoint, answer_read
from pipeline.api.openapi.parameters import (
    AFTER_SEQ,
    AS_OF,
    AS_OF_CAMEL,
    CURSOR,
    EVENT,
    EXPAND_APPLICATION,
    LIMIT,
    MOST_REPLAYED,
    NOTED_HASH,
    NOTED_SEQ,
    OF_APPLICATION,
    PAGED,
    REPLAY_LIMIT,
    REPLAY_SEQ,
    describe_fields,
)
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import (
    page_cursor_place,
    page_cursor_seq,
    page_limit,
    paginated,
    parse_id,
    refuse_parameter,
)
from pipeline.api.problem_types import LOG_ARCHIVED
from pipeline.api.rendering import render_json
from pipeline.api.v1.applications.shapes import ApplicationOut, application_out
from pipeline.api.v1.events import EventOut, events_out
from pipeline.api.v1.jobs.shapes import JobOut, PolicyOut, job_out, policy_out
from pipeline.api.v1.outputs import Count, Hash, PageOf, StandingOut, moment_if_ahead, standing_out
from pipeline.audit.verify import Line, Verdict, heavy_read, replay_one_page, verify_job
from pipeline.database import instants
from pipeline.domain.errors import JobNotFound
from pipeline.domain.permissions import Action
from pipeline.domain.place import TIMED_WISHES
from pipeline.domain.states import EventType, Status
from pipeline.line.clock import read_company_clock
from pipeline.models import Event
from pipeline.selectors.applications import BEFORE_THE_FIRST, SeenApplication, read_queue
from pipeline.selectors.board import read_pipeline
from pipeline.selectors.jobs import JobFacts
from pipeline.selectors.pages import Page, encode_cursor
from pipeline.selectors.past import PastPlace
from pipeline.selectors.people import has_person_applied
from pipeline.selectors.timelines import read_job_events


class _Position(TypedDict):
    """Position of one application in a line."""

    application_id: UUID
    status: Annotated[str, Status]
    verified: bool
    position: int | None
    decay_count: Count


class PlaceOut(_Position, StandingOut):
    """One application's place in the line at a given moment."""

    status_since: datetime


class LineOut(TypedDict):
    """A job's line at a given moment."""

    job_id: UUID
    as_of: datetime
    seq: Count
    status: Annotated[str, JobStatus]
    capacity: Count
    policy: PolicyOut
    positions_to_fill: Count | None
    hired_count: Count | None
    opens_at: datetime | None
    closes_at: datetime | None
    active: list[PlaceOut]
    pending: list[PlaceOut]
    waitlist: list[PlaceOut]
    next_cursor: str | None
    server_time: datetime


class HeadOut(TypedDict):
    """The last event of a log."""

    seq: Count
    hash: Hash


class VerdictOut(TypedDict):
    """The result of verifying a log."""

    chain: Annotated[str, ("enum", ("ok", "broken"))]
    first_bad_seq: int | None
    head: HeadOut
    replay_matches: bool
    differences: list[str] | None
    known: bool | None


class PipelineOut(TypedDict):
    """A job, the people in its seats and the front of its waitlist, all as of one instant."""

    job: JobOut
    active: list[ApplicationOut]
    pending: list[ApplicationOut]
    waitlist: PageOf[ApplicationOut]


def line_out(line: Line, *, as_of: datetime, server_time: datetime) -> LineOut:
    """Return a line at a given moment."""
    return {
        "job_id": line.job_id,
        "as_of": as_of,
        "seq": line.seq,
        "status": line.status,
        "capacity": line.capacity,
        "policy": policy_out(line.policy, line.policy_version),
        "positions_to_fill": line.positions_to_fill,
        "hired_count": line.hired_count,
        "opens_at": line.opens_at,
        "closes_at": line.closes_at,
        "active": [_place_out(place, as_of) for place in line.active],
        "pending": [_place_out(place, as_of) for place in line.pending],
        "waitlist": [_place_out(place, as_of) for place in line.waitlist],
        "next_cursor": encode_cursor(line.seq, line.next_after) if line.next_after else None,
        "server_time": server_time,
    }


def _place_out(place: PastPlace, as_of: datetime) -> PlaceOut:
    return {
        "application_id": place.application_id,
        "status": place.status.value,
        "verified": place.is_verified,
        "position": place.position,
        "decay_count": place.decay_count,
        **standing_out(place, as_of),
        "status_since": place.status_since,
    }


def verdict_out(verdict: Verdict, *, with_differences: bool) -> VerdictOut:
    """Return the result of verifying a log. The differences are optional: they name people."""
    return {
        "chain": verdict.chain,
        "first_bad_seq": verdict.first_bad_seq,
        "head": {"seq": verdict.head_seq, "hash": verdict.head_hash},
        "replay_matches": verdict.replay_matches,
        "differences": verdict.differences if with_differences else None,
        "known": verdict.known,
    }


# Endpoints for a job's line as its company sees it: pipeline, queue, log, replay, verify.


class LinePipeline(Endpoint):
    """`/jobs/{id}/pipeline`"""

    @describes(
        "get_pipeline", Tag.LINE, Action.READ_JOB, PipelineOut, tagged=True, parameters=(LIMIT,)
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return everyone with a seat and the front of the waitlist. `/queue` has the rest."""
        _caller, facts = own_job(caller_of(request), job_id, Action.READ_JOB)
        whole = read_pipeline(job_id, limit=page_limit(request))
        payload = {
            "job": job_out(whole.job),
            "active": [application_out(seen) for seen in whole.active],
            "pending": [application_out(seen) for seen in whole.pending],
            "waitlist": _waitlist_page(whole.waitlist),
        }
        people = [*whole.active, *whole.pending, *whole.waitlist.rows]
        return answer_read(request, payload, _etag(facts, people))


class LineQueue(Endpoint):
    """`/jobs/{id}/queue`"""

    @describes(
        "get_queue",
        Tag.LINE,
        Action.READ_JOB,
        PageOf[ApplicationOut],
        tagged=True,
        parameters=(*PAGED, describe_fields(ApplicationOut)),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return a page of the waitlist, in order, each with its position."""
        _caller, facts = own_job(caller_of(request), job_id, Action.READ_JOB)
        after = page_cursor_place(request, int, int) or BEFORE_THE_FIRST
        page = read_queue(job_id, after=after, limit=page_limit(request))
        return answer_read(request, _waitlist_page(page), _etag(facts, page.rows))


class LineEvents(Endpoint):
    """`/jobs/{id}/events`"""

    @describes(
        "list_job_events",
        Tag.LINE,
        Action.READ_JOB,
        PageOf[EventOut],
        tagged=True,
        parameters=(
            AFTER_SEQ,
            OF_APPLICATION,
            EVENT,
            *PAGED,
            EXPAND_APPLICATION,
            describe_fields(EventOut),
        ),
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return a page of the log, oldest first; optionally of one application or event."""
        _caller, facts = own_job(caller_of(request), job_id, Action.READ_JOB)
        after, limit = page_cursor_seq(request), page_limit(request)
        event = parameters.choice(request, "event", EventType)
        of = request.query_params.get("application")
        application_id = None if of is None else parse_id(of)
        page: Page[Event] = Page([], more=False)  # an id that does not exist
        if of is None or application_id is not None:
            page = read_job_events(
                job_id, after_seq=after, limit=limit, application_id=application_id, event=event
            )
        expands = "application" in self.expanded
        payload = {
            "data": events_out(page.rows, with_applications=expands),
            "next_cursor": encode_cursor(page.rows[-1].seq) if page.more else None,
        }
        # The log never changes; what is shown of applications does.
        return answer_read(request, payload, "" if expands else version_etag(facts.seq))


class LineReplay(Endpoint):
    """`/jobs/{id}/replay`"""

    @describes(
        "replay_job",
        Tag.LINE,
        Action.READ_JOB,
        LineOut,
        tagged=True,
        parameters=(AS_OF, AS_OF_CAMEL, REPLAY_SEQ, REPLAY_LIMIT, CURSOR),
        about="`active` and `pending` are on the first page only. For a very long line, export"
        " the log instead. For a log of more than 5,000 events, a read of more than five"
        " seconds is refused with 503 `UNAVAILABLE`; and only one long log per company is read"
        " at a time, others get 503 `BUSY`. Send the request again after both, but not after"
        " the third `UNAVAILABLE`.",
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the line at a time or after an event, or by default after the last event."""
        caller, facts = own_job(caller_of(request), job_id, Action.READ_JOB)
        as_of = parameters.moment(request, "as_of", "asOf")
        seq = parameters.integer(request, "seq")
        if as_of and seq is not None:
            refuse_parameter("seq", _("Send either a time or a seq."))
        limit = parameters.integer(request, "limit", low=1, high=MOST_REPLAYED) or MOST_REPLAYED
        moment: dict[str, Any] = {"seq": seq, "as_of": as_of}
        after = 0
        if place := page_cursor_place(request, int, int):  # the same moment as on the previous page
            moment, after = {"seq": place[0]}, place[1]
        throttles.check(request, "replay", caller.log_name)
        with heavy_read(facts.company_id, events=facts.seq):
            line = replay_one_page(job_id, after=after, limit=limit, **moment)
            now = read_company_clock(facts.company_id).now if facts.is_test else instants.now()
            payload = line_out(line, as_of=as_of or line.at, server_time=now)
        return answer_read(request, payload, version_etag(facts.seq))


class LineVerify(Endpoint):
    """`/jobs/{id}/verify`"""

    @describes(
        "verify_job",
        Tag.LINE,
        Action.VERIFY_LOG,
        VerdictOut,
        tagged=True,
        parameters=(NOTED_SEQ, NOTED_HASH),
        about="Applicants to the job send the seq and the hash that they noted.",
        refuses=(LOG_ARCHIVED,),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Verify the log. Applicants to the job verify it against the hash that they noted."""
        caller = caller_of(request)
        seq, digest = (
            parameters.integer(request, "seq"),
            parameters.digest(request, "hash"),
        )
        if (seq is None) != (digest is None):
            refuse_parameter("hash" if digest is None else "seq", _("Send seq and hash together."))
        noted = None if seq is None or digest is None else (seq, digest)
        of_company = not isinstance(caller, PersonCaller)
        if not isinstance(caller, PersonCaller):
            own_job(caller, job_id, Action.VERIFY_LOG)
        elif not has_person_applied(caller.applicant_id, job_id):
            raise JobNotFound
        elif noted is None:
            raise PermissionDenied(_("Send the seq and the hash that you noted."))
        throttles.check(request, "verify", caller.log_name)
        verdict = verify_job(job_id, noted=noted, in_turn=True)
        return answer_read(request, verdict_out(verdict, with_differences=of_company))


def _etag(facts: JobFacts, people: Sequence[SeenApplication]) -> str:
    """Return the ETag of the people in a line: its log, its posting and its running times.

    Between two events, only the end of a cool-down or of a wish changes a line, so the number of
    those still running is enough. The company's own ids and texts on the page count separately.
    """
    running = sum(
        moment_if_ahead(end, seen.now) is not None
        for seen in people
        for name in ("eligible_at", *TIMED_WISHES)
        for end in (getattr(seen.application, name),)
    )
    attached = [
        (str(seen.application.id), seen.external_id, seen.metadata)
        for seen in people
        if seen.metadata is not None
    ]
    digest = int.from_bytes(sha256(render_json(attached)).digest()[:8]) if attached else 0
    return version_etag(facts.seq, facts.posting_version, running, digest)


def _waitlist_page(page: Page[SeenApplication]) -> dict[str, Any]:
    return paginated(
        page,
        application_out,
        lambda seen: encode_cursor(seen.application.ticket or 0, seen.application.tie or 0),
    )
