"""Reading query parameters: each is what it should be, or the request is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import NoReturn, TypeVar
from uuid import UUID

from django.db.models import TextChoices
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request

from applicants.models import EMAIL_LENGTH
from pipeline.api.parsing import is_fit

LARGEST = 2**63 - 1
"""The largest number that a log can count to."""

LONGEST_SEARCH = 200

_WHOLE = re.compile(r"-?[0-9]{1,19}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_HASH = re.compile(r"[0-9a-fA-F]{64}")

Choice = TypeVar("Choice", bound=StrEnum | TextChoices)


def refuse(name: str, why: str) -> NoReturn:
    """Refuse a parameter. Raises ValidationError."""
    raise ValidationError({name: [ErrorDetail(why, "invalid")]})


def whole(request: Request, name: str, *, low: int = -LARGEST, high: int = LARGEST) -> int | None:
    """A whole number between the two, or None if it is not given."""
    text = request.query_params.get(name)
    if text is None:
        return None
    number = int(text) if _WHOLE.fullmatch(text) else None
    if number is None or not low <= number <= high:
        refuse(name, _bounds(low, high))
    return number


def choice(request: Request, name: str, choices: type[Choice]) -> Choice | None:
    """One of some words, or None if it is not given."""
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return choices(text)
    except ValueError:
        refuse(name, f"Must be one of {', '.join(each.value for each in choices)}.")


def search(request: Request) -> str:
    """What is searched for; empty if nothing."""
    text = request.query_params.get("search", "").strip()
    if len(text) > LONGEST_SEARCH or not is_fit(text):
        refuse("search", f"Must have at most {LONGEST_SEARCH} characters, none of them NUL.")
    return text


def short_text(request: Request, name: str) -> str | None:
    """A text of some length, or None if it is not given."""
    text = request.query_params.get(name)
    if text is not None and (len(text) > LONGEST_SEARCH or not is_fit(text)):
        refuse(name, f"Must have at most {LONGEST_SEARCH} characters, none of them NUL.")
    return text


def address(request: Request) -> str:
    """The address that is looked for; it need not be anybody's. Raises ValidationError without."""
    text = request.query_params.get("email", "").strip()
    if not 0 < len(text) <= EMAIL_LENGTH or not is_fit(text):
        refuse("email", f"Send an address of at most {EMAIL_LENGTH} characters.")
    return text


def moment(request: Request, *names: str) -> datetime | None:
    """A time with its offset, under any of the names, or None if it is not given."""
    for name in names:
        if name in request.query_params:
            return _moment(name, request.query_params[name])
    return None


def digest(request: Request, name: str) -> str | None:
    """A SHA-256 in hexadecimal digits, or None if it is not given."""
    text = request.query_params.get(name)
    if text is not None and not _HASH.fullmatch(text):
        refuse(name, "Must be 64 hexadecimal digits.")
    return text


def as_id(text: str) -> UUID | None:
    """The id that a text is; None if it is none of ours. Clients give ids back as they got them."""
    return UUID(text) if _UUID.fullmatch(text) else None


def as_moment(text: str) -> datetime | None:
    """The time that a text is; None if it is none."""
    try:
        if _TIME.fullmatch(text):
            return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    return None


def _moment(name: str, text: str) -> datetime:
    # In a query an unescaped + arrives as a space, and in a time no space is allowed anyway.
    found = as_moment(text.replace(" ", "+"))
    return found or refuse(name, "Must be a time like 2026-01-31T12:00:00Z, with Z or an offset.")


def _bounds(low: int, high: int) -> str:
    if high == LARGEST:
        return "Must be a whole number." if low < 0 else f"Must be a whole number from {low}."
    return f"Must be a whole number from {low} to {high}."
