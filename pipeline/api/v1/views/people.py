"""People and companies, each as the reader may know them."""

from __future__ import annotations

from uuid import UUID

from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from applicants.models import Applicant
from jobs.models import Scope
from pipeline.api import pagination
from pipeline.api.access import as_company, as_person
from pipeline.api.callers import Caller, CompanyCaller, Nobody, caller_of
from pipeline.api.endpoint import Endpoint, page_answer
from pipeline.api.v1.serializers.outputs import application_out, company_out, person_out
from pipeline.errors import ApplicantNotFound
from pipeline.selectors.applications import Seen, applications_of
from pipeline.selectors.people import applicant_known_to, read_applicant, read_company


class OwnCompany(Endpoint):
    """`/companies/me`"""

    def get(self, request: Request) -> Response:
        """The company that the caller acts for."""
        caller = as_company(caller_of(request), Scope.READ)
        return Response(company_out(read_company(caller.company_id)))


class Me(Endpoint):
    """`/me`"""

    def get(self, request: Request) -> Response:
        """The signed-in person."""
        caller = as_person(caller_of(request))
        return Response(person_out(read_applicant(caller.applicant_id)))


class MyApplications(Endpoint):
    """`/me/applications`"""

    def get(self, request: Request) -> Response:
        """The signed-in person's applications, newest first."""
        return _applications(request, as_person(caller_of(request)).applicant_id)


class OneApplicant(Endpoint):
    """`/applicants/{id}`"""

    def get(self, request: Request, applicant_id: UUID) -> Response:
        """A person: oneself, or one of the company's applicants."""
        return Response(person_out(_known(caller_of(request), applicant_id)))


class ApplicationsOfApplicant(Endpoint):
    """`/applicants/{id}/applications`"""

    def get(self, request: Request, applicant_id: UUID) -> Response:
        """A person's applications, newest first; for a company, those to its own jobs."""
        caller = caller_of(request)
        _known(caller, applicant_id)
        company_id = caller.company_id if isinstance(caller, CompanyCaller) else None
        return _applications(request, applicant_id, company_id)


def _known(caller: Caller, applicant_id: UUID) -> Applicant:
    if isinstance(caller, Nobody):
        raise NotAuthenticated
    if isinstance(caller, CompanyCaller):
        return applicant_known_to(as_company(caller, Scope.READ).company_id, applicant_id)
    if caller.applicant_id != applicant_id:
        raise ApplicantNotFound
    return read_applicant(applicant_id)


def _applications(request: Request, applicant_id: UUID, company_id: UUID | None = None) -> Response:
    page = applications_of(
        applicant_id,
        company_id=company_id,
        after=pagination.id_after(request),
        limit=pagination.limit_of(request),
    )
    return page_answer(request, pagination.listing(page, application_out, _cursor_after))


def _cursor_after(seen: Seen) -> str:
    return pagination.cursor(str(seen.application.id))
