"""Refused fields of a request, each with a JSON pointer and the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

# Every code that a refused field or parameter can have, and its meaning.
FIELD_CODES = {
    "BLANK": "The text is empty.",
    "EMPTY": "The list is empty.",
    "INVALID": "The value has the wrong type or form, or does not fit the others.",
    "INVALID_CHOICE": "The value is not one of the fixed choices.",
    "MAX_LENGTH": "The text or list is too long, or the object has too many entries.",
    "MAX_STRING_LENGTH": "The number has too many digits.",
    "MAX_VALUE": "The number is too large.",
    "MIN_LENGTH": "The text or list is too short.",
    "MIN_VALUE": "The number is too small.",
    "NOT_A_LIST": "The value is not a list.",
    "NULL": "The field cannot be null.",
    "REQUIRED": "The field is missing.",
    "UNKNOWN": "There is no such field.",
}
# Codes of the framework for which ours is INVALID.
_OF_FRAMEWORK = {
    "DATE",
    "MAKE_AWARE",
    "NULL_CHARACTERS_NOT_ALLOWED",
    "OVERFLOW",
    "PARSE_ERROR",
    "SURROGATE_CHARACTERS_NOT_ALLOWED",
}

MOST_ERRORS = 50
LONGEST_NAME = 100


def field_errors(detail: Any) -> list[dict[str, str]]:
    """Return at most 50 refused fields of a validation error, each with its JSON pointer."""
    return list(islice(_flatten_field_errors("", detail), MOST_ERRORS))


def _flatten_field_errors(pointer: str, detail: Any) -> Iterator[dict[str, str]]:
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            whole = name == "non_field_errors"
            escaped = str(name)[:LONGEST_NAME].replace("~", "~0").replace("/", "~1")  # RFC 6901
            yield from _flatten_field_errors(pointer if whole else f"{pointer}/{escaped}", inner)
    elif isinstance(detail, list):
        for number, inner in enumerate(detail):
            inside = isinstance(inner, Mapping)  # the index of an object in a list
            yield from _flatten_field_errors(f"{pointer}/{number}" if inside else pointer, inner)
    else:
        code = str(getattr(detail, "code", "invalid")).upper()
        code = "INVALID" if code in _OF_FRAMEWORK else code
        yield {"pointer": pointer, "code": code, "detail": str(detail)}
