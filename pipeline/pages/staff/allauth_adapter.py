"""What allauth asks of the site: who may sign in, what a session keeps, how mails go."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import qrcode
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailConfirmation
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.utils.html import format_html

from applicants.mail import post
from jobs.models import User
from jobs.selectors import company_of_newcomer, roles_of
from pipeline.web.client_address import client_address

FIRST_CONFIRMED = "account/messages/email_confirmed.txt"
KEPT_AT_SIGN_IN = ("account_", "_messages")
"""What allauth still needs of the session in which somebody signs in."""


class StaffAdapter(DefaultAccountAdapter):
    """Staff accounts are made by companies and by the operator, never by signing up."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": "The address and the password do not belong together.",
        "incorrect_code": "This is not the code. Copy it from the last mail.",
        "too_many_login_attempts": "Too many tries. Wait five minutes, then try again.",
        "rate_limited": "Too many tries. Wait a few minutes, then try again.",
        "email_taken": "Another account has this address.",
        "incorrect_password": "This is not your password.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never: an owner adds people to a company."""
        return False

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        """Have the browser's session stand for the account, and for nobody else any more.

        An applicant's sign-in ends, as does that of another account, and the session gets a new id.
        """
        for key in list(request.session.keys()):
            if not key.startswith(KEPT_AT_SIGN_IN):
                del request.session[key]
        super().login(request, user)

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Who signs in for the first time is told which company this is."""
        told = message_context or {}
        if message_template == FIRST_CONFIRMED and "email" in told:
            told = told | {"company": company_of_newcomer(told["email"])}
        super().add_message(request, level, message_template, told, extra_tags, message)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """The company's jobs; for the back office, who is in no company, the admin."""
        user = request.user
        if isinstance(user, User) and user.is_staff and not roles_of(user.id):
            return resolve_url("admin:index")
        return resolve_url("company_jobs")

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Wrong passwords of one account count together, by whatever host name they come."""
        return str(credentials.get("email", "")).lower()

    def get_client_ip(self, request: HttpRequest) -> str:
        """By the proxies that are trusted; of an IPv6 address, its network."""
        return client_address(request)

    def get_reset_password_from_key_url(self, key: str) -> str:
        """On the site's own address, whatever host name and scheme the request came by."""
        return _on_site(super().get_reset_password_from_key_url(key))

    def get_email_confirmation_url(
        self, request: HttpRequest, emailconfirmation: EmailConfirmation
    ) -> str:
        """On the site's own address, too."""
        return _on_site(super().get_email_confirmation_url(request, emailconfirmation))

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Hand a mail over; the page that causes it does not wait for the mail server."""
        message = self.render_mail(
            template_prefix, email, {"site_url": settings.SITE_URL} | context
        )
        post(to=email, subject=str(message.subject), text=str(message.body))


def _on_site(url: str) -> str:
    return settings.SITE_URL + urlsplit(url).path


class StaffMFAAdapter(DefaultMFAAdapter):
    """The second step of signing in, and passkeys."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This is not the right code. Codes of the app change every 30 seconds.",
    }

    def build_totp_svg(self, url: str) -> str:
        """The QR code as a drawing that may stand in the page: no picture from a data: address."""
        code = qrcode.QRCode(border=3)
        code.add_data(url)
        rows = code.get_matrix()
        dots = [(x, y) for y, row in enumerate(rows) for x, dark in enumerate(row) if dark]
        return format_html(
            '<svg class="qr" viewBox="0 0 {0} {0}" role="img" shape-rendering="crispEdges"'
            ' aria-label="QR code with the secret below"><path d="{1}"/></svg>',
            len(rows),
            "".join(f"M{x} {y}h1v1h-1z" for x, y in dots),
        )
