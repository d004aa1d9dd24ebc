"""Middleware for staff accounts: allauth's pages, the back office, and idle sessions."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.signals import authenticator_added
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from jobs.accounts import has_second_step
from jobs.models import User
from pipeline.web.middleware import pages_only

ALLAUTH_ROOT = "/account/"
BACK_OFFICE = "/admin/"
# The session keys of when a staff session began and when its use was last noted.
BEGAN, USED = "staff_began", "staff_used"
# How often the use of a session is noted.
NOTED_EVERY_SECONDS = 300
FORMS = ("form", "verify_form", "webauthn_form")


class RefusedFormMiddleware:
    """Middleware that answers 422 when allauth refuses a form, as our own pages do."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on unchanged."""
        return self.get_response(request)

    def process_template_response(
        self, request: HttpRequest, response: TemplateResponse
    ) -> TemplateResponse:
        """Set the status to 422 if the page shows a form with errors."""
        if request.path.startswith(ALLAUTH_ROOT) and response.status_code == HTTPStatus.OK:
            context = response.context_data or {}
            forms = (context.get(name) for name in FORMS)
            if any(form is not None and form.is_bound and form.errors for form in forms):
                response.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
        return response


@pages_only
def require_operator_second_step(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Open the back office only to accounts with a passkey or an authenticator app."""

    def second_step_middleware(request: HttpRequest) -> HttpResponse:
        user = request.user if request.path.startswith(BACK_OFFICE) else None
        if isinstance(user, User) and user.is_staff and not has_second_step(user.id):
            return redirect("account")  # the page that says what is missing
        return get_response(request)

    return second_step_middleware


def end_idle_sessions(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """End a staff session after settings.STAFF_SESSION_SECONDS, even if it is in use.

    The session store itself ends idle sessions, for pages, API and streams alike. Use is noted at
    most every NOTED_EVERY_SECONDS, and only if the request reads the session anyway.
    """

    def end_idle_sessions_middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        session = request.session
        if session.accessed and SESSION_KEY in session:
            now = int(time.time())
            if now - session.get(BEGAN, now) > settings.STAFF_SESSION_SECONDS:
                session.flush()
            elif now - session.get(USED, 0) > NOTED_EVERY_SECONDS:
                _note_session_use(request, now)
        return response

    return end_idle_sessions_middleware


@receiver(user_logged_in, dispatch_uid="staff.session_began")
def begin_idle_session(request: HttpRequest, **_: Any) -> None:
    """Note when a session began, in seconds since 1970."""
    request.session[BEGAN] = now = int(time.time())
    _note_session_use(request, now)


@receiver(authenticator_added, dispatch_uid="staff.authenticator_added")
def accept_new_authenticator(request: HttpRequest, user: User, **_: Any) -> None:
    """Count a second step that was just added, and so used, as a recent proof.

    Otherwise the recovery codes that follow would ask for it again, and refuse the same code.
    """
    record_authentication(request, user, method="mfa", reauthenticated=True)


def _note_session_use(request: HttpRequest, now: int) -> None:
    request.session.setdefault(BEGAN, now)
    request.session[USED] = now
    request.session.set_expiry(settings.STAFF_IDLE_HOURS * 3_600)
