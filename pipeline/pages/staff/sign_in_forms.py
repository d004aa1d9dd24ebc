"""Forms of allauth, with our labels and rate limits, and stricter than its own."""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from urllib.parse import urlsplit

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
from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa import app_settings
from allauth.mfa.adapter import get_adapter as get_mfa_adapter
from allauth.mfa.base.forms import AuthenticateForm, BaseAuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from allauth.mfa.webauthn.internal.auth import (
    parse_authentication_response,
    parse_registration_response,
)
from disposable_email_domains import blocklist
from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from fido2.webauthn import AuthenticationResponse

from applicants.codes import normal_digits
from applicants.forms import AddressField, NameField
from jobs.models import NAME_LENGTH
from pipeline.config.allauth import CODE_SECONDS
from pipeline.pages import limits
from pipeline.pages.forms import PlainForm
from pipeline.pages.limits import TooOften
from pipeline.web import rate_limit
from pipeline.web.addresses import client_site
from pipeline.web.rate_limit import Rate

security = logging.getLogger("security")


TRIES_OF_ONE_CODE = 3
PASSWORD_LABELS = {
    "oldpassword": _("Current password"),
    "password1": _("New password"),
    "password2": _("New password again"),
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
            limits.count_request(context.request, "code_request")
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
    """Form for an address to which a code is sent.

    The form for a password has a button for it, and calls the address `login`.
    """

    kind = "staff_code_mail"

    def __init__(self, *given: Any, **named: Any) -> None:
        data = named.get("data")
        if data and "email" not in data and "login" in data:
            named["data"] = {"email": data["login"]}
        super().__init__(*given, **named)


class WorkEmailForm(PlainForm):
    """Form for a company and an address there."""

    company = NameField(
        max_length=NAME_LENGTH,
        label=pgettext_lazy("label", "Company"),
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    email = AddressField(
        label=_("Work email"), widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )

    def clean_email(self) -> str:
        """Return the address, unless its domain is refused."""
        email: str = self.cleaned_data["email"]
        if is_refused(email.rpartition("@")[2]):
            raise forms.ValidationError(_("Enter the address you use at work."), code="disposable")
        return email


class OwnEmailForm(PlainForm):
    """Form for the visitor's own address."""

    email = AddressField(
        label=_("Your email address"), widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )

    def clean_email(self) -> str:
        """Return the address."""
        email: str = self.cleaned_data["email"]
        return email


class JoinForm(SignInEmailForm, OwnEmailForm):
    """Form for the address of someone who joins a team by a link; a code is sent to it."""

    kind = "staff_code_mail"


class SignUpForm(SignInEmailForm, WorkEmailForm):
    """Form for a new company and the address of its owner, to which a code is sent."""

    kind = "sign_up_mail"


def is_refused(domain: str) -> bool:
    """Return whether a domain, or one above it, is disposable or refused by the operator."""
    labels = domain.lower().split(".")
    above = {".".join(labels[n:]) for n in range(len(labels))}
    return bool(above & blocklist or above & settings.SIGN_UP_REFUSED_DOMAINS)


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
        self.fields["code"].label = _("Code from the email")
        self.fields["code"].widget.attrs["autocapitalize"] = "characters"

    def clean_code(self) -> str:
        """Return the code if it is right.

        Counts the attempt here because allauth counts in the session, where requests race.
        """
        request = context.request
        rate = Rate(TRIES_OF_ONE_CODE, TRIES_OF_ONE_CODE * CODE_SECONDS)
        code = f"{request.session.session_key} {self.expected_code}"
        try:
            limits.count_request(request, "code_try")
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
        self.fields["password1"].help_text = _(
            "At least 12 characters. Not your email address, not only digits, and not a password"
            " that many people use."
        )


class ChangeOwnPasswordForm(NewPasswordForm, ChangePasswordForm):
    """Form for a new password."""


class SetOwnPasswordForm(NewPasswordForm, SetPasswordForm):
    """Form for a first password."""


class ResetOwnPasswordForm(NewPasswordForm, ResetPasswordKeyForm):
    """Form for a new password, reached through the link in an email."""


# Forms of allauth for the second step and passkeys, stricter than allauth's own. A code of an
# authenticator app works once. A passkey counts only from this site's own origin, and signs in
# alone only after its device has asked for a PIN, fingerprint or face.


# What the parser of passkeys raises for input of a wrong shape, besides refusing it.
_UNREADABLE = (
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)
LONGEST_ANSWER = (
    32_000  # characters of a passkey's answer; one with certificates has a few thousand
)


class OneTimeCode(CodeOfAnyScript, BaseAuthenticateForm):
    """Part of a form with a code of an authenticator app, or a recovery code.

    allauth remembers a used code of an app for one period, but with a tolerance for clocks it
    would be valid for longer.
    """

    def clean_code(self) -> str:
        """Return the code if it is right and was not used before."""
        code = super().clean_code()
        if self.authenticator.type == Authenticator.Type.TOTP:
            periods = 2 * app_settings.TOTP_TOLERANCE + 1
            once = Rate(1, periods * app_settings.TOTP_PERIOD)
            subject = f"{self.user.pk} {normalize_user_code(code)}"
            if not rate_limit.count("totp", subject, once).allowed:
                self._emit_authentication_failed(self.authenticator)
                raise get_mfa_adapter().validation_error("incorrect_code")
        return code


class SecondStepForm(OneTimeCode, AuthenticateForm):
    """Form for a code after the password or the emailed code."""


class CodeAgainForm(OneTimeCode, ReauthenticateForm):
    """Form for a code of someone who is signed in."""


class ActivateAppForm(CodeOfAnyScript, ActivateTOTPForm):
    """Form for the first code of a new authenticator app."""


class AnswerField(forms.CharField):
    """Field that a script fills in with a passkey's answer."""

    widget = forms.HiddenInput

    def to_python(self, value: Any) -> Any:
        """Return what the JSON says. Refuses what is too long or too deep for an answer."""
        text = super().to_python(value) or ""
        try:
            if len(text) > LONGEST_ANSWER:
                raise ValueError
            return json.loads(text) if text else None
        except (RecursionError, ValueError):
            raise get_mfa_adapter().validation_error("incorrect_code") from None


@contextmanager
def _refused_if_unreadable() -> Iterator[None]:
    try:
        yield
    except _UNREADABLE:
        raise get_mfa_adapter().validation_error("incorrect_code") from None


def _read_own_credential(parse: Callable[[Any], Any], credential: Any) -> Any:
    """Return what a passkey answered. A page on another host below ours may ask it, too."""
    with _refused_if_unreadable():
        answer = parse(credential)
        is_own = urlsplit(answer.response.client_data.origin).netloc == context.request.get_host()
    if not is_own:
        raise get_mfa_adapter().validation_error("incorrect_code")
    return answer


class OwnPasskey(AuthenticateWebAuthnForm):
    """Part of a form with a passkey's answer."""

    credential = AnswerField()

    def clean_credential(self) -> Authenticator:
        """Return the passkey if its answer is right and was given to a page of this site."""
        answer = _read_own_credential(
            parse_authentication_response, self.cleaned_data["credential"]
        )
        self.check_answer(answer)
        with _refused_if_unreadable():
            return super().clean_credential()

    def check_answer(self, answer: AuthenticationResponse) -> None:
        """Refuse further answers. Raises ValidationError."""


class PasskeySignInForm(OwnPasskey, LoginWebAuthnForm):
    """Form to sign in with a passkey alone."""

    def check_answer(self, answer: AuthenticationResponse) -> None:
        """Refuse an answer without PIN, fingerprint or face.

        The session's challenge does not ensure that: it may have been made for a second step.
        """
        if not answer.response.authenticator_data.is_user_verified():
            raise get_mfa_adapter().validation_error("incorrect_code")


class PasskeyAgainForm(OwnPasskey, ReauthenticateWebAuthnForm):
    """Form for a passkey of someone who is signed in."""


class AddPasskeyForm(AddWebAuthnForm):
    """Form for a new passkey or security key."""

    name = NameField(
        required=False,
        max_length=100,
        label=pgettext_lazy("label", "Name"),
        help_text=_("To tell your passkeys apart, like “Work laptop”."),
    )
    passwordless = forms.BooleanField(
        required=False,
        initial=True,
        label=_("Sign in with this passkey alone"),
        help_text=_(
            "Your device asks for your fingerprint, face or PIN, and you need no password."
            " Otherwise, you use the passkey after your password."
        ),
    )
    credential = AnswerField()

    def clean(self) -> dict[str, Any]:
        """Refuse a passkey that was made for a page of another site."""
        if credential := self.cleaned_data.get("credential"):
            _read_own_credential(parse_registration_response, credential)
        with _refused_if_unreadable():
            return super().clean()
