"""Authentication: identify the caller by the request's credential."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.exceptions import AuthenticationFailed, NotFound, PermissionDenied
from rest_framework.request import Request

from applicants import tokens
from applicants.browser import applicant_id_in_browser
from applicants.people import applicant_exists
from applicants.tokens import FIND_TOKEN
from jobs import keys
from jobs.keys import FIND_KEY, note_api_key_use
from jobs.models import User
from jobs.team import locked_teams_of, team_roles_with_sandboxes_of
from pipeline.api.callers import Caller, CompanyCaller, PersonCaller, PortalCaller, Subject
from pipeline.api.parameters import parameter_as_id, refuse_parameter
from pipeline.integrations import portal_tokens
from pipeline.integrations.portal_tokens import FIND_PORTAL_TOKEN
from pipeline.selectors.applications import APPLICATION_FACTS
from pipeline.selectors.jobs import JOB_FACTS
from tasks.sql.prepared import PreparedStatement, run_prepared

CONFIRM = (
    "Confirm who you are at /account/reauthenticate/ (or /account/2fa/reauthenticate/), then repeat"
    " this within ten minutes."
)
C = TypeVar("C")

# The prepared statements for what a URL names, by the name of its id in the URL.
_SUBJECTS: tuple[tuple[str, PreparedStatement[Any]], ...] = (
    ("job", JOB_FACTS),
    ("application", APPLICATION_FACTS),
)
_BEARER = re.compile(r"[Bb]earer +([A-Za-z0-9._~+/=-]{1,200})")


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer …` with a company's API key, an applicant's token or a portal's."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        """Return the caller, in one query, or None without a credential.

        Raises AuthenticationFailed for a malformed, unknown, revoked or expired credential, even if
        the endpoint needs none: a caller who sends one expects it to count.
        """
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        bearer = _BEARER.fullmatch(header.strip())
        context = request.parser_context or {}
        is_without = request.method in getattr(context.get("view"), "without_facts", ())
        named = {} if is_without else context.get("kwargs", {})  # ids whose facts to read as well
        caller = _authenticate_secret(bearer[1], named) if bearer else None
        if caller is None:
            raise AuthenticationFailed
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        """Return the authentication challenge for a 401."""
        return "Bearer"


class SessionAuthentication(BaseAuthentication):
    """The session cookie of a member of a company, or of an applicant, who has signed in."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        """Return the caller, in at most three queries, or None without a signed-in session.

        A member of several companies names one in the parameter `company` or the header X-Company,
        and always a sandbox.
        Raises ValidationError without it, NotFound if it is not one of theirs, and PermissionDenied
        for an unsafe method without a CSRF token.
        """
        browser = request._request
        user = get_user(browser)
        caller: Caller | None = None
        if isinstance(user, User):
            roles, sandboxes = team_roles_with_sandboxes_of(user.id)
            if not roles and (locked := locked_teams_of(user.id)):
                raise PermissionDenied(
                    f"{locked[0]} requires two-step verification: see /account/."
                )
            if company_id := _authenticated_company_of_session(
                request, list(roles), list(sandboxes)
            ):
                role = (roles | sandboxes)[company_id]
                is_test = company_id in sandboxes
                caller = CompanyCaller(company_id, user.id, role=role, is_test=is_test)
        if caller is None:
            applicant_id = applicant_id_in_browser(browser)
            if applicant_id is None or not applicant_exists(applicant_id):
                return None
            caller = PersonCaller(applicant_id)
        check = CSRFCheck(_auth_csrf_answer)
        check.process_request(browser)
        if why := check.process_view(browser, _auth_csrf_answer, (), {}):
            raise PermissionDenied(f"CSRF check failed: {why}")
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        """Return the authentication challenge for a 401."""
        return "Bearer"


def require_recent_authentication(request: Request) -> None:
    """Refuse a member who has not confirmed their identity recently. Raises PermissionDenied.

    A stranger who finds an open browser must not be able to create a key.
    """
    browser = request._request
    theirs, browser.user = browser.user, get_user(browser)
    try:
        if is_reauthentication_required(browser, app=""):
            raise PermissionDenied(CONFIRM)
    finally:
        browser.user = theirs


def _authenticate_secret(secret: str, address: Mapping[str, Any]) -> Caller | None:
    """Return the caller with this secret, and read what the URL names in the same round trip."""
    if secret.startswith(keys.PREFIX):
        digest = keys.api_key_digest(secret)
        for key, subject in _authenticated_credential_and_subject(FIND_KEY, digest, address):
            note_api_key_use(key)
            return CompanyCaller(
                key.company_id,
                key.id,
                frozenset(key.scopes),
                is_test=keys.is_test_key(secret),
                subject=subject,
            )
    if secret.startswith(tokens.PREFIX):
        digest = tokens.token_digest(secret)
        for token, subject in _authenticated_credential_and_subject(FIND_TOKEN, digest, address):
            return PersonCaller(token.applicant_id, token.id, subject)
    if secret.startswith(portal_tokens.PREFIX):
        digest = tokens.token_digest(secret)
        for portal, subject in _authenticated_credential_and_subject(
            FIND_PORTAL_TOKEN, digest, address
        ):
            return PortalCaller(
                portal.applicant_id,
                portal.company_id,
                portal.key_id,
                keys.is_test_key(portal.key_hint),
                subject,
            )
    return None


def _authenticated_credential_and_subject(
    credential: PreparedStatement[C], digest: bytes, address: Mapping[str, Any]
) -> list[tuple[C, Subject]]:
    statements: list[PreparedStatement[Any]] = [credential]
    parameters: dict[str, Any] = {"digest": digest}
    for name, statement in _SUBJECTS:
        if isinstance(address.get(f"{name}_id"), UUID):
            statements.append(statement)
            parameters[name] = address[f"{name}_id"]
    found = run_prepared(statements, parameters)
    subject = found[-1][0] if len(found) > 1 and found[-1] else None
    return [(known, subject) for known in found[0]]


def _authenticated_company_of_session(
    request: Request, theirs: list[UUID], sandboxes: list[UUID]
) -> UUID | None:
    named = request.query_params.get("company") or request.META.get("HTTP_X_COMPANY")
    if named:
        company_id = parameter_as_id(named)
        if company_id not in [*theirs, *sandboxes]:
            raise NotFound
        return company_id
    if len(theirs) > 1:
        refuse_parameter("company", "You belong to several companies. Name the one you act for.")
    return theirs[0] if theirs else None


def _auth_csrf_answer(_: HttpRequest) -> HttpResponse:
    return HttpResponse()
