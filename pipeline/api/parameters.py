"""Parameters and bodies of requests: pages, queries, parsing, selected fields."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from hashlib import sha256
from typing import IO, Any, NoReturn, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import TextChoices
from django.http import UnreadablePostError
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework.exceptions import ErrorDetail, ParseError, ValidationError
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.request import Request

from applicants.addresses import EMAIL_LENGTH
from pipeline.api.openapi.schemas import Operation
from pipeline.api.problems import LengthRequired, PayloadTooLarge
from pipeline.models import METADATA_KEYS, METADATA_VALUE_LENGTH
from pipeline.selectors.pages import Page, decode_cursor, extend_cursor
from tasks import time_zones

# Strict parsing of JSON bodies, and of CSV bodies in chunks.


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
            raise ParseError(_("The body is not in UTF-8.")) from None
        except RecursionError:
            raise ParseError(_("The body is nested too deeply.")) from None
        except (ValueError, UnreadablePostError):
            raise ParseError(_("The body is not valid JSON.")) from None
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
        raise PayloadTooLarge(
            _("The body can have at most %(megabytes)s MB here.")
            % {"megabytes": f"{most_bytes / 1e6:.3g}"}
        )
    if "HTTP_TRANSFER_ENCODING" in request.META:
        raise LengthRequired


def is_parsable_text(text: str) -> bool:
    """Return whether a string can be stored and returned."""
    return not _UNFIT.search(text)


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Unfit(_("The body repeats a name within one object."))
    return found


def _parse_integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise _Unfit(_("The body holds a number with too many digits.")) from None


def _refuse_parsed_constant(name: str) -> NoReturn:
    raise _Unfit(_("The body holds %(name)s, which is not a JSON number.") % {"name": name})


def _check_parsed_strings(value: Any) -> None:
    if isinstance(value, str) and not is_parsable_text(value):
        raise _Unfit(_("The body holds a string with NUL or a lone surrogate."))
    if isinstance(value, dict):
        for name, item in value.items():
            _check_parsed_strings(name)
            _check_parsed_strings(item)
    elif isinstance(value, list):
        for item in value:
            _check_parsed_strings(item)


# The largest possible seq.
LARGEST = 2**63 - 1

LONGEST_SEARCH = 200

_WHOLE = re.compile(r"-?[0-9]{1,19}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_HASH = re.compile(r"[0-9a-fA-F]{64}")

Choice = TypeVar("Choice", bound=StrEnum | TextChoices)


def refuse_parameter(name: str, why: str | Promise) -> NoReturn:
    """Refuse a parameter. Raises ValidationError."""
    raise ValidationError({name: [ErrorDetail(str(why), "invalid")]})


def _too_long(most: int) -> str:
    return ngettext(
        "Must have at most %(most)s character, none of them NUL.",
        "Must have at most %(most)s characters, none of them NUL.",
        most,
    ) % {"most": most}


def integer(request: Request, name: str, *, low: int = -LARGEST, high: int = LARGEST) -> int | None:
    """Return a whole number within the bounds, or None if it is missing."""
    text = request.query_params.get(name)
    if text is None:
        return None
    number = int(text) if _WHOLE.fullmatch(text) else None
    if number is None or not low <= number <= high:
        why = _("Must be a whole number from %(low)s to %(high)s.")
        if high == LARGEST:
            why = _("Must be a whole number from %(low)s.")
            if low < 0:
                why = _("Must be a whole number.")
        refuse_parameter(name, why % {"low": low, "high": high})
    return number


def choice(request: Request, name: str, choices: type[Choice]) -> Choice | None:
    """Return one of the choices, or None if it is missing."""
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return choices(text)
    except ValueError:
        refuse_parameter(
            name,
            _("Must be one of %(codes)s.") % {"codes": ", ".join(each.value for each in choices)},
        )


def feed_start(request: Request) -> str:
    """Return where a feed without a cursor begins: `beginning` or `now`."""
    start = request.query_params.get("start", "beginning")
    if start not in ("beginning", "now"):
        refuse_parameter("start", _("Must be one of beginning, now."))
    return start


def search(request: Request) -> str:
    """Return the search text; empty if there is none."""
    text = request.query_params.get("search", "").strip()
    if len(text) > LONGEST_SEARCH or not is_parsable_text(text):
        refuse_parameter(
            "search",
            _too_long(LONGEST_SEARCH),
        )
    return text


def text(request: Request, name: str) -> str | None:
    """Return a text of limited length without blanks at its ends, or None if it is missing."""
    text = request.query_params.get(name)
    if text is not None and (len(text) > LONGEST_SEARCH or not is_parsable_text(text)):
        refuse_parameter(
            name,
            _too_long(LONGEST_SEARCH),
        )
    return None if text is None else text.strip()


def address(request: Request) -> str:
    """Return the email address in the query. Raises ValidationError if it is missing."""
    text = request.query_params.get("email", "").strip()
    if not 0 < len(text) <= EMAIL_LENGTH or not is_parsable_text(text):
        refuse_parameter(
            "email",
            ngettext(
                "Send an address of at most %(most)s character.",
                "Send an address of at most %(most)s characters.",
                EMAIL_LENGTH,
            )
            % {"most": EMAIL_LENGTH},
        )
    return text


def moment(request: Request, *names: str) -> datetime | None:
    """Return a time with an offset, under any of the names, or None if it is missing."""
    for name in names:
        if name in request.query_params:
            # An unescaped + in a query arrives as a space, which a time never contains.
            found = parse_moment(request.query_params[name].replace(" ", "+"))
            why = _("Must be a time like 2026-01-31T12:00:00Z, with Z or an offset.")
            return found or refuse_parameter(name, why)
    return None


def flag(request: Request, name: str) -> bool | None:
    """Return `true` or `false`, or None if it is missing."""
    text = request.query_params.get(name)
    if text not in (None, "true", "false"):
        refuse_parameter(name, _("Must be true or false."))
    return None if text is None else text == "true"


def metadata(request: Request) -> dict[str, str]:
    """Return the texts that are sent as `metadata[key]=text`; empty if there are none."""
    found = {
        key[9:-1]: str(text)
        for key, text in request.query_params.items()
        if key.startswith("metadata[") and key.endswith("]")
    }
    if len(found) > METADATA_KEYS:
        refuse_parameter(
            "metadata",
            ngettext(
                "Must have at most %(most)s key.", "Must have at most %(most)s keys.", METADATA_KEYS
            )
            % {"most": METADATA_KEYS},
        )
    for text in (*found, *found.values()):
        if len(text) > METADATA_VALUE_LENGTH or not is_parsable_text(text):
            why = _too_long(METADATA_VALUE_LENGTH)
            refuse_parameter("metadata", why)
    return found


def zone(request: Request) -> str:
    """Return the name of a time zone; UTC if it is missing."""
    name = request.query_params.get("zone", "UTC")
    if not time_zones.is_known(name):
        refuse_parameter("zone", _("Must be the name of a time zone, like Europe/Paris."))
    return name


def digest(request: Request, name: str) -> str | None:
    """Return a SHA-256 in hexadecimal, or None if it is missing."""
    text = request.query_params.get(name)
    if text is not None and not _HASH.fullmatch(text):
        refuse_parameter(name, _("Must be 64 hexadecimal digits."))
    return text


def parse_id(text: str) -> UUID | None:
    """Return the id in a text, or None if it does not have our form."""
    return UUID(text) if _UUID.fullmatch(text) else None


def parse_moment(text: str) -> datetime | None:
    """Parse a time, or return None if the text is not one."""
    try:
        if _TIME.fullmatch(text):
            return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    return None


# Pagination with cursors that name the row before the next page, not a number of rows to skip.


DEFAULT_LIMIT, MOST = 50, 200

# Parameters that change neither a list's rows nor their order, and those for its beginning, which
# a cursor replaces.
_FREE = frozenset("limit cursor fields expand after start after_seq seq as_of asOf".split())
_DIGEST_BYTES = 6

T = TypeVar("T")


def page_limit(request: Request) -> int:
    """Return the page size that the client requests."""
    return integer(request, "limit", low=1, high=MOST) or DEFAULT_LIMIT


def page_cursor_place(request: Request, *kinds: type) -> tuple[Any, ...] | None:
    """Return the values of the row after which a page starts, or None for the first page.

    The kinds are those of `decode_cursor`. A cursor without a digest works too: it is old, or
    belongs to the first page in an answer about the whole line. Raises ValidationError.
    """
    text = request.query_params.get("cursor")
    if text is None:
        return None
    if bound := decode_cursor(text, *kinds, str):
        if bound[-1] != _list_digest(request):
            refuse_parameter(
                "cursor",
                _(
                    "This cursor belongs to another list, or to other filters or another order."
                    " Send the parameters of the first page with it, or begin without a cursor."
                ),
            )
        return bound[:-1]
    place = decode_cursor(text, *kinds)
    return place or refuse_parameter("cursor", _("This cursor does not belong to this list."))


def page_cursor_seq(request: Request) -> int:
    """Return the seq after which a page starts: from the cursor, else `after_seq`, else 0."""
    given = integer(request, "after_seq", low=0) or 0
    place = page_cursor_place(request, int)
    return place[0] if place else given


def page_cursor_number(request: Request) -> int | None:
    """Return the number after which a page starts, or None for the first page."""
    place = page_cursor_place(request, int)
    return place[0] if place else None


def page_cursor_id(request: Request) -> UUID | None:
    """Return the id after which a page starts, or None for the first page."""
    place = page_cursor_place(request, UUID)
    return place[0] if place else None


def paginated(
    page: Page[T], shape: Callable[[T], Any], after: Callable[[T], str]
) -> dict[str, Any]:
    """Return a page as clients see it. `after` returns the cursor after a row."""
    return {
        "data": [shape(row) for row in page.rows],
        "next_cursor": after(page.rows[-1]) if page.more else None,
    }


def bind_page(request: Request, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a page whose cursor is valid only for this list: its path, filters and order."""
    cursor = payload["next_cursor"]
    if cursor is None:
        return payload
    return {**payload, "next_cursor": extend_cursor(cursor, _list_digest(request))}


def _list_digest(request: Request) -> str:
    """Return a short digest of a list's path and the parameters that choose its rows.

    It is not secret: it catches mistakes, and a cursor gives no access. Unknown parameters do not
    count; of a repeated parameter, only the last counts, as everywhere.
    """
    operation = request.parser_context["view"].operation
    known = {each.name for each in operation.parameters} - _FREE
    chosen = sorted(
        (name, value)
        for name, value in request.query_params.items()
        if name.partition("[")[0] in known
    )
    whole = f"{request.path}?{urlencode(chosen)}".encode()
    return urlsafe_b64encode(sha256(whole).digest()[:_DIGEST_BYTES]).decode()


def next_page_link(
    request: Request, next_cursor: str | None, *, instead_of: str = ""
) -> dict[str, str]:
    """Return the Link header to the next page: this request's address with another cursor.

    It is relative, so a client that follows it keeps its scheme and host and never sends a key in
    the clear. `instead_of`: an old name of the cursor, which the link leaves out.
    """
    if next_cursor is None:
        return {}
    query = request.query_params.copy()
    query.pop(instead_of, None)
    query["cursor"] = next_cursor
    return {"Link": f'<{request.path}?{query.urlencode()}>; rel="next"'}


# `?expand=` and `?fields=`: more or fewer fields in a response, each by name.


EXPAND, FIELDS = "expand", "fields"


def selected_names(request: Request, operation: Operation, parameter: str) -> frozenset[str]:
    """Return the names in a parameter, if the operation has it.

    They are separated by commas, or the parameter is repeated. Raises ValidationError for a name
    that the operation does not offer.
    """
    offered = next((each for each in operation.parameters if each.name == parameter), None)
    if offered is None or parameter not in request.query_params:
        return frozenset()
    texts = request.query_params.getlist(parameter)
    names = frozenset(name for text in texts for name in text.split(","))
    known: list[str] = offered.schema["items"]["enum"]
    if not names <= {*known}:
        refuse_parameter(
            parameter,
            _("Must be any of %(codes)s, separated by commas.") % {"codes": ", ".join(known)},
        )
    return names


def selected_payload(payload: Any, names: Collection[str]) -> Any:
    """Return a payload with only some fields of its object, or of each row of its list."""
    if isinstance(payload, Mapping) and {"data", "next_cursor"} <= payload.keys():
        return {**payload, "data": [selected_payload(row, names) for row in payload["data"]]}
    return {name: value for name, value in payload.items() if name in names}
