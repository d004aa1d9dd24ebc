"""Endpoints for people: the signed-in applicant, and a company's applicants."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from applicants.models import Applicant
from pipeline.api.access import authorize_company, authorize_person, known_applicant
from pipeline.api.callers import CompanyCaller, caller_of
from pipeline.api.endpoint import Endpoint, endpoint_page_answer
from pipeline.api.openapi.parameters import PAGED, WITH_ADDRESS
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.pagination import cursor_id, page_limit, paginated
from pipeline.api.parameters import address_parameter
from pipeline.api.v1.applications.outputs import ApplicationOut, application_out
from pipeline.api.v1.outputs import PageOf
from pipeline.domain.permissions import Action
from pipeline.selectors.applications import applications_of
from pipeline.selectors.cursors import encode_cursor
from pipeline.selectors.people import people_with_address, read_person


class PersonOut(TypedDict):
    """A person, under the name that the reader may see."""

    id: UUID
    name: str | None
    email: str
    created_at: datetime


def applicant_out(applicant: Applicant) -> PersonOut:
    """Return a person, under the name that the reader may see."""
    return {
        "id": applicant.id,
        "name": applicant.name or None,
        "email": applicant.email,
        "created_at": applicant.created_at,
    }


class SignedInApplicant(Endpoint):
    """`/me`"""

    @describes("get_me", Tag.PEOPLE, Action.USE_OWN_ACCOUNT, PersonOut)
    def get(self, request: Request) -> Response:
        """Return the signed-in person."""
        caller = authorize_person(caller_of(request), Action.USE_OWN_ACCOUNT)
        return Response(applicant_out(read_person(caller.applicant_id)))


class SignedInApplicantApplications(Endpoint):
    """`/me/applications`"""

    @describes(
        "list_my_applications",
        Tag.PEOPLE,
        Action.USE_OWN_ACCOUNT,
        PageOf[ApplicationOut],
        parameters=PAGED,
    )
    def get(self, request: Request) -> Response:
        """Return the signed-in person's applications, newest first."""
        caller = authorize_person(caller_of(request), Action.USE_OWN_ACCOUNT)
        return _applicant_applications(request, caller.applicant_id)


class Applicants(Endpoint):
    """`/applicants`"""

    @describes(
        "find_applicants",
        Tag.PEOPLE,
        Action.READ_COMPANY,
        PageOf[PersonOut],
        parameters=(WITH_ADDRESS, *PAGED),
    )
    def get(self, request: Request) -> Response:
        """Find the company's applicant with an email address, in any case: one person or none."""
        company_id = authorize_company(caller_of(request), Action.READ_COMPANY).company_id
        page_limit(request), cursor_id(request)
        found = people_with_address(company_id, address_parameter(request))
        return Response({"data": [applicant_out(person) for person in found], "next_cursor": None})


class OneApplicant(Endpoint):
    """`/applicants/{id}`"""

    @describes("get_applicant", Tag.PEOPLE, Action.READ_APPLICANT, PersonOut)
    def get(self, request: Request, applicant_id: UUID) -> Response:
        """Return the caller, or one of the company's applicants."""
        return Response(applicant_out(known_applicant(caller_of(request), applicant_id)))


class OneApplicantApplications(Endpoint):
    """`/applicants/{id}/applications`"""

    @describes(
        "list_applications_of_applicant",
        Tag.PEOPLE,
        Action.READ_APPLICANT,
        PageOf[ApplicationOut],
        parameters=PAGED,
    )
    def get(self, request: Request, applicant_id: UUID) -> Response:
        """Return a person's applications, newest first. A company sees those to its own jobs."""
        caller = caller_of(request)
        known_applicant(caller, applicant_id)
        company_id = caller.company_id if isinstance(caller, CompanyCaller) else None
        return _applicant_applications(request, applicant_id, company_id)


def _applicant_applications(
    request: Request, applicant_id: UUID, company_id: UUID | None = None
) -> Response:
    page = applications_of(
        applicant_id,
        company_id=company_id,
        after=cursor_id(request),
        limit=page_limit(request),
    )
    return endpoint_page_answer(
        request,
        paginated(page, application_out, lambda seen: encode_cursor(str(seen.application.id))),
    )
