"""Query parameters: each is read and checked, or the request is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import NoReturn, TypeVar
from uuid import UUID

from django.db.models import TextChoices
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request

from applicants.addresses import EMAIL_LENGTH
from pipeline.api.parsing import is_parsable_text
from pipeline.models import METADATA_KEYS, METADATA_VALUE_LENGTH
from tasks.time_zones import is_known_time_zone

# The largest possible seq.
LARGEST = 2**63 - 1

LONGEST_SEARCH = 200

_WHOLE = re.compile(r"-?[0-9]{1,19}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_HASH = re.compile(r"[0-9a-fA-F]{64}")

Choice = TypeVar("Choice", bound=StrEnum | TextChoices)


def refuse_parameter(name: str, why: str) -> NoReturn:
    """Refuse a parameter. Raises ValidationError."""
    raise ValidationError({name: [ErrorDetail(why, "invalid")]})


def integer_parameter(
    request: Request, name: str, *, low: int = -LARGEST, high: int = LARGEST
) -> int | None:
    """Return a whole number within the bounds, or None if it is missing."""
    text = request.query_params.get(name)
    if text is None:
        return None
    number = int(text) if _WHOLE.fullmatch(text) else None
    if number is None or not low <= number <= high:
        least = "" if low < 0 and high == LARGEST else f" from {low}"
        most = "" if high == LARGEST else f" to {high}"
        refuse_parameter(name, f"Must be a whole number{least}{most}.")
    return number


def choice_parameter(request: Request, name: str, choices: type[Choice]) -> Choice | None:
    """Return one of the choices, or None if it is missing."""
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return choices(text)
    except ValueError:
        refuse_parameter(name, f"Must be one of {', '.join(each.value for each in choices)}.")


def feed_start_parameter(request: Request) -> str:
    """Return where a feed without a cursor begins: `beginning` or `now`."""
    start = request.query_params.get("start", "beginning")
    if start not in ("beginning", "now"):
        refuse_parameter("start", "Must be one of beginning, now.")
    return start


def search_parameter(request: Request) -> str:
    """Return the search text; empty if there is none."""
    text = request.query_params.get("search", "").strip()
    if len(text) > LONGEST_SEARCH or not is_parsable_text(text):
        refuse_parameter(
            "search", f"Must have at most {LONGEST_SEARCH} characters, none of them NUL."
        )
    return text


def text_parameter(request: Request, name: str) -> str | None:
    """Return a text of limited length without blanks at its ends, or None if it is missing."""
    text = request.query_params.get(name)
    if text is not None and (len(text) > LONGEST_SEARCH or not is_parsable_text(text)):
        refuse_parameter(name, f"Must have at most {LONGEST_SEARCH} characters, none of them NUL.")
    return None if text is None else text.strip()


def address_parameter(request: Request) -> str:
    """Return the email address in the query. Raises ValidationError if it is missing."""
    text = request.query_params.get("email", "").strip()
    if not 0 < len(text) <= EMAIL_LENGTH or not is_parsable_text(text):
        refuse_parameter("email", f"Send an address of at most {EMAIL_LENGTH} characters.")
    return text


def moment_parameter(request: Request, *names: str) -> datetime | None:
    """Return a time with an offset, under any of the names, or None if it is missing."""
    for name in names:
        if name in request.query_params:
            # An unescaped + in a query arrives as a space, which a time never contains.
            found = parameter_as_moment(request.query_params[name].replace(" ", "+"))
            why = "Must be a time like 2026-01-31T12:00:00Z, with Z or an offset."
            return found or refuse_parameter(name, why)
    return None


def flag_parameter(request: Request, name: str) -> bool | None:
    """Return `true` or `false`, or None if it is missing."""
    text = request.query_params.get(name)
    if text not in (None, "true", "false"):
        refuse_parameter(name, "Must be true or false.")
    return None if text is None else text == "true"


def metadata_parameter(request: Request) -> dict[str, str]:
    """Return the texts that are sent as `metadata[key]=text`; empty if there are none."""
    found = {
        key[9:-1]: str(text)
        for key, text in request.query_params.items()
        if key.startswith("metadata[") and key.endswith("]")
    }
    if len(found) > METADATA_KEYS:
        refuse_parameter("metadata", f"Must have at most {METADATA_KEYS} keys.")
    for text in (*found, *found.values()):
        if len(text) > METADATA_VALUE_LENGTH or not is_parsable_text(text):
            why = f"Must have at most {METADATA_VALUE_LENGTH} characters, none of them NUL."
            refuse_parameter("metadata", why)
    return found


def zone_parameter(request: Request) -> str:
    """Return the name of a time zone; UTC if it is missing."""
    name = request.query_params.get("zone", "UTC")
    if not is_known_time_zone(name):
        refuse_parameter("zone", "Must be the name of a time zone, like Europe/Paris.")
    return name


def digest_parameter(request: Request, name: str) -> str | None:
    """Return a SHA-256 in hexadecimal, or None if it is missing."""
    text = request.query_params.get(name)
    if text is not None and not _HASH.fullmatch(text):
        refuse_parameter(name, "Must be 64 hexadecimal digits.")
    return text


def parameter_as_id(text: str) -> UUID | None:
    """Return the id in a text, or None if it does not have our form."""
    return UUID(text) if _UUID.fullmatch(text) else None


def parameter_as_moment(text: str) -> datetime | None:
    """Parse a time, or return None if the text is not one."""
    try:
        if _TIME.fullmatch(text):
            return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    return None
