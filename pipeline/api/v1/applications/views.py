"""Endpoints for applications: apply, read, acknowledge, verify, withdraw, and people's wishes."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from applicants.models import Applicant
from pipeline.api import parameters, throttles
from pipeline.api.auth import (
    AnonymousCaller,
    CompanyCaller,
    authorize,
    authorize_company,
    authorize_person,
    caller_of,
    can_see_application,
    on_job,
    own_application,
    own_job,
    received_application,
    requester_of,
    visible_job,
)
from pipeline.api.endpoint import Endpoint, answer_page, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import (
    EXPAND_DECISION,
    EXPAND_LIST,
    OF_APPLICATIONS,
    PAGED,
    PLACE_TOKEN,
    WITH_EXTERNAL_ID,
    describe_fields,
)
from pipeline.api.openapi.schemas import Tag, describes, describes_move
from pipeline.api.parameters import (
    page_cursor_id,
    page_cursor_place,
    page_limit,
    parse_id,
    refuse_parameter,
)
from pipeline.api.problem_types import EXTERNAL_ID_TAKEN, PERSON_ERASED
from pipeline.api.v1.applications.shapes import (
    ApplicationChangeIn,
    ApplicationOut,
    ApplicationsOut,
    OwnApplicationIn,
    SubmissionIn,
    TakenOverIn,
    TotalOut,
    UnprovedApplicationIn,
    answer_changed,
    application_out,
    applications_out,
    fill_form,
    read_companions,
    read_origin,
)
from pipeline.api.v1.fields import Flag, Moment, Nothing, Shape, read_reference
from pipeline.api.v1.outputs import DetailOut, PageOf
from pipeline.domain.errors import ApplicantNotFound, ApplicationNotFound
from pipeline.domain.permissions import Action
from pipeline.domain.states import Move, Outcome, Status
from pipeline.review.annotations import normalised_tag
from pipeline.selectors import applications, job_applications
from pipeline.selectors.ageing import overdue_since
from pipeline.selectors.applications import ApplicationFacts, read_application, see_changed
from pipeline.selectors.job_applications import (
    ORDERS,
    USUAL_ORDER,
    ListOrder,
    ListPlace,
    ReviewFilter,
    WantedJobApplications,
)
from pipeline.selectors.jobs import JobFacts
from pipeline.selectors.pages import encode_cursor
from pipeline.selectors.people import NamePlace, read_known_person, read_person
from pipeline.services.jobs import rename
from pipeline.services.joining import apply, apply_unverified, change_application_reference, verify
from pipeline.services.leaving import withdraw
from pipeline.services.turns import acknowledge, defer, pass_next, pass_offer, preaccept
from pipeline.sources.origin import read_filter
from pipeline.web.addresses import client_address
from pipeline.web.languages import in_language_of

# Lists of applications for a company: all to a job, and the one with an external id.


# Which order a list has by default, if it is limited by this parameter.
_BY_END = ("ended_after", "ended_before")


class JobApplicationList(Endpoint):
    """`GET /jobs/{id}/applications`"""

    @describes(
        "list_job_applications",
        Tag.APPLICATIONS,
        Action.READ_JOB,
        ApplicationsOut,
        parameters=(*OF_APPLICATIONS, *PAGED, EXPAND_LIST, describe_fields(ApplicationOut)),
        about="`position` is null here: `/queue` has the waitlist in order. A page can be"
        " shorter than `limit` although more follow: with some filters, one request searches"
        " only 5,000 applications. Continue until `next_cursor` is null.",
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the applications to a job, including ended ones, newest first."""
        _caller, job = own_job(caller_of(request), job_id, Action.READ_JOB)
        filters, search = _list_filters(request, job), parameters.search(request)
        limit = page_limit(request)
        order = _list_order(request)
        if search:
            if "sort" in request.query_params or "total" in self.expanded:
                refuse_parameter("search", _("Send neither sort nor expand=total with a search."))
            place = page_cursor_place(request, str, UUID)
            page = job_applications.search_page(
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
            page = job_applications.list_page(
                job_id, filters, order=order, after=listed_after, limit=limit
            )
        total: TotalOut | None = None
        if "total" in self.expanded:
            counted = job_applications.count(job_id, filters, order)
            total = {"count": counted.people, "exact": counted.exact}
        rows = applications_out(page.rows, expanded=self.expanded)
        next_cursor = encode_cursor(*page.next) if page.next else None
        payload = {"data": rows, "next_cursor": next_cursor, "total": total}
        return answer_page(request, payload)


class ApplicationList(Endpoint):
    """`/applications`"""

    @describes(
        "find_applications",
        Tag.APPLICATIONS,
        Action.READ_COMPANY,
        PageOf[ApplicationOut],
        parameters=(WITH_EXTERNAL_ID, *PAGED, EXPAND_DECISION, describe_fields(ApplicationOut)),
    )
    def get(self, request: Request) -> Response:
        """Find the company's application with an `external_id`: one or none."""
        company_id = authorize_company(caller_of(request), Action.READ_COMPANY).company_id
        page_limit(request), page_cursor_id(request)
        external_id = parameters.text(request, "external_id")
        if external_id is None or not request.query_params["external_id"]:
            refuse_parameter("external_id", _("Send the application's external_id."))
        found = applications.find_external_id(company_id, external_id)
        rows = applications_out(found, expanded=self.expanded)
        return Response({"data": rows, "next_cursor": None})


def _list_filters(request: Request, job: JobFacts) -> WantedJobApplications:
    tag = parameters.text(request, "tag")
    overdue = parameters.choice(request, "review", ReviewFilter)
    return WantedJobApplications(
        status=parameters.choice(request, "status", Status),
        outcome=parameters.choice(request, "outcome", Outcome),
        applied_after=parameters.moment(request, "applied_after"),
        applied_before=parameters.moment(request, "applied_before"),
        ended_after=parameters.moment(request, "ended_after"),
        ended_before=parameters.moment(request, "ended_before"),
        min_decay_count=parameters.integer(request, "min_decay_count", low=0, high=10_000),
        verified=parameters.flag(request, "verified"),
        tag=None if tag is None else normalised_tag(tag),
        external_id=parameters.text(request, "external_id"),
        metadata=parameters.metadata(request),
        came_from=_read_source(request),
        in_review_since=overdue_since(job.review_clock, job.company_id) if overdue else None,
    )


def _read_source(request: Request) -> str | None:
    given = parameters.text(request, "source")
    return None if given is None else read_filter(given)


def _list_order(request: Request) -> ListOrder:
    by_end = any(name in request.query_params for name in _BY_END)
    name: Any = request.query_params.get("sort", "-ended_at" if by_end else USUAL_ORDER)
    if name not in ORDERS:
        refuse_parameter("sort", _("Must be one of %(codes)s.") % {"codes": ", ".join(ORDERS)})
    return ORDERS[name]


TAKEN = gettext_lazy("Thank you. We've emailed you the next step.")


class JobApplications(JobApplicationList):
    """`/jobs/{id}/applications`"""

    @describes_move(
        "apply",
        Move.SEAT,
        {201: ApplicationOut, 202: DetailOut},
        takes=(OwnApplicationIn, SubmissionIn, UnprovedApplicationIn),
        parameters=(PLACE_TOKEN,),
        about="A company submits with a key of scope `write` or a recruiter's or owner's session,"
        " and the person gets the same emails as one who applies. If several refusals apply, you"
        " get the first of: `REQUIREMENT_NOT_MET`, `FORM_CHANGED`, `CONSENTS_CHANGED`,"
        " `CONSENT_MISSING`, `EXTERNAL_ID_TAKEN`, `JOB_NOT_OPEN`, the person."
        " `answers` go by the keys of the job's `questions`; a company"
        " can leave some or all of them out. `consents` are ids from `GET /jobs/{id}/privacy`; a"
        " company can leave them out. `source` and `utm` say where the person came from."
        " `group_code`, even empty, says that the person belongs to the group of the job's reserved"
        " seats. `language` is one that the site offers, in which the person wants emails about"
        " this application, unless they chose one for all.",
    )
    def post(self, request: Request, job_id: UUID) -> Response:
        """Apply to a job, or submit a person to a job of the caller's company: 201.

        Without a credential: 202, the same for every address, and an email to the address.
        """
        caller, application_id = caller_of(request), idempotent_row_id(request)
        if isinstance(caller, AnonymousCaller):
            return _answer_unverified(request, job_id, application_id)
        if isinstance(caller, CompanyCaller):
            _caller, job = own_job(caller, job_id, Action.SUBMIT_APPLICATION)
            given = read_body(request, SubmissionIn)
            person = _submitted_applicant(caller, given)
            name = given.get("name") or (person.name if person else "")
        else:
            applicant = authorize_person(caller, Action.APPLY)
            job = visible_job(caller, job_id)
            given = read_body(request, OwnApplicationIn)
            person = read_person(applicant.applicant_id)
            name = given.get("name") or person.name or person.email.partition("@")[0]

        application = apply(
            job_id=job.id,
            applicant_id=person.id if person else None,
            email="" if person else given["email"],
            name=name,
            actor=caller.actor,
            application_id=application_id,
            reference=read_reference(given),
            filled=fill_form(job, given, caller),
            companions=read_companions(job, given, caller),
            group_code=given.get("group_code"),
            language=given.get("language", ""),
        )
        facts = ApplicationFacts(
            id=application.id,
            job_id=job.id,
            company_id=job.company_id,
            applicant_id=application.applicant_id,
            job_title=job.title,
            email=person.email if person else given["email"],
            review_target_seconds=job.review_target_seconds,
            working_hours=job.working_hours,
            source=read_origin(given).source,
            **read_reference(given),
        )
        seen = see_changed(facts, application)
        answer = application_out(seen, private=isinstance(caller, CompanyCaller))
        location = reverse("api_application", args=[application.id])
        return Response(answer, status=201, headers={"Location": location})


class OneApplication(Endpoint):
    """`/applications/{id}`"""

    without_facts = frozenset({"GET", "HEAD"})

    @describes(
        "get_application",
        Tag.APPLICATIONS,
        Action.READ_APPLICATION,
        ApplicationOut,
        parameters=(EXPAND_DECISION, describe_fields(ApplicationOut)),
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """Return an application, to its applicant or to the company that received it."""
        caller = caller_of(request)
        if isinstance(caller, AnonymousCaller):
            raise NotAuthenticated
        seen = read_application(application_id)
        row = seen.application
        if not can_see_application(caller, row, seen.company_id, is_test=seen.is_test):
            raise ApplicationNotFound
        authorize(on_job(caller, row.job_id), Action.READ_APPLICATION)
        [answer] = applications_out(
            [seen],
            private=isinstance(caller, CompanyCaller),
            expanded=self.expanded,
        )
        return Response(answer)

    @describes(
        "change_application",
        Tag.APPLICATIONS,
        Action.EDIT_APPLICATION,
        ApplicationOut,
        takes=(ApplicationChangeIn,),
        refuses=(EXTERNAL_ID_TAKEN, PERSON_ERASED),
        about="`metadata` is replaced as a whole. This does not change the line or its log.",
    )
    def patch(self, request: Request, application_id: UUID) -> Response:
        """Attach the company's own id and texts to an application."""
        caller, facts = received_application(
            caller_of(request), application_id, Action.EDIT_APPLICATION
        )
        change_application_reference(
            company_id=caller.company_id,
            application_id=facts.id,
            changes=read_reference(read_body(request, ApplicationChangeIn)),
        )
        return Response(application_out(read_application(facts.id)))


class Acknowledge(Endpoint):
    """`/applications/{id}/acknowledge`"""

    @describes_move(
        "acknowledge",
        Move.ACKNOWLEDGE,
        ApplicationOut,
        takes=(Nothing,),
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Acknowledge the offered seat. Repeating it is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.CONFIRM_SEAT)
        read_body(request, Nothing)
        return answer_changed(facts, acknowledge(application_id=application_id, actor=caller.actor))


class Verify(Endpoint):
    """`/applications/{id}/verify`"""

    @describes_move(
        "verify_application",
        Move.VERIFY,
        ApplicationOut,
        takes=(TakenOverIn,),
        about="Signing in with a code already verifies every application with the address.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Verify an application with the caller's own address, and rename it if a name is given."""
        caller, facts = own_application(caller_of(request), application_id, Action.TAKE_OVER)
        name = read_body(request, TakenOverIn).get("name")
        application = verify(application_id=application_id, actor=caller.actor)
        if name:
            application.name = rename(application_id=application_id, name=name).name
        return answer_changed(facts, application)


class Withdraw(Endpoint):
    """`/applications/{id}/withdraw`"""

    @describes_move(
        "withdraw",
        Move.WITHDRAW,
        ApplicationOut,
        takes=(Nothing,),
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Withdraw an application. Repeating it is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.WITHDRAW)
        read_body(request, Nothing)
        return answer_changed(facts, withdraw(application_id=application_id, actor=caller.actor))


def _answer_unverified(request: Request, job_id: UUID, application_id: UUID | None) -> Response:
    job = visible_job(AnonymousCaller(), job_id)
    given = read_body(request, UnprovedApplicationIn)
    client = client_address(request)
    throttles.check_client(request, "anonymous_apply")
    throttles.check(request, "code_request", f"{client} {given['email']}")
    language = given.get("language", "")
    with in_language_of(language, get_language() or ""):  # of the email with the code
        apply_unverified(
            job=job,
            name=given["name"],
            email=given["email"],
            requester=requester_of(request),
            application_id=application_id,
            filled=fill_form(job, given),
            companions=read_companions(job, given),
            group_code=given.get("group_code"),
            language=language,
        )
    return Response({"detail": str(TAKEN)}, status=202)


def _submitted_applicant(caller: CompanyCaller, given: dict[str, Any]) -> Applicant | None:
    """Return the person whom a company submits by id, if it already knows them."""
    if "applicant_id" not in given:
        return None
    applicant_id = parse_id(given["applicant_id"])
    if applicant_id is None:
        raise ApplicantNotFound
    return read_known_person(caller.company_id, applicant_id, among=caller.only_jobs)


# Endpoints for people's wishes about their turn.


class DeferralIn(Shape):
    """A person asks not to be offered a seat until a time; null cancels this."""

    not_before = Moment(allow_null=True)


class PreacceptanceIn(Shape):
    """A person accepts a seat that is offered before a time; null cancels this."""

    accept_until = Moment(allow_null=True)


class PassNextIn(Shape):
    """A person passes their next turn; false cancels this."""

    pass_next = Flag()


class Defer(Endpoint):
    """`/applications/{id}/defer`"""

    @describes_move(
        "defer",
        Move.DEFER,
        ApplicationOut,
        takes=(DeferralIn,),
        about="The person keeps their place in line. Until `not_before`, at most 60 days ahead,"
        " seats go to the people behind them; that does not count as a miss. With null, they can"
        " be offered a seat at once. Only a verified person on the waitlist without an open offer"
        " can do this.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Ask not to be offered a seat until a time, or cancel that. Repeating it is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.DEFER)
        not_before = read_body(request, DeferralIn)["not_before"]
        return answer_changed(
            facts,
            defer(application_id=application_id, not_before=not_before, actor=caller.actor),
        )


class Preaccept(Endpoint):
    """`/applications/{id}/preaccept`"""

    @describes_move(
        "preaccept",
        Move.PREACCEPT,
        ApplicationOut,
        takes=(PreacceptanceIn,),
        about="A seat that goes to the person before `accept_until`, at most 14 days ahead, is"
        " confirmed at once, without an offer. The place in line stays the same. With null, they"
        " are asked again. Only a verified person on the waitlist can do this.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Accept a seat in advance, or cancel that. It can be repeated while the person waits."""
        caller, facts = own_application(caller_of(request), application_id, Action.PREACCEPT)
        until = read_body(request, PreacceptanceIn)["accept_until"]
        return answer_changed(
            facts,
            preaccept(application_id=application_id, accept_until=until, actor=caller.actor),
        )


class PassOffer(Endpoint):
    """`/applications/{id}/pass`"""

    @describes_move(
        "pass_offer",
        Move.PASS,
        ApplicationOut,
        about="The person keeps the place that they had before the offer, and it does not count"
        " as a miss. The seat goes to the next in line, and for `cooldown_seconds` no other seat"
        " is offered to the person. The policy says how often (`max_passes`); passes still"
        " count if the person applies again.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Pass an offered seat. Repeating it before the next offer is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.PASS_TURN)
        passed = pass_offer(application_id=application_id, actor=caller.actor)
        return answer_changed(facts, passed)


class PassNext(Endpoint):
    """`/applications/{id}/pass-next`"""

    @describes_move(
        "pass_next",
        Move.ASK_PASS,
        ApplicationOut,
        takes=(PassNextIn,),
        about="When the person's turn comes, it is passed: the seat goes to the next in line,"
        " and the rest is as with `/pass`. This cancels a yes in advance, and a later yes in"
        " advance cancels this. With false, the person takes the turn. Only a verified person on"
        " the waitlist can do this.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Pass the next turn when it comes, or cancel that. Repeating it is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.PASS_TURN)
        wanted = read_body(request, PassNextIn)["pass_next"]
        answer = pass_next(application_id=application_id, wanted=wanted, actor=caller.actor)
        return answer_changed(facts, answer)
