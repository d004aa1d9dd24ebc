"""Endpoints for applications: apply, read, acknowledge, verify, withdraw."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import reverse
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from applicants.models import Applicant
from pipeline.api.access import (
    authorize,
    authorize_person,
    has_access_to_applicant,
    own_application,
    own_job,
    received_application,
    visible_job,
)
from pipeline.api.callers import AnonymousCaller, CompanyCaller, caller_of, requester_of
from pipeline.api.endpoint import Endpoint, endpoint_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import EXPAND_DECISION, fields_parameter
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import parameter_as_id
from pipeline.api.problem_types import (
    ACKNOWLEDGMENT_EXPIRED,
    ALREADY_DECIDED,
    CLOCK_MOVING,
    DUPLICATE_SUBMISSION,
    EXTERNAL_ID_TAKEN,
    INVALID_TRANSITION,
    JOB_NOT_OPEN,
    LIMIT_REACHED,
    PERSON_ERASED,
    SANDBOX_FULL,
)
from pipeline.api.throttles import check_client_throttle, check_throttle
from pipeline.api.v1.applications.inputs import (
    ApplicationChangeIn,
    OwnApplicationIn,
    SubmissionIn,
    UnprovedApplicationIn,
)
from pipeline.api.v1.applications.lists import JobApplicationList
from pipeline.api.v1.applications.outputs import (
    ApplicationOut,
    application_answer,
    application_out,
    applications_out,
)
from pipeline.api.v1.fields import Nothing, reference_in_fields
from pipeline.api.v1.outputs import DetailOut
from pipeline.domain.errors import ApplicantNotFound, ApplicationNotFound
from pipeline.domain.permissions import Action
from pipeline.selectors.applications import (
    ApplicationFacts,
    read_application,
    seen_application_after_change,
)
from pipeline.selectors.people import person_known_to, read_person
from pipeline.services.acknowledge import acknowledge
from pipeline.services.apply import apply
from pipeline.services.apply_unverified import apply_unverified
from pipeline.services.references import change_application_reference
from pipeline.services.rename import rename
from pipeline.services.verify import verify
from pipeline.services.withdraw import withdraw
from pipeline.web.client_address import client_address

TAKEN = "Thank you. We've emailed you the next step."


class JobApplications(JobApplicationList):
    """`/jobs/{id}/applications`"""

    @describes(
        "apply",
        Tag.APPLICATIONS,
        Action.APPLY,
        {201: ApplicationOut, 202: DetailOut},
        takes=(OwnApplicationIn, SubmissionIn, UnprovedApplicationIn),
        refuses=(
            DUPLICATE_SUBMISSION,
            ALREADY_DECIDED,
            EXTERNAL_ID_TAKEN,
            JOB_NOT_OPEN,
            LIMIT_REACHED,
            CLOCK_MOVING,
            SANDBOX_FULL,
        ),
        about="A company submits with a key of scope `write` or a recruiter's or owner's session,"
        " and the person gets the same emails as one who applies. If several refusals apply, you"
        " get the first of: `EXTERNAL_ID_TAKEN`, `JOB_NOT_OPEN`, the person.",
    )
    def post(self, request: Request, job_id: UUID) -> Response:
        """Apply to a job, or submit a person to a job of the caller's company: 201.

        Without a credential: 202, the same for every address, and an email to the address.
        """
        caller, application_id = caller_of(request), idempotent_row_id(request)
        if isinstance(caller, AnonymousCaller):
            return _answer_unverified_application(request, job_id, application_id)
        if isinstance(caller, CompanyCaller):
            _, job = own_job(caller, job_id, Action.SUBMIT_APPLICATION)
            given = endpoint_body(request, SubmissionIn)
            person = _applicant_of_submitted_application(caller, given)
            name = given.get("name") or (person.name if person else "")
        else:
            applicant = authorize_person(caller, Action.APPLY)
            job = visible_job(caller, job_id)
            given = endpoint_body(request, OwnApplicationIn)
            person = read_person(applicant.applicant_id)
            name = given.get("name") or person.name or person.email.partition("@")[0]

        application = apply(
            job_id=job.id,
            applicant_id=person.id if person else None,
            email="" if person else given["email"],
            name=name,
            actor=caller.actor,
            application_id=application_id,
            reference=reference_in_fields(given),
        )
        facts = ApplicationFacts(
            id=application.id,
            job_id=job.id,
            company_id=job.company_id,
            applicant_id=application.applicant_id,
            job_title=job.title,
            email=person.email if person else given["email"],
            **reference_in_fields(given),
        )
        seen = seen_application_after_change(facts, application)
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
        parameters=(EXPAND_DECISION, fields_parameter(ApplicationOut)),
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """Return an application, to its applicant or to the company that received it."""
        caller = caller_of(request)
        if isinstance(caller, AnonymousCaller):
            raise NotAuthenticated
        authorize(caller, Action.READ_APPLICATION)
        seen = read_application(application_id)
        if not has_access_to_applicant(
            caller, seen.company_id, seen.application.applicant_id, is_test=seen.is_test
        ):
            raise ApplicationNotFound
        [answer] = applications_out(
            [seen],
            private=isinstance(caller, CompanyCaller),
            with_decisions="decision" in self.expanded,
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
            changes=reference_in_fields(endpoint_body(request, ApplicationChangeIn)),
        )
        return Response(application_out(read_application(facts.id)))


class Acknowledge(Endpoint):
    """`/applications/{id}/acknowledge`"""

    @describes(
        "acknowledge",
        Tag.APPLICATIONS,
        Action.CONFIRM_SEAT,
        ApplicationOut,
        takes=(Nothing,),
        refuses=(INVALID_TRANSITION, ACKNOWLEDGMENT_EXPIRED, CLOCK_MOVING, SANDBOX_FULL),
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Acknowledge the offered seat. Repeating it is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.CONFIRM_SEAT)
        endpoint_body(request, Nothing)
        return application_answer(
            facts, acknowledge(application_id=application_id, actor=caller.actor)
        )


class Verify(Endpoint):
    """`/applications/{id}/verify`"""

    @describes(
        "verify_application",
        Tag.APPLICATIONS,
        Action.TAKE_OVER,
        ApplicationOut,
        takes=(OwnApplicationIn,),
        refuses=(INVALID_TRANSITION,),
        about="Signing in with a code already verifies every application with the address.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Verify an application with the caller's own address, and rename it if a name is given."""
        caller, facts = own_application(caller_of(request), application_id, Action.TAKE_OVER)
        name = endpoint_body(request, OwnApplicationIn).get("name")
        application = verify(application_id=application_id, actor=caller.actor)
        if name:
            application.name = rename(application_id=application_id, name=name).name
        return application_answer(facts, application)


class Withdraw(Endpoint):
    """`/applications/{id}/withdraw`"""

    @describes(
        "withdraw",
        Tag.APPLICATIONS,
        Action.WITHDRAW,
        ApplicationOut,
        takes=(Nothing,),
        refuses=(INVALID_TRANSITION, CLOCK_MOVING),
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Withdraw an application. Repeating it is harmless."""
        caller, facts = own_application(caller_of(request), application_id, Action.WITHDRAW)
        endpoint_body(request, Nothing)
        return application_answer(
            facts, withdraw(application_id=application_id, actor=caller.actor)
        )


def _answer_unverified_application(
    request: Request, job_id: UUID, application_id: UUID | None
) -> Response:
    job = visible_job(AnonymousCaller(), job_id)
    given = endpoint_body(request, UnprovedApplicationIn)
    client = client_address(request)
    check_client_throttle(request, "anonymous_apply")
    check_throttle(request, "code_request", f"{client} {given['email']}")
    apply_unverified(
        job=job,
        name=given["name"],
        email=given["email"],
        requester=requester_of(request),
        application_id=application_id,
    )
    return Response({"detail": TAKEN}, status=202)


def _applicant_of_submitted_application(
    caller: CompanyCaller, given: dict[str, Any]
) -> Applicant | None:
    """Return the person whom a company submits by id, if it already knows them."""
    if "applicant_id" not in given:
        return None
    applicant_id = parameter_as_id(given["applicant_id"])
    if applicant_id is None:
        raise ApplicantNotFound
    return person_known_to(caller.company_id, applicant_id)
