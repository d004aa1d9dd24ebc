"""Forms of allauth with our labels and rate limits."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from allauth.account.adapter import get_adapter
from allauth.account.forms import (
    AddEmailForm,
    ChangePasswordForm,
    ConfirmLoginCodeForm,
    LoginForm,
    RequestLoginCodeForm,
    ResetPasswordForm,
    ResetPasswordKeyForm,
    SetPasswordForm,
)
from allauth.core import context
from django import forms

from applicants.codes import normal_digits
from applicants.forms import AddressField
from pipeline.config.allauth import CODE_SECONDS
from pipeline.pages import rate_limits
from pipeline.pages.rate_limits import TooOften
from pipeline.web import rate_limit
from pipeline.web.addresses import client_site
from pipeline.web.rate_limit import Rate

security = logging.getLogger("security")

TRIES_OF_ONE_CODE = 3
PASSWORD_LABELS = {
    "oldpassword": "Current password",
    "password1": "New password",
    "password2": "New password again",
}
# Emails of one kind to one address: a limit for all clients together, and one per client, so that
# strangers cannot use up the owner's.
MAILS_FOR_ALL, OWN_MAILS = Rate(3, 900), Rate(2, 900)


class AnySpelling(forms.Form):
    """Part of a form that accepts an address in any spelling and normalizes it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        for name in {"login", "email"} & set(self.fields):
            field = self.fields[name]
            self.fields[name] = AddressField(label=field.label, widget=field.widget)


class SignInForm(AnySpelling, LoginForm):
    """Form for an address and a password."""


class NewAddressForm(AnySpelling, AddEmailForm):
    """Form for a new address of an account."""


class SignInEmailForm(AnySpelling):
    """Part of a form through which anyone can have an email sent to a staff address."""

    kind: ClassVar[str]

    def clean_email(self) -> str:
        """Return the address, unless too many emails of this kind were sent to it recently."""
        email: str = self.cleaned_data["email"]
        try:
            rate_limits.count_request(context.request, "code_request")
        except TooOften:
            raise get_adapter().validation_error("rate_limited") from None
        own = f"{email} {client_site(context.request)}"
        if (
            not rate_limit.count(self.kind, email, MAILS_FOR_ALL).allowed
            and not rate_limit.count(self.kind, own, OWN_MAILS).allowed
        ):
            security.warning("staff.email_withheld", extra={"what": self.kind})
            raise get_adapter().validation_error("rate_limited")
        cleaned: str = super().clean_email()  # type: ignore[misc]  # of the form it is a part of
        return cleaned


class CodeForm(SignInEmailForm, RequestLoginCodeForm):
    """Form for an address to which a code is sent."""

    kind = "staff_code_mail"


class ResetForm(SignInEmailForm, ResetPasswordForm):
    """Form for an address to which the link to a new password is sent."""

    kind = "staff_reset_mail"


class CodeOfAnyScript(forms.Form):
    """Part of a form with a code, in digits of any script, with any blanks and dashes."""

    def clean_code(self) -> str:
        """Return the code as it was given out, if it is right."""
        self.cleaned_data["code"] = normal_digits(self.cleaned_data["code"])
        return str(super().clean_code())  # type: ignore[misc]  # of the form it is a part of


class ConfirmCodeForm(CodeOfAnyScript, ConfirmLoginCodeForm):
    """Form for an emailed code.

    Attempts are counted in the database, which is safe against races.
    """

    field_order = ("code",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].label = "Code from the email"
        self.fields["code"].widget.attrs["autocapitalize"] = "characters"

    def clean_code(self) -> str:
        """Return the code if it is right.

        Counts the attempt here because allauth counts in the session, where requests race.
        """
        request = context.request
        rate = Rate(TRIES_OF_ONE_CODE, TRIES_OF_ONE_CODE * CODE_SECONDS)
        code = f"{request.session.session_key} {self.expected_code}"
        try:
            rate_limits.count_request(request, "code_try")
        except TooOften:
            security.warning("staff.code_throttled")
            raise get_adapter().validation_error("rate_limited") from None
        if not rate_limit.count("staff_code", code, rate).allowed:
            security.warning("staff.code_throttled")
            raise get_adapter().validation_error("too_many_login_attempts")
        return super().clean_code()


class NewPasswordForm(forms.Form):
    """Part of a form with a new password, typed twice."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, label in PASSWORD_LABELS.items():
            if name in self.fields:
                self.fields[name].label = label
                self.fields[name].help_text = ""
        self.fields["password1"].help_text = (
            "At least 12 characters. Not your email address, not only digits, and not a password"
            " that many people use."
        )


class ChangeOwnPasswordForm(NewPasswordForm, ChangePasswordForm):
    """Form for a new password."""


class SetOwnPasswordForm(NewPasswordForm, SetPasswordForm):
    """Form for a first password."""


class ResetOwnPasswordForm(NewPasswordForm, ResetPasswordKeyForm):
    """Form for a new password, reached through the link in an email."""
