"""Strict parsing of JSON bodies, and of CSV bodies in chunks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import IO, Any, NoReturn

from django.http import UnreadablePostError
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.request import Request

from pipeline.api.errors import LengthRequired, PayloadTooLarge

MOST_BYTES = 1_000_000
PIECE_BYTES = 65_536

_UNFIT = re.compile("[\x00\ud800-\udfff]")


class _Unfit(ValueError):
    """Valid JSON that we refuse. The text is for the client."""


class StrictJSONParser(JSONParser):
    """Parser of JSON by RFC 8259 that refuses what we could not store.

    It refuses repeated names, NaN, NUL, lone surrogates and numbers with too many digits.
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the value of a body. Raises ParseError, without quoting the body."""
        try:
            value = json.loads(
                stream.read().decode("utf-8"),
                object_pairs_hook=_parse_object,
                parse_int=_parse_integer,
                parse_constant=_refuse_parsed_constant,
            )
            _check_parsed_strings(value)
        except _Unfit as error:
            raise ParseError(str(error)) from None
        except UnicodeDecodeError:
            raise ParseError("The body is not in UTF-8.") from None
        except RecursionError:
            raise ParseError("The body is nested too deeply.") from None
        except (ValueError, UnreadablePostError):
            raise ParseError("The body is not valid JSON.") from None
        return value


class CSVParser(BaseParser):
    """Parser that returns a CSV body in chunks and does not look inside."""

    media_type = "text/csv"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the chunks of a body."""
        return iter(partial(stream.read, PIECE_BYTES), b"")


def refuse_unparsable_body(request: Request, most_bytes: int = MOST_BYTES) -> None:
    """Refuse a body by its headers alone. Raises PayloadTooLarge, LengthRequired."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal():
        raise LengthRequired
    if int(length) > most_bytes:
        raise PayloadTooLarge(f"The body can have at most {most_bytes / 1e6:.3g} MB here.")
    if "HTTP_TRANSFER_ENCODING" in request.META:
        raise LengthRequired


def is_parsable_text(text: str) -> bool:
    """Return whether a string can be stored and returned."""
    return not _UNFIT.search(text)


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Unfit("The body repeats a name within one object.")
    return found


def _parse_integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise _Unfit("The body holds a number with too many digits.") from None


def _refuse_parsed_constant(name: str) -> NoReturn:
    raise _Unfit(f"The body holds {name}, which is not a JSON number.")


def _check_parsed_strings(value: Any) -> None:
    if isinstance(value, str) and not is_parsable_text(value):
        raise _Unfit("The body holds a string with NUL or a lone surrogate.")
    if isinstance(value, dict):
        for name, item in value.items():
            _check_parsed_strings(name)
            _check_parsed_strings(item)
    elif isinstance(value, list):
        for item in value:
            _check_parsed_strings(item)
