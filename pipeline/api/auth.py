"""Telling from a request's credential who calls."""

from __future__ import annotations

import re

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from applicants import tokens
from applicants.services import find_token
from jobs import keys
from jobs.services import find_api_key
from pipeline.api.callers import Caller, CompanyCaller, PersonCaller

_BEARER = re.compile(r"[Bb]earer +([A-Za-z0-9._~+/=-]{1,200})")


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer …` with a company's API key or an applicant's token."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        """The caller, in one query; None without a credential.

        A credential that is malformed, unknown, revoked or expired raises AuthenticationFailed,
        also where none is needed: who sends one means to be known.
        """
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        bearer = _BEARER.fullmatch(header.strip())
        caller = _caller(bearer[1]) if bearer else None
        if caller is None:
            raise AuthenticationFailed
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        """What a 401 says in WWW-Authenticate."""
        return "Bearer"


def _caller(secret: str) -> Caller | None:
    if secret.startswith(keys.PREFIX):
        key = find_api_key(secret)
        return CompanyCaller(key.company_id, key.id, frozenset(key.scopes)) if key else None
    if secret.startswith(tokens.PREFIX):
        token = find_token(secret)
        return PersonCaller(token.applicant_id) if token else None
    return None
