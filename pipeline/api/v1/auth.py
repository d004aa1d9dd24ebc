"""Applicant sign-in: email a code, exchange it for a token, revoke the token."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from applicants import codes, tokens
from applicants.addresses import EMAIL_LENGTH
from applicants.codes import normal_digits
from applicants.sign_in import redeem_code
from pipeline.api import throttles
from pipeline.api.auth import authorize_person, caller_of, requester_of
from pipeline.api.endpoint import Endpoint, read_body
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import NOT_AUTHENTICATED
from pipeline.api.problems import WrongCode
from pipeline.api.v1.fields import Address, Line, Shape
from pipeline.api.v1.outputs import DetailOut
from pipeline.domain.permissions import Action
from pipeline.services.joining import verify_applications
from pipeline.web.addresses import client_address


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


SENT = "If this address exists, a code is on its way to it."


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
        return Response({"detail": SENT}, status=202)


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
            raise PermissionDenied("Send the token to revoke as the credential.")
        tokens.revoke(person.token_id)
        return Response(status=204)
