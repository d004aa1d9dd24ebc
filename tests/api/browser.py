"""Calling the API from a browser in which somebody has signed in."""

from __future__ import annotations

from typing import Any

from django.contrib.sessions.backends.db import SessionStore
from django.test import Client, RequestFactory

from applicants.http import sign_in
from applicants.models import Applicant
from jobs.models import Company, Membership, Role, User
from tests.api.caller import Answer, Caller
from tests.support import factories

CSRF_TOKEN = "a" * 32


class Browser(Caller):
    """A browser with our cookies. Like our pages it sends the CSRF token along, unless told not to.

    `company`: for which company its user acts, as the header says.
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

    def as_staff(self, user: User) -> Browser:
        """The browser, after a staff account signed in."""
        self._client.force_login(user)
        self._client.cookies["csrftoken"] = CSRF_TOKEN
        return self

    def as_applicant(self, person: Applicant) -> Browser:
        """The browser, after a person signed in."""
        request = RequestFactory().get("/")
        request.session = SessionStore()
        sign_in(request, person)
        request.session.save()
        self._client.cookies["sessionid"] = str(request.session.session_key)
        return self


def member_of(company: Company, role: Role, **how: Any) -> Browser:
    """A browser in which a new member of a company has signed in; hashing a password takes long."""
    user = factories.UserFactory.create(password=None)
    Membership.objects.create(company=company, user=user, role=role)
    return Browser(**how).as_staff(user)
