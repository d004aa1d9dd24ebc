"""Base form with the product's own error messages, and what several forms share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.conf.locale import LANG_INFO
from django.core.exceptions import ValidationError
from django.forms.utils import flatatt
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from applicants.texts import folded_name, plain_text
from jobs import time_zones

SKIPPED = _("The clocks skip this time on that day, because they go forward. Enter another time.")
# Other names that people enter, by code: of countries, and of languages in English.
ALIASES: dict[str, tuple[str, ...]] = {
    "GB": ("uk", "united kingdom", "great britain", "britain", "england"),
    "US": ("usa", "united states of america"),
    "KR": ("south korea",),
    "CZ": ("czechia",),
    "NL": ("holland", "the netherlands"),
    **{code: (str(facts["name"]).lower(),) for code, facts in LANG_INFO.items() if "name" in facts},
}
# The value of `preview` in a form that a page sends while someone is still typing.
QUIET_PREVIEW = "quiet"
MESSAGES = {
    "required": _("Fill in this field."),
    "min_value": _("Enter %(limit_value)s or more."),
    "max_value": _("Enter %(limit_value)s or less."),
    "max_length": _("Enter at most %(limit_value)d characters; there are %(show_value)d now."),
    "null_characters_not_allowed": _("Remove the invisible characters."),
}
SELECTED = flatatt({"selected": True})
CHOICE = {"required": _("Choose one."), "invalid_choice": _("Choose one of the options.")}
# Messages of certain fields only, by error code.
FIELD_MESSAGES: list[tuple[type[forms.Field], dict[str, Any]]] = [
    (forms.IntegerField, {"invalid": _("Enter a whole number, in digits.")}),
    (
        forms.DecimalField,
        {
            "invalid": _("Enter an amount, like 3500 or 15.50."),
            "max_digits": _("Enter a smaller amount."),
            "max_whole_digits": _("Enter a smaller amount."),
            "max_decimal_places": _("Enter at most two decimals."),
        },
    ),
    (forms.EmailField, {"invalid": _("Enter an email address, like name@example.org.")}),
    (forms.FileField, {"required": _("Choose a file.")}),
    (forms.ChoiceField, CHOICE),
    (forms.MultipleChoiceField, {"required": _("Choose at least one.")}),
]


class LinesField(forms.CharField):
    """Text of several lines. A browser sends each line break as two characters; it counts as one.

    That is how the browser itself counts for `maxlength`.
    """

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        """Return the text in normal form."""
        return plain_text(super().to_python(value) or "")


class NamedCodeField(forms.CharField):
    """Code of a standard's list, entered as its name or as the code: a list would fill the page."""

    def __init__(
        self, *, names: Callable[[], Mapping[str, str]], wrong: str | Promise, **named: Any
    ) -> None:
        super().__init__(required=False, **named)
        self._names, self._wrong = names, wrong

    def prepare_value(self, value: Any) -> Any:
        """Return the name of a code, to be shown."""
        return self._names().get(value, value)

    def clean(self, value: Any) -> str:
        """Return the code, or nothing. Raises ValidationError."""
        text = super().clean(value)
        if not text:
            return ""
        wanted = folded_name(text)
        for code, name in self._names().items():
            if wanted in (code.lower(), folded_name(name), *ALIASES.get(code, ())):
                return code
        raise ValidationError(str(self._wrong))


class TimeZoneSelect(forms.Select):
    """List of time zones, kept as HTML: the same hundreds of options on every page."""

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        """Return the list as HTML, as Django writes it."""
        given = flatatt({"name": name} | self.build_attrs(self.attrs, attrs))
        return format_html("<select{}>\n{}\n</select>", given, time_zone_options(str(value or "")))


@lru_cache(maxsize=16)
def time_zone_options(chosen: str) -> SafeString:
    """Return the options of a list of time zones as HTML."""
    return format_html_join(
        "\n",
        '  <option value="{}"{}>{}</option>',
        ((zone, SELECTED if zone == chosen else "", label) for zone, label in time_zones.choices()),
    )


class TimeZoneField(forms.ChoiceField):
    """Choice of a time zone, by name."""

    widget = TimeZoneSelect

    def __init__(self, **named: Any) -> None:
        super().__init__(choices=time_zones.choices, **named)


class PlainForm(forms.Form):
    """Form with plain English error messages. `own`: fields of this form beside its class's.

    A browser calls an empty field with the attribute `required` invalid before anybody has typed,
    so fields have `aria-required` instead. A group of radio buttons has neither.
    """

    use_required_attribute = False

    def __init__(
        self, *given: Any, own: Mapping[str, forms.Field] | None = None, **named: Any
    ) -> None:
        super().__init__(*given, **named)
        self.fields.update(own or {})
        for field in self.fields.values():
            field.error_messages |= MESSAGES
            widget = field.widget
            if field.required and not (widget.is_hidden or isinstance(widget, forms.RadioSelect)):
                widget.attrs["aria-required"] = "true"
            for kind, messages in FIELD_MESSAGES:
                if isinstance(field, kind):
                    field.error_messages |= messages


def local_moment(day: date, at: time, zone: str) -> datetime:
    """Return the local time in a form as UTC; if it comes twice, the first.

    Raises ValidationError for a time that the clocks skip, and for a date out of range.
    """
    here = datetime.combine(day, at, ZoneInfo(zone))
    try:
        found = here.astimezone(UTC)
    except OverflowError:
        raise ValidationError(_("Enter a date in the next two years.")) from None
    if found.astimezone(here.tzinfo).replace(tzinfo=None) != here.replace(tzinfo=None):
        raise ValidationError(SKIPPED)
    return found


# Form for an event of a log that someone noted earlier: its number and its hash.


class NotedEventForm(PlainForm):
    """Number and hash of an event noted earlier, or neither."""

    seq = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        label=_("Event number"),
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )
    hash = forms.CharField(
        required=False,
        label=pgettext_lazy("label", "Hash"),
        widget=forms.TextInput(
            attrs={"spellcheck": "false", "autocomplete": "off", "class": "mono"}
        ),
        help_text=_("All 64 characters."),
    )

    def clean_hash(self) -> str:
        """Return the hash in lower case, without spaces."""
        digest = "".join(self.cleaned_data["hash"].split()).lower()
        if digest and not re.fullmatch("[0-9a-f]{64}", digest):
            raise forms.ValidationError(_("Enter all 64 characters, each from 0 to 9 or a to f."))
        return digest

    def clean(self) -> dict[str, Any]:
        """Require both fields or neither."""
        noted = self.cleaned_data
        if not self.errors and bool(noted.get("seq")) != bool(noted.get("hash")):
            missing = "hash" if noted.get("seq") else "seq"
            self.add_error(
                missing, _("Enter both the event number and its hash, or leave both empty.")
            )
        return noted

    @property
    def noted(self) -> tuple[int, str] | None:
        """Number and hash that were entered, if any."""
        seq, digest = self.cleaned_data["seq"], self.cleaned_data["hash"]
        return (seq, digest) if seq and digest else None
