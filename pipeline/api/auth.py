"""Telling from a request's credential who calls."""

from __future__ import annotations

import re
from uuid import UUID

from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.exceptions import AuthenticationFailed, NotFound, PermissionDenied
from rest_framework.request import Request

from applicants import tokens
from applicants.http import applicant_id_of
from applicants.services import applicant_exists, find_token
from jobs import keys
from jobs.models import User
from jobs.selectors import locked_companies, roles_of
from jobs.services import find_api_key, note_use
from pipeline.api.callers import Caller, CompanyCaller, PersonCaller
from pipeline.api.parameters import as_id, refuse

CONFIRM = (
    "Confirm who you are at /account/reauthenticate/ (or /account/2fa/reauthenticate/), then repeat"
    " this within ten minutes."
)
_BEARER = re.compile(r"[Bb]earer +([A-Za-z0-9._~+/=-]{1,200})")


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer …` with a company's API key or an applicant's token."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        """Return the caller, in one query; None without a credential.

        A credential that is malformed, unknown, revoked or expired raises AuthenticationFailed,
        also where none is needed: who sends one means to be known.
        """
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        bearer = _BEARER.fullmatch(header.strip())
        caller = _caller_with(bearer[1]) if bearer else None
        if caller is None:
            raise AuthenticationFailed
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401."""
        return "Bearer"


class SessionAuthentication(BaseAuthentication):
    """The cookie of a browser in which a member of a company or a person has signed in."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        """Return the caller, in at most three queries; None without a signed-in session.

        A member of several companies says in the parameter `company`, or the header X-Company, for
        which of them they act: ValidationError without it, NotFound if it is none of theirs.
        Whatever is not safe must come from our own pages: PermissionDenied without a CSRF token.
        """
        browser = request._request
        caller: Caller | None = _member(request, browser)
        if caller is None:
            applicant_id = applicant_id_of(browser)
            if applicant_id is None or not applicant_exists(applicant_id):
                return None
            caller = PersonCaller(applicant_id)
        check = CSRFCheck(_no_answer)
        check.process_request(browser)
        if why := check.process_view(browser, _no_answer, (), {}):
            raise PermissionDenied(f"CSRF check failed: {why}")
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401."""
        return "Bearer"


def refuse_long_signed_in(request: Request) -> None:
    """Refuse a member who has not proved who they are of late. Raises PermissionDenied.

    Somebody who finds an open browser must not leave with a key.
    """
    browser = request._request
    theirs, browser.user = browser.user, get_user(browser)
    try:
        if is_reauthentication_required(browser, app=""):
            raise PermissionDenied(CONFIRM)
    finally:
        browser.user = theirs


def _caller_with(secret: str) -> Caller | None:
    if secret.startswith(keys.PREFIX):
        key = find_api_key(secret)
        if key is None:
            return None
        note_use(key)
        return CompanyCaller(key.company_id, key.id, frozenset(key.scopes))
    if secret.startswith(tokens.PREFIX):
        token = find_token(secret)
        return PersonCaller(token.applicant_id, token.id) if token else None
    return None


def _member(request: Request, browser: HttpRequest) -> Caller | None:
    user = get_user(browser)
    if not isinstance(user, User):
        return None
    roles = roles_of(user.id)
    if not roles and (locked := locked_companies(user.id)):
        raise PermissionDenied(f"{locked[0]} requires two-step verification: see /account/.")
    company_id = _company(request, list(roles))
    return CompanyCaller(company_id, user.id, role=roles[company_id]) if company_id else None


def _company(request: Request, theirs: list[UUID]) -> UUID | None:
    named = request.query_params.get("company") or request.META.get("HTTP_X_COMPANY")
    if named:
        company_id = as_id(named)
        if company_id not in theirs:
            raise NotFound
        return company_id
    if len(theirs) > 1:
        refuse("company", "You belong to several companies. Name the one you act for.")
    return theirs[0] if theirs else None


def _no_answer(_: HttpRequest) -> HttpResponse:
    return HttpResponse()
