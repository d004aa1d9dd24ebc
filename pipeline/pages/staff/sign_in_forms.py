"""Forms of allauth in our words and within our rates."""

from __future__ import annotations

from allauth.account.adapter import get_adapter
from allauth.account.forms import ConfirmLoginCodeForm
from allauth.core import context
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms

from pipeline.config.allauth import CODE_SECONDS
from pipeline.limits.rate_limit import Rate, count
from pipeline.pages.rate_limits import TooOften, limit

TRIES_OF_ONE_CODE = 3


class ConfirmCodeForm(ConfirmLoginCodeForm):
    """The code of a mail. Its tries are counted in the database, whatever arrives at once."""

    field_order = ("code",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].label = "Code from the mail"
        self.fields["code"].widget.attrs |= {"placeholder": "", "autocapitalize": "characters"}

    def clean_code(self) -> str:
        """The code, if it is right. allauth's own count is in the session, where tries race."""
        self._count_this_try()
        return str(super().clean_code())

    def _count_this_try(self) -> None:
        request = context.request
        rate = Rate(TRIES_OF_ONE_CODE, TRIES_OF_ONE_CODE * CODE_SECONDS)
        code = f"{request.session.session_key} {self.expected_code}"
        try:
            limit(request, "code_try")
        except TooOften:
            raise get_adapter().validation_error("rate_limited") from None
        if not count("staff_code", code, rate).allowed:
            raise get_adapter().validation_error("too_many_login_attempts")


class AddPasskeyForm(AddWebAuthnForm):
    """A passkey or a security key of an account."""

    name = forms.CharField(
        required=False,
        max_length=100,
        label="Name",
        help_text="So that you can tell your keys apart, like “Work laptop”.",
    )
    passwordless = forms.BooleanField(
        required=False,
        initial=True,
        label="Sign in with this alone",
        help_text="The device asks for your finger, face or PIN, and no password is needed. "
        "Without it, the key is a second step after the password.",
    )
