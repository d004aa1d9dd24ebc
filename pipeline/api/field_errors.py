"""Refused fields of a request, each with a JSON pointer and the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

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
        yield {"pointer": pointer, "code": code, "detail": str(detail)}
