"""Places of those who are refused because the site is full: signed tokens of when they came.

A token holds the moment of arrival and its expiry. Its signature also covers the job, the
credential and all that was sent, so it is good for the same application alone. Making and checking
one needs no database.
"""

from __future__ import annotations

import hmac
import struct
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cache, cached_property
from hashlib import sha256
from io import BytesIO
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.core.files.uploadhandler import FileUploadHandler, MemoryFileUploadHandler
from django.http.multipartparser import MultiPartParser, MultiPartParserError

from pipeline.web.asgi_types import Message, find_header

# The header of the API, on a refusal and on the next attempt, and the last field of a page's form.
HEADER, FIELD = "Place-Token", "place_in_line"
# How long a token is valid. Each further refusal gives another one.
LIFE_SECONDS = 180
# A longer application gets no token: it would have to be kept until it can be refused.
MOST_BYTES = 65_536

_CONTENT = struct.Struct(">QI")  # arrival in nanoseconds, expiry in seconds, both since 1970
_MAC_BYTES = 18
_LENGTH = (_CONTENT.size + _MAC_BYTES) // 3 * 4  # in base64, without padding
_PURPOSE = b"pipeline.server.places"
_TOKEN = f"&{FIELD}=".encode()
_FORM = b"application/x-www-form-urlencoded"
_PARTS = b"multipart/form-data"
_MOST_FIELDS = 200


class Attempt:
    """A request that joins a job's line, as it was sent: what its token is bound to."""

    def __init__(self, scope: Message, job_id: UUID, credential: bytes, content: bytes) -> None:
        self._scope = scope
        token = find_header(scope, HEADER.lower().encode())
        if not scope["path"].startswith("/api/"):
            content, _, token = (
                content.rpartition(_TOKEN) if _TOKEN in content else (content, b"", b"")
            )
        self._content = content
        self._token = token
        self._sender = job_id.bytes + sha256(credential).digest()
        self.id = self._id_with(content)

    def place(self) -> int | None:
        """Return when the first attempt came, in nanoseconds since 1970, by a valid token."""
        return _read(self._token, self.id) if len(self._token) == _LENGTH else None

    def issue(self, came_at: int) -> str:
        """Return a token of an arrival for the same attempt."""
        content = _CONTENT.pack(came_at, int(time.time()) + LIFE_SECONDS)
        mac = _mac(_key(settings.SECRET_KEY), content, self._next_id())
        return urlsafe_b64encode(content + mac).decode()

    def kept_fields(self) -> list[tuple[str, str]] | None:
        """Return a page's form, to send it again; None if it is none, or perhaps of another site.

        A browser sends the same fields as the same bytes again. A form with a file is not kept: a
        page cannot send a file again. With JavaScript, forms hold only the ids of uploaded files.
        """
        scope = self._scope
        own = b"%b://%b" % (scope["scheme"].encode(), find_header(scope, b"host"))
        if scope["path"].startswith("/api/") or find_header(scope, b"origin") != own:
            return None
        if self._is_multipart:
            return self._fields_of_parts
        if not find_header(scope, b"content-type").startswith(_FORM):
            return None
        text = self._content.decode("utf-8", "replace")
        try:
            return parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            return None

    def _id_with(self, content: bytes) -> bytes:
        return self._sender + sha256(content).digest()

    def _next_id(self) -> bytes:
        """Return the id of the next attempt: a waiting page sends fields, not parts."""
        if self._is_multipart and (fields := self._fields_of_parts) is not None:
            return self._id_with(_encode_as_browser(fields))
        return self.id

    @property
    def _is_multipart(self) -> bool:
        return find_header(self._scope, b"content-type").startswith(_PARTS)

    @cached_property
    def _fields_of_parts(self) -> list[tuple[str, str]] | None:
        """Return the fields of a form in parts; None if it has a file or too many fields."""
        about = {
            "CONTENT_TYPE": find_header(self._scope, b"content-type").decode("latin1"),
            "CONTENT_LENGTH": len(self._content),
        }
        if self._content.count(b"name=") > _MOST_FIELDS:
            return None
        try:
            handlers: list[FileUploadHandler] = [MemoryFileUploadHandler()]
            fields, files = MultiPartParser(about, BytesIO(self._content), handlers).parse()
        except (MultiPartParserError, SuspiciousOperation):
            return None
        return None if files else [(name, each) for name, all_ in fields.lists() for each in all_]


def _encode_as_browser(fields: list[tuple[str, str]]) -> bytes:
    """Return fields as a browser encodes them (URL Standard, 5.2)."""
    return urlencode(fields, safe="*").replace("~", "%7E").encode()


def _read(token: bytes, bound_to: bytes) -> int | None:
    try:
        whole = urlsafe_b64decode(token)
    except ValueError:
        return None
    content, mac = whole[: _CONTENT.size], whole[_CONTENT.size :]
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    if not any(hmac.compare_digest(mac, _mac(_key(each), content, bound_to)) for each in keys):
        return None
    came_at, expires_at = _CONTENT.unpack(content)
    return int(came_at) if time.time() < expires_at else None


def _mac(key: bytes, content: bytes, bound_to: bytes) -> bytes:
    return hmac.digest(key, content + bound_to, "sha256")[:_MAC_BYTES]


@cache
def _key(secret_key: str) -> bytes:
    return hmac.digest(secret_key.encode(), _PURPOSE, "sha256")
