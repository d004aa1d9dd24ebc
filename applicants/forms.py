"""Forms to apply and to sign in."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from applicants.addresses import EMAIL_LENGTH, checked_address
from applicants.codes import CODE_DIGITS, normal_digits
from applicants.models import NAME_LENGTH
from applicants.texts import checked_name

_ADDRESS_MISSING = _("Enter an email address, like ana@example.org.")
_CODE = RegexValidator(
    rf"^[0-9]{{{CODE_DIGITS}}}$",
    # Translators: the number of digits is 8.
    format_lazy(_("A code has {digits} digits."), digits=CODE_DIGITS),
)


class AddressField(forms.EmailField):
    """Email address, cleaned to its normal spelling."""

    default_validators = []  # Django’s own would see it as it was typed

    def clean(self, value: Any) -> str:
        """Return the normalised address. Raises ValidationError."""
        email: str = super().clean(value)
        try:
            return checked_address(email) if email else email
        except forms.ValidationError as error:
            if error.code == "invisible":
                raise
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid") from None


class NameField(forms.CharField):
    """Name that people read, cleaned to its normal form."""

    def to_python(self, value: Any) -> Any:
        """Return the name. Raises ValidationError."""
        text = super().to_python(value)
        return checked_name(text) if text else text


def _address_field(help_text: Any) -> forms.EmailField:
    return AddressField(
        label=_("Email address"),
        max_length=EMAIL_LENGTH,
        help_text=help_text,
        error_messages={"required": _ADDRESS_MISSING, "invalid": _ADDRESS_MISSING},
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )


class NameForm(forms.Form):
    """Application of a person who is signed in."""

    name = NameField(
        label=_("Your name"),
        max_length=NAME_LENGTH,
        error_messages={"required": _("Enter the name that the company will see.")},
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )


class ApplyForm(NameForm):
    """Application of a person who is not signed in."""

    email = _address_field("")


class AddressForm(forms.Form):
    """Address of a person who wants to sign in."""

    email = _address_field(_("We’ll email you a code. There is no password."))


class CodeForm(forms.Form):
    """Code from the email, with digits of any script. Spaces, dashes and dots are ignored."""

    code = forms.CharField(
        label=_("Code from the email"),
        max_length=3 * CODE_DIGITS,
        error_messages={
            "required": format_lazy(
                # Translators: the number of digits is 8.
                _("Enter the {digits} digits from the email."),
                digits=CODE_DIGITS,
            )
        },
        widget=forms.TextInput(
            attrs={"inputmode": "numeric", "autocomplete": "one-time-code", "spellcheck": "false"}
        ),
    )

    def clean_code(self) -> str:
        """Return only the digits."""
        code = normal_digits(self.cleaned_data["code"])
        _CODE(code)
        return code
