"""Forms of allauth for the second step and passkeys, stricter than allauth's own.

A code of an authenticator app works once. A passkey counts only from this site's own origin, and
signs in alone only after its device has asked for a PIN, fingerprint or face.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from allauth.core import context
from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa import app_settings
from allauth.mfa.adapter import get_adapter
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
from django import forms
from fido2.webauthn import AuthenticationResponse

from applicants.forms import NameField
from pipeline.pages.staff.sign_in_forms import CodeOfAnyScript
from pipeline.web import rate_limit
from pipeline.web.rate_limit import Rate

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
                raise get_adapter().validation_error("incorrect_code")
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
            raise get_adapter().validation_error("incorrect_code") from None


@contextmanager
def _refused_if_unreadable() -> Iterator[None]:
    try:
        yield
    except _UNREADABLE:
        raise get_adapter().validation_error("incorrect_code") from None


def _read_own_credential(parse: Callable[[Any], Any], credential: Any) -> Any:
    """Return what a passkey answered. A page on another host below ours may ask it, too."""
    with _refused_if_unreadable():
        answer = parse(credential)
        is_own = urlsplit(answer.response.client_data.origin).netloc == context.request.get_host()
    if not is_own:
        raise get_adapter().validation_error("incorrect_code")
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
            raise get_adapter().validation_error("incorrect_code")


class PasskeyAgainForm(OwnPasskey, ReauthenticateWebAuthnForm):
    """Form for a passkey of someone who is signed in."""


class AddPasskeyForm(AddWebAuthnForm):
    """Form for a new passkey or security key."""

    name = NameField(
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
    credential = AnswerField()

    def clean(self) -> dict[str, Any]:
        """Refuse a passkey that was made for a page of another site."""
        if credential := self.cleaned_data.get("credential"):
            _read_own_credential(parse_registration_response, credential)
        with _refused_if_unreadable():
            return super().clean()
