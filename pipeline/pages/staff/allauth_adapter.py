"""Adapters for allauth: sign-up, sessions, messages, links and emails."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailConfirmation
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from applicants.mail import post_private_email
from jobs import team
from jobs.accounts import remember_language
from jobs.models import User
from jobs.team import inviting_company_name
from pipeline.pages import qr_code
from pipeline.pages.staff.sign_on import required_elsewhere, signed_out_page
from pipeline.web.addresses import client_address
from pipeline.web.languages import choose_for

security = logging.getLogger("security")

FIRST_CONFIRMED = "account/messages/email_confirmed.txt"
# Prefixes of the session keys that allauth still needs when an account signs in.
KEPT_AT_SIGN_IN = ("account_", "_messages")


class StaffAdapter(DefaultAccountAdapter):
    """Adapter for staff accounts, which companies and the operator create; nobody signs up."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": gettext_lazy("The email address or password is wrong."),
        "incorrect_code": gettext_lazy("This code is wrong. Copy it from the latest email."),
        "too_many_login_attempts": gettext_lazy(
            "Too many attempts. Try again in 5 minutes, or tomorrow if that is refused."
        ),
        "rate_limited": gettext_lazy("Too many attempts. Try again in a few minutes."),
        "email_taken": gettext_lazy("Another account already uses this address."),
        "incorrect_password": gettext_lazy("This password is wrong."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Refuse sign-up: an owner adds people to a company."""
        return False

    def pre_login(
        self, request: HttpRequest, user: AbstractBaseUser, **about: Any
    ) -> HttpResponse | None:
        """Send members of a company that requires single sign-on to their provider."""
        response = super().pre_login(request, user, **about)
        if response is None and isinstance(user, User):
            return required_elsewhere(request, user)
        return response

    def get_logout_redirect_url(self, request: HttpRequest) -> str:
        """Offer to sign out at the provider as well, after a session that it began."""
        return signed_out_page(request) or super().get_logout_redirect_url(request)

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        """Bind the browser's session to the account.

        Ends the sign-in of an applicant or of another account, and gives the session a new id.
        """
        for key in list(request.session.keys()):
            if not key.startswith(KEPT_AT_SIGN_IN):
                del request.session[key]
        super().login(request, user)
        if isinstance(user, User) and user.chosen_language:
            choose_for(request, user.chosen_language)
        elif isinstance(user, User):
            used = get_language() or settings.LANGUAGE_CODE
            if used != (user.language or settings.DEFAULT_LANGUAGE):
                remember_language(user_id=user.id, language=used)

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Name the company in the message to a person who signs in for the first time."""
        values = message_context or {}
        if message_template == FIRST_CONFIRMED and "email" in values:
            values = values | {"company": inviting_company_name(values["email"])}
        super().add_message(request, level, message_template, values, extra_tags, message)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Return the company's jobs, or the admin for the operator's staff without a company."""
        user = request.user
        if isinstance(user, User) and user.is_staff and not team.has_company(user.id):
            return resolve_url("admin:index")
        return resolve_url("company_jobs")

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count wrong passwords per account and client, so strangers cannot lock anyone out."""
        return f"{str(credentials.get('email', '')).lower()} {client_address(request)}"

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the client's address behind trusted proxies; of IPv6, the network's first."""
        address = client_address(request).partition("/")[0]
        return "0.0.0.0" if address == "unknown" else address  # noqa: S104  a socket has none

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Build the link on SITE_URL, whatever host name and scheme the request used."""
        return _site_url(super().get_reset_password_from_key_url(key))

    def get_email_confirmation_url(
        self, request: HttpRequest, emailconfirmation: EmailConfirmation
    ) -> str:
        """Build the link on SITE_URL, whatever host name and scheme the request used."""
        return _site_url(super().get_email_confirmation_url(request, emailconfirmation))

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send an email without making the page wait for the mail server."""
        message = self.render_mail(
            template_prefix, email, {"site_url": settings.SITE_URL} | context
        )
        post_private_email(to=email, subject=str(message.subject), text=str(message.body))
        security.info("staff.email_sent", extra={"what": template_prefix.rpartition("/")[2]})


def _site_url(url: str) -> str:
    return settings.SITE_URL + urlsplit(url).path


class StaffMFAAdapter(DefaultMFAAdapter):
    """Adapter for two-step verification and passkeys."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": gettext_lazy(
            "This code is wrong or was just used. App codes change every 30 seconds: wait for the"
            " next one."
        ),
    }

    def build_totp_svg(self, url: str) -> str:
        """Draw the QR code as inline SVG, because our policy allows no data: images."""
        return qr_code.draw_inline(url, _("QR code with the secret below"))
