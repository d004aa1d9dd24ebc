"""Forms of allauth with our labels and rate limits."""

from __future__ import annotations

import logging

from allauth.account.adapter import get_adapter
from allauth.account.forms import ConfirmLoginCodeForm
from allauth.core import context
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms

from pipeline.config.allauth import CODE_SECONDS
from pipeline.limits.rate_limit import Rate, count_against_rate
from pipeline.pages.rate_limits import TooOften, limit_page_rate

security = logging.getLogger("security")

TRIES_OF_ONE_CODE = 3


class ConfirmCodeForm(ConfirmLoginCodeForm):
    """Form for an emailed code. Attempts are counted in the database, safe against races."""

    field_order = ("code",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].label = "Code from the email"
        self.fields["code"].widget.attrs |= {"placeholder": "", "autocapitalize": "characters"}

    def clean_code(self) -> str:
        """Return the code if it is right.

        Counts the attempt here because allauth counts in the session, where requests race.
        """
        request = context.request
        rate = Rate(TRIES_OF_ONE_CODE, TRIES_OF_ONE_CODE * CODE_SECONDS)
        code = f"{request.session.session_key} {self.expected_code}"
        try:
            limit_page_rate(request, "code_try")
        except TooOften:
            security.warning("staff.code_throttled")
            raise get_adapter().validation_error("rate_limited") from None
        if not count_against_rate("staff_code", code, rate).allowed:
            security.warning("staff.code_throttled")
            raise get_adapter().validation_error("too_many_login_attempts")
        return str(super().clean_code())


class AddPasskeyForm(AddWebAuthnForm):
    """Form for a new passkey or security key."""

    name = forms.CharField(
        required=False,
        max_length=100,
        label="Name",
        help_text="To tell your passkeys apart, like “Work laptop”.",
    )
    passwordless = forms.BooleanField(
        required=False,
        initial=True,
        label="Sign in with this passkey alone",
        help_text="Your device asks for your fingerprint, face or PIN, and you need no password."
        " Otherwise, you use the passkey after your password.",
    )
