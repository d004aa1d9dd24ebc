"""Request fields that accept a JSON value only as it is: no "5" for 5, no 1 for true."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from django.core.exceptions import ValidationError as DjangoValidationError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from applicants.addresses import checked_address
from applicants.texts import checked_name, plain_text
from pipeline.api.parameters import parse_moment
from pipeline.form.questions import MOST_CHOICES, MOST_QUESTIONS
from pipeline.models import (
    EXTERNAL_ID_LENGTH,
    METADATA_KEY_LENGTH,
    METADATA_KEYS,
    METADATA_VALUE_LENGTH,
)

METADATA_KEY = re.compile(rf"[A-Za-z0-9_.-]{{1,{METADATA_KEY_LENGTH}}}")
AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,2})?")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Shape(serializers.Serializer[Any]):
    """An object in a request. Unknown fields are refused.

    `deprecated`: old names that are still read. `together`: a JSON schema of which fields go
    together. It has no `oneOf`, for which client generators would forget the fields.
    """

    deprecated: ClassVar[frozenset[str]] = frozenset()
    together: ClassVar[dict[str, Any]] = {}

    def to_internal_value(self, data: Any) -> Any:
        """Return the object's values. Raises ValidationError with every field that is wrong."""
        unknown = data.keys() - self.fields.keys() if isinstance(data, Mapping) else ()
        wrong: dict[str, Any] = {
            name: [ErrorDetail(_("There is no such field."), "unknown")] for name in sorted(unknown)
        }
        try:
            values = super().to_internal_value(data)
        except ValidationError as error:
            raise ValidationError(wrong | dict(error.detail)) from None  # type: ignore[arg-type]
        if wrong:
            raise ValidationError(wrong)
        return values


class Text(serializers.CharField):
    """A string, of any number of lines."""

    def to_internal_value(self, data: Any) -> str:
        """Return the string. Raises ValidationError."""
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Line(Text):
    """A string in one line."""

    def to_internal_value(self, data: Any) -> str:
        """Return the string, stripped of surrounding blanks. Raises ValidationError."""
        text = super().to_internal_value(data)
        if _CONTROL.search(text):
            self.fail("invalid")
        return text


class Name(Line):
    """A name that people read, in normal form."""

    def to_internal_value(self, data: Any) -> str:
        """Return the name. Raises ValidationError, which says what to do."""
        try:
            return checked_name(super(Line, self).to_internal_value(data))
        except DjangoValidationError as error:
            raise ValidationError([ErrorDetail(error.messages[0], "invalid")]) from None


class Letter(Text):
    """A string of any number of lines that people write and read, in normal form."""

    def to_internal_value(self, data: Any) -> str:
        """Return the text. Raises ValidationError, also if nothing is left of it."""
        text = plain_text(super().to_internal_value(data))
        if not text and not self.allow_blank:
            self.fail("blank")
        return text


class Address(serializers.EmailField):
    """An email address, normalized as it is stored."""

    def to_internal_value(self, data: Any) -> str:
        """Return the address. Raises ValidationError."""
        if not isinstance(data, str):
            self.fail("invalid")
        try:
            return checked_address(super().to_internal_value(data))
        except DjangoValidationError:
            self.fail("invalid")


class Whole(serializers.IntegerField):
    """A whole number, however it is written: in JSON, 5, 5.0 and 5e0 are the same number."""

    def to_internal_value(self, data: Any) -> int:
        """Return the number. Raises ValidationError."""
        if isinstance(data, float) and data.is_integer():
            return int(data)
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return data


class Id(serializers.UUIDField):
    """A UUID, as text."""

    def to_internal_value(self, data: Any) -> UUID:
        """Return the id. Raises ValidationError."""
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        found: UUID = super().to_internal_value(data)
        return found


class Flag(serializers.BooleanField):
    """True or false."""

    def to_internal_value(self, data: Any) -> bool:
        """Return the flag. Raises ValidationError."""
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Choice(serializers.ChoiceField):
    """One of a few fixed words."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the word. Raises ValidationError."""
        if not isinstance(data, str):
            self.fail("invalid_choice", input="This")
        return super().to_internal_value(data)


class Choices(serializers.ListField):
    """Any of a few fixed words, in any order."""

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the words, each once. Raises ValidationError."""
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=_("something else"))
        return list(dict.fromkeys(super().to_internal_value(data)))


class Amount(Line):
    """An amount of money as a string, so that no program rounds it."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the amount as a Decimal. Raises ValidationError."""
        text = super().to_internal_value(data)
        if not AMOUNT.fullmatch(text):
            raise ValidationError(
                [ErrorDetail(_("Must be an amount like 3500 or 15.50."), "invalid")]
            )
        return Decimal(text)

    def to_representation(self, value: Any) -> str:
        """Return the amount as text."""
        return str(value)


class Code(Line):
    """A short code of a standard's list, such as a country's."""

    def __init__(self, *, known: Callable[[], Container[str]], like: str, **named: Any) -> None:
        super().__init__(max_length=10, **named)
        self._known, self._like = known, like

    def to_internal_value(self, data: Any) -> str:
        """Return the code. Raises ValidationError."""
        code = super().to_internal_value(data)
        if code not in self._known():
            why = _("Must be a code like %(like)s.") % {"like": self._like}
            raise ValidationError([ErrorDetail(why, "invalid_choice")])
        return code


class Nothing(Shape):
    """The body of a request that needs none: empty, or `{}`."""


class AnyObject(serializers.JSONField):
    """An object whose contents depend on the task type."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the object. Raises ValidationError."""
        if not isinstance(data, dict):
            self.fail("invalid")
        return data


class Metadata(AnyObject):
    """A few short texts of a company's own, by key."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        """Return the texts. Raises ValidationError."""
        texts: dict[str, str] = super().to_internal_value(data)
        if len(texts) > METADATA_KEYS:
            why = ngettext(
                "Must have at most %(most)s key.", "Must have at most %(most)s keys.", METADATA_KEYS
            ) % {"most": METADATA_KEYS}
            raise ValidationError([ErrorDetail(why, "max_length")])
        wrong = {key: _metadata_refusals(key, text) for key, text in texts.items()}
        if any(wrong.values()):
            raise ValidationError({key: why for key, why in wrong.items() if why})
        return texts


def _metadata_refusals(key: str, text: Any) -> list[ErrorDetail]:
    if not METADATA_KEY.fullmatch(key):
        why = _("A key must have 1 to %(most)s letters, digits, dots, hyphens or underscores.") % {
            "most": METADATA_KEY_LENGTH
        }
        return [ErrorDetail(why, "invalid")]
    if not isinstance(text, str):
        return [ErrorDetail(_("Must be a string."), "invalid")]
    if len(text) > METADATA_VALUE_LENGTH:
        why = ngettext(
            "Must have at most %(most)s character.",
            "Must have at most %(most)s characters.",
            METADATA_VALUE_LENGTH,
        ) % {"most": METADATA_VALUE_LENGTH}
        return [ErrorDetail(why, "max_length")]
    return []


class AnswerValue(serializers.JSONField):
    """An answer to a question: of which kind, only the question says."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the answer. Raises ValidationError."""
        simple = data is None or isinstance(data, str | bool | int | float)
        texts = isinstance(data, list) and all(isinstance(each, str) for each in data)
        if not (simple or texts) or (texts and len(data) > MOST_CHOICES + 1):
            self.fail("invalid")
        return data


class AnswerSet(AnyObject):
    """Answers to the questions of a form, by their keys."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the answers. Raises ValidationError."""
        given: dict[str, Any] = super().to_internal_value(data)
        if len(given) > MOST_QUESTIONS:
            why = ngettext(
                "Must have at most %(most)s answer.",
                "Must have at most %(most)s answers.",
                MOST_QUESTIONS,
            ) % {"most": MOST_QUESTIONS}
            raise ValidationError([ErrorDetail(why, "max_length")])
        one, wrong = AnswerValue(allow_null=True), {}
        for key, answer in given.items():
            try:
                one.to_internal_value(answer)
            except ValidationError as error:
                wrong[key] = error.detail
        if wrong:
            raise ValidationError(wrong)
        return given


class Bound(serializers.JSONField):
    """A smallest or largest answer: a number, or a date as a string."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the number or string. Raises ValidationError."""
        if isinstance(data, bool) or not isinstance(data, str | int | float):
            self.fail("invalid")
        return data


def declare_external_id() -> Line:
    """Return the field for a company's own id of an object."""
    return Line(max_length=EXTERNAL_ID_LENGTH, required=False, allow_null=True)


def read_reference(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a body that a company attaches to an object."""
    return {name: given[name] for name in ("external_id", "metadata") if name in given}


class Moment(serializers.DateTimeField):
    """A time with an offset."""

    def to_internal_value(self, value: Any) -> datetime:
        """Return the time, in UTC. Raises ValidationError."""
        found = parse_moment(value) if isinstance(value, str) else None
        if found is None:
            why = _("Must be a time like 2026-01-31T12:00:00Z, with Z or an offset.")
            raise ValidationError([ErrorDetail(why, "invalid")])
        return found
