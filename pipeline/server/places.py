"""Places of those who are refused because the site is full: signed tokens of when they came.

A token holds the moment of arrival and its expiry. Its signature also covers the job, the
credential and all that was sent, so it is good for the same application alone. Making and checking
one needs no database.
"""

from __future__ import annotations

import hmac
import os
import struct
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cache, cached_property
from hashlib import sha256
from typing import IO, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http.multipartparser import MultiPartParser, MultiPartParserError

from pipeline.web.asgi_types import Message, find_header

# The header of the API, on a refusal and on the next attempt, and the last field of a page's form.
HEADER, FIELD = "Place-Token", "place_in_line"
# How long a token is valid. Each further refusal gives another one.
LIFE_SECONDS = 180
# A longer application gets no token: it would have to be kept until it can be refused. Only the
# form of a page can be longer, by its files: it is on disk, and of it only the fields are read.
MOST_BYTES = 65_536

_CONTENT = struct.Struct(">QI")  # arrival in nanoseconds, expiry in seconds, both since 1970
_MAC_BYTES = 18
_LENGTH = (_CONTENT.size + _MAC_BYTES) // 3 * 4  # in base64, without padding
_PURPOSE = b"pipeline.server.places"
_TOKEN = f"&{FIELD}=".encode()
_TOKEN_PART = f'name="{FIELD}"'.encode()
_FORM = b"application/x-www-form-urlencoded"
_PARTS = b"multipart/form-data"
_MOST_FIELDS = 200


class ChosenFile(NamedTuple):
    """File that a form was sent with: the name of its field, and its own."""

    field: str
    name: str


class Attempt:
    """A request that joins a job's line, as it was sent: what its token is bound to.

    Of a form in parts, that is its fields: a page cannot send a file again, so its person chooses
    the file again.
    """

    def __init__(self, scope: Message, job_id: UUID, credential: bytes, body: IO[bytes]) -> None:
        self._scope = scope
        self._body = body
        content = body.read(MOST_BYTES)
        body.seek(0)
        token = find_header(scope, HEADER.lower().encode())
        self._is_form = not scope["path"].startswith("/api/")
        if self._is_form:
            content, _, token = (
                content.rpartition(_TOKEN) if _TOKEN in content else (content, b"", b"")
            )
        self._content = content
        self._sender = job_id.bytes + sha256(credential).digest()
        if self._is_multipart and _TOKEN_PART in content:
            token = self._parts.token
            self.id = self._next_id()
        else:
            self.id = self._id_with(content)
        self._token = token

    def place(self) -> int | None:
        """Return when the first attempt came, in nanoseconds since 1970, by a valid token."""
        return _read(self._token, self.id) if len(self._token) == _LENGTH else None

    def issue(self, came_at: int) -> str:
        """Return a token of an arrival for the same attempt."""
        content = _CONTENT.pack(came_at, int(time.time()) + LIFE_SECONDS)
        mac = _mac(_key(settings.SECRET_KEY), content, self._next_id())
        return urlsafe_b64encode(content + mac).decode()

    def read_parts(self) -> None:
        """Read a long form. Anything else is read at once when it is needed."""
        if self._is_multipart:
            _ = self._parts

    def kept_fields(self) -> list[tuple[str, str]] | None:
        """Return a page's form, to send it again; None if it is none, or perhaps of another site.

        A browser sends the same fields as the same bytes again.
        """
        scope = self._scope
        own = b"%b://%b" % (scope["scheme"].encode(), find_header(scope, b"host"))
        if not self._is_form or find_header(scope, b"origin") != own:
            return None
        if self._is_multipart:
            return self._parts.fields
        if not find_header(scope, b"content-type").startswith(_FORM):
            return None
        text = self._content.decode("utf-8", "replace")
        try:
            return parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            return None

    def chosen_files(self) -> list[ChosenFile]:
        """Return the files of a form, which its person has to choose again."""
        return self._parts.files if self._is_multipart else []

    def _id_with(self, content: bytes) -> bytes:
        return self._sender + sha256(content).digest()

    def _next_id(self) -> bytes:
        """Return the id of the next attempt: a waiting page sends fields, perhaps not in parts."""
        if self._is_multipart and (fields := self._parts.fields) is not None:
            return self._id_with(_encode_as_browser(fields))
        return self.id

    @property
    def _is_multipart(self) -> bool:
        return self._is_form and is_multipart(self._scope)

    @cached_property
    def _parts(self) -> _Parts:
        about = {
            "CONTENT_TYPE": find_header(self._scope, b"content-type").decode("latin1"),
            "CONTENT_LENGTH": self._body.seek(0, os.SEEK_END),
        }
        self._body.seek(0)
        names = _FileNames()
        try:
            body: Any = self._body
            given, _ = MultiPartParser(about, body, [names]).parse()
        except (MultiPartParserError, SuspiciousOperation):
            return _Parts(None, [], b"")
        finally:
            self._body.seek(0)
        fields = [(name, each) for name, all_ in given.lists() for each in all_]
        tokens = [value.encode() for name, value in fields if name == FIELD]
        fields = [each for each in fields if each[0] != FIELD]
        if len(fields) > _MOST_FIELDS or len(names.found) > _MOST_FIELDS:
            return _Parts(None, [], b"")
        return _Parts(fields, names.found, tokens[0] if len(tokens) == 1 else b"")


class _Parts(NamedTuple):
    """Fields of a form in parts, None if there are too many; its files; and its token."""

    fields: list[tuple[str, str]] | None
    files: list[ChosenFile]
    token: bytes


class _FileNames(FileUploadHandler):
    """Names of a form's files, whose bytes are passed over."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[ChosenFile] = []

    def new_file(self, field_name: str, file_name: str, *_: Any, **__: Any) -> None:
        self.found.append(ChosenFile(field_name, file_name))
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Keep nothing."""

    def file_complete(self, file_size: int) -> None:
        """Keep nothing."""


def is_multipart(scope: Message) -> bool:
    """Tell whether a request is a form in parts, as all with a field for files are."""
    return find_header(scope, b"content-type").startswith(_PARTS)


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
