"""Endpoints for people: their sign-in, the signed-in applicant, and a company's applicants."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TypedDict
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from applicants import codes, tokens
from applicants.addresses import EMAIL_LENGTH
from applicants.codes import normal_digits
from applicants.models import Applicant
from applicants.sign_in import redeem_code
from pipeline.api import parameters, throttles
from pipeline.api.auth import (
    Caller,
    CompanyCaller,
    authorize_company,
    authorize_person,
    caller_of,
    requester_of,
    visible_applicant,
    visible_company,
)
from pipeline.api.endpoint import Endpoint, answer_page, read_body
from pipeline.api.openapi.parameters import EXPAND_DECISION, PAGED, WITH_ADDRESS, describe_fields
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import page_cursor_id, page_limit
from pipeline.api.problem_types import NOT_AUTHENTICATED
from pipeline.api.problems import WrongCode
from pipeline.api.v1.applications.shapes import ApplicationOut, applications_out
from pipeline.api.v1.fields import Address, Line, Shape, Whole
from pipeline.api.v1.outputs import DetailOut, PageOf
from pipeline.domain.errors import ApplicantNotFound
from pipeline.domain.permissions import Action
from pipeline.integrations import portal_tokens
from pipeline.integrations.portal_tokens import (
    LONGEST_SECONDS,
    MOST_AT_ONCE,
    SHORTEST_SECONDS,
    USUAL_SECONDS,
)
from pipeline.selectors import applications
from pipeline.selectors.pages import encode_cursor
from pipeline.selectors.people import address_holders, read_known_person, read_person
from pipeline.services.joining import verify_applications
from pipeline.web.addresses import client_address


class PortalTokenIn(Shape):
    """A new portal token, and how long it is valid."""

    lifetime_seconds = Whole(
        min_value=SHORTEST_SECONDS, max_value=LONGEST_SECONDS, default=USUAL_SECONDS
    )


class PortalTokenOut(TypedDict):
    """A portal token, which can be read only now."""

    id: UUID
    applicant_id: UUID
    token: str
    expires_at: datetime


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
        parameters=(*PAGED, EXPAND_DECISION, describe_fields(ApplicationOut)),
    )
    def get(self, request: Request) -> Response:
        """Return the signed-in person's applications, newest first."""
        caller = authorize_person(caller_of(request), Action.USE_OWN_ACCOUNT)
        return _answer_applications(request, caller, caller.applicant_id, self.expanded)


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
        page_limit(request), page_cursor_id(request)
        found = address_holders(company_id, parameters.address(request))
        return Response({"data": [applicant_out(person) for person in found], "next_cursor": None})


class OneApplicant(Endpoint):
    """`/applicants/{id}`"""

    @describes("get_applicant", Tag.PEOPLE, Action.READ_APPLICANT, PersonOut)
    def get(self, request: Request, applicant_id: UUID) -> Response:
        """Return the caller, or one of the company's applicants."""
        return Response(applicant_out(visible_applicant(caller_of(request), applicant_id)))


class ApplicationsOfApplicant(Endpoint):
    """`/applicants/{id}/applications`"""

    @describes(
        "list_applications_of_applicant",
        Tag.PEOPLE,
        Action.READ_APPLICANT,
        PageOf[ApplicationOut],
        parameters=(*PAGED, EXPAND_DECISION, describe_fields(ApplicationOut)),
    )
    def get(self, request: Request, applicant_id: UUID) -> Response:
        """Return a person's applications, newest first. A company sees those to its own jobs."""
        caller = caller_of(request)
        visible_applicant(caller, applicant_id)
        return _answer_applications(request, caller, applicant_id, self.expanded)


class ApplicantTokens(Endpoint):
    """`/applicants/{id}/tokens`"""

    answers_hold_secrets = True

    @describes(
        "create_portal_token",
        Tag.PEOPLE,
        Action.MAKE_PORTAL_TOKENS,
        PortalTokenOut,
        status=201,
        located=False,
        takes=(PortalTokenIn,),
        about="The token reads, acknowledges and withdraws this person's applications to your "
        "jobs, and nothing else. It does not prove an address: an unverified application stays"
        " unverified. "
        f"At most {MOST_AT_ONCE} tokens of a key for one person are valid at a time; a further"
        " one ends the oldest. Revoking the key ends them all.",
    )
    def post(self, request: Request, applicant_id: UUID) -> Response:
        """Make a short-lived token with which your own site acts for an applicant: 201."""
        caller = authorize_company(caller_of(request), Action.MAKE_PORTAL_TOKENS)
        person = read_known_person(caller.company_id, applicant_id)
        if person.is_erased:
            raise ApplicantNotFound
        given = read_body(request, PortalTokenIn)
        throttles.check(request, "applicant_tokens", f"company {caller.company_id}")
        granted = portal_tokens.grant(
            key_id=caller.actor_id,
            applicant_id=applicant_id,
            lifetime_seconds=given["lifetime_seconds"],
        )
        return Response({**granted._asdict(), "applicant_id": applicant_id}, status=201)


def _answer_applications(
    request: Request, caller: Caller, applicant_id: UUID, expanded: Collection[str]
) -> Response:
    page = applications.read_person(
        applicant_id,
        company_id=visible_company(caller),
        after=page_cursor_id(request),
        limit=page_limit(request),
    )
    rows = applications_out(
        page.rows,
        private=isinstance(caller, CompanyCaller),
        expanded=expanded,
    )
    last = page.rows[-1].application.id if page.more else None
    next_cursor = encode_cursor(last) if last else None
    return answer_page(request, {"data": rows, "next_cursor": next_cursor})


# Applicant sign-in: email a code, exchange it for a token, revoke the token.


class CodeRequestIn(Shape):
    """The email address to prove."""

    email = Address(max_length=EMAIL_LENGTH)


class CodeIn(Shape):
    """An email address and the code that was sent to it. Blanks and dashes do not matter."""

    email = Address(max_length=EMAIL_LENGTH)
    code = Line(max_length=20)

    def validate_code(self, value: str) -> str:
        """Return the digits of the code."""
        return normal_digits(value)


class TokenOut(TypedDict):
    """A token for the person who proved their address."""

    token: str
    expires_at: datetime


SENT = gettext_lazy("If this address exists, a code is on its way to it.")


class SignInCode(Endpoint):
    """`/auth/code`"""

    authentication_classes = ()

    @describes(
        "request_code",
        Tag.SIGNING_IN,
        Action.SIGN_IN,
        DetailOut,
        status=202,
        takes=(CodeRequestIn,),
        takes_credentials=False,
        about="A credential is ignored, even a wrong one. The response is the same for every"
        " address, whether or not it is known here.",
    )
    def post(self, request: Request) -> Response:
        """Send a code to an email address: 202 for every address."""
        email = read_body(request, CodeRequestIn)["email"]
        client = client_address(request)
        throttles.check_client(request, "code_request")
        throttles.check(request, "code_request", f"{client} {email}")
        codes.send(email, by=requester_of(request))
        return Response({"detail": str(SENT)}, status=202)


class SignInToken(Endpoint):
    """`/auth/token`"""

    answers_hold_secrets = True

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Ignore credentials when a token is requested, since an old one may have expired."""
        return super().get_authenticators() if self.request.method == "DELETE" else []

    @describes(
        "create_token",
        Tag.SIGNING_IN,
        Action.SIGN_IN,
        TokenOut,
        takes=(CodeIn,),
        refuses=(NOT_AUTHENTICATED,),
        about="A code works once, within 10 minutes, from the network that requested it. It "
        "allows five guesses. It verifies every application with the address.",
    )
    def post(self, request: Request) -> Response:
        """Exchange an address and the code that was sent to it for a token."""
        given = read_body(request, CodeIn)
        throttles.check_client(request, "code_try")
        requester = requester_of(request).handle
        granted = redeem_code(email=given["email"], code=given["code"], requester=requester)
        if granted is None:
            raise WrongCode
        verify_applications(granted.applicant_id)
        return Response({"token": granted.token, "expires_at": granted.expires_at})

    @describes("revoke_token", Tag.SIGNING_IN, Action.USE_OWN_ACCOUNT, None, status=204)
    def delete(self, request: Request) -> Response:
        """Revoke the token that the request carries."""
        person = authorize_person(caller_of(request), Action.USE_OWN_ACCOUNT)
        if person.token_id is None:
            raise PermissionDenied(_("Send the token to revoke as the credential."))
        tokens.revoke(person.token_id)
        return Response(status=204)
