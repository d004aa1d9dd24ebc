"""Callers of the API in tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol
from uuid import UUID

from django.contrib.sessions.backends.db import SessionStore
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models.functions import Now
from django.test import Client, RequestFactory

from applicants import browser, tokens
from applicants.models import Applicant
from jobs import keys
from jobs.models import ApiKey, Company, Role, Scope, User
from pipeline.models import Application
from tests.support import factories
from tests.support.accounts import member_of

# The least that a new job needs.
NEW_JOB = {"title": "Cook", "capacity": 1}
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"


class Answer(Protocol):
    """Parts of an answer that the tests check."""

    status_code: int
    content: bytes
    headers: Any

    def json(self) -> Any: ...


class Caller:
    """Someone who calls the API: with that token, or with none."""

    def __init__(self, token: str | None = None) -> None:
        self.token = token
        self._client = Client(headers={"Authorization": f"Bearer {token}"} if token else {})

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Answer:
        return self._client.get(f"/api/v1{path}", query, headers=_named(headers))

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self._send("POST", path, body, headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self._send("PATCH", path, body, headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self._send("PUT", path, body, headers)

    def delete(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self._send("DELETE", path, b"" if body is None else body, headers)

    def _send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Answer:
        raw = isinstance(body, bytes)
        return self._client.generic(
            method,
            f"/api/v1{path}",
            body if raw else json.dumps({} if body is None else body, cls=DjangoJSONEncoder),
            content_type=headers.pop("content_type", JSON),
            headers=_named(headers),
        )


JSON = "application/json"


class Callers(dict[str, Any]):
    """Callers by name, each made when it is first asked for: most tests ask for one of many."""

    def __init__(self, made_by: dict[str, Callable[[], Any]]) -> None:
        super().__init__()
        self._made_by = made_by

    def __missing__(self, name: str) -> Any:
        self[name] = self._made_by[name]()
        return self[name]


def key_of(company_id: UUID, *scopes: Scope) -> Caller:
    """Return a caller with a key of a company; it may read and write unless told otherwise.

    The key was used a moment ago, so that its next use is not recorded.
    """
    scopes = scopes or tuple(Scope)
    row, key = keys.create(company_id=company_id, name="tests", scopes=scopes)
    ApiKey.objects.filter(id=row.id).update(last_used_at=Now())
    return Caller(key)


def signed_in(person: Applicant) -> Caller:
    """A caller who is that person."""
    return Caller(tokens.issue(person))


def person(**fields: Any) -> tuple[Applicant, Caller]:
    """Make a new person, and return them with their caller."""
    applicant = factories.applicant(**fields)
    return applicant, signed_in(applicant)


def code_of(answer: Answer) -> tuple[int, str | None]:
    """An answer's status, and its problem's code."""
    return answer.status_code, answer.json().get("code") if answer.content else None


def pointers(answer: Answer) -> list[str]:
    """Return the fields that an answer refuses."""
    return [error["pointer"] for error in answer.json()["errors"]]


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def leave(application: Application) -> Answer:
    """The person withdraws."""
    return signed_in(application.applicant).post(f"/applications/{application.id}/withdraw")


CSRF_TOKEN = "a" * 32


class SessionCaller(Caller):
    """Caller with the cookies of a browser, which sends the CSRF token along, as our pages do.

    `company`: the company of the X-Company header. `forged`: leave the CSRF token out.
    """

    def __init__(self, *, company: Company | None = None, forged: bool = False) -> None:
        super().__init__()
        headers = {"X-Company": str(company.id)} if company else {}
        self._client = Client(enforce_csrf_checks=True, headers=headers)
        self._client.cookies["csrftoken"] = CSRF_TOKEN
        self._forged = forged

    def _send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Answer:
        token = {} if self._forged else {"X-CSRFToken": CSRF_TOKEN}
        return super()._send(method, path, body, token | headers)

    def as_staff(self, user: User) -> SessionCaller:
        """The browser, after a staff account signed in."""
        self._client.force_login(user)
        self._client.cookies["csrftoken"] = CSRF_TOKEN
        return self

    def as_applicant(self, person: Applicant) -> SessionCaller:
        """The browser, after a person signed in."""
        request = RequestFactory().get("/")
        request.session = SessionStore()
        browser.sign_in(request, person)
        request.session.save()
        self._client.cookies["sessionid"] = str(request.session.session_key)
        return self


def member_caller(company: Company, role: Role, **how: Any) -> SessionCaller:
    """Return a caller in whose browser a new member of a company has signed in."""
    return SessionCaller(**how).as_staff(member_of(company, role))


SAME = ("Content-Type", "ETag", "Location")


def told(answer: Answer) -> tuple[int, bytes, list[str | None]]:
    """Return the parts of an answer that stay the same when it is repeated."""
    return answer.status_code, answer.content, [answer.headers.get(name) for name in SAME]


def replayed(answer: Answer) -> bool:
    """Tell whether an answer says that it is a repeated one."""
    return answer.headers.get("Idempotent-Replayed") == "true"
