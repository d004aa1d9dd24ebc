"""Reading JSON bodies, strictly."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from django.http import UnreadablePostError
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from pipeline.api.errors import LengthRequired, PayloadTooLarge

MOST_BYTES = 1_000_000

_UNFIT = re.compile("[\x00\ud800-\udfff]")


class StrictJSONParser(JSONParser):
    """JSON as RFC 8259 means it, and nothing that we could not store.

    No repeated names, no NaN, no NUL or lone surrogates, no numbers beyond all bounds.
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The value of a body. Raises ParseError, without quoting the body."""
        try:
            value = json.loads(
                stream.read().decode("utf-8"),
                object_pairs_hook=_object,
                parse_constant=_refuse_constant,
            )
            _check_strings(value)
        except (ValueError, RecursionError, UnreadablePostError):
            raise ParseError("The body is not valid JSON.") from None
        return value


def refuse_unfit_body(request: Request) -> None:
    """Refuse a body by its headers alone. Raises PayloadTooLarge, LengthRequired."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal():
        raise LengthRequired
    if int(length) > MOST_BYTES:
        raise PayloadTooLarge
    if "HTTP_TRANSFER_ENCODING" in request.META:
        raise LengthRequired


def is_fit(text: str) -> bool:
    """Whether a string can be stored and sent again."""
    return not _UNFIT.search(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is repeated")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _check_strings(value: Any) -> None:
    if isinstance(value, str) and not is_fit(value):
        raise ValueError("a string holds what cannot be stored")
    if isinstance(value, dict):
        for name, item in value.items():
            _check_strings(name)
            _check_strings(item)
    elif isinstance(value, list):
        for item in value:
            _check_strings(item)
