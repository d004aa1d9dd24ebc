"""Responses that the event loop sends itself, so that slow readers hold no thread.

These are the liveness check, static files, and the OpenAPI document with its page, both of which
Django produces once and the process remembers.
"""

from __future__ import annotations

import asyncio
import io
from typing import IO, Any

from django.conf import settings
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]

from pipeline.server import refusals
from pipeline.web.asgi_types import Message, Receive, Send, await_disconnect, find_header
from pipeline.web.middleware import sane_request_id, transport_security
from pipeline.web.requests import count_loop_answer

LIVE = "/health/live"
ALIVE = b'{"status": "ok"}'
PIECE_BYTES = 65_536

_NEVER = "max-age=0, no-cache, no-store, must-revalidate, private"
_METHODS = ("GET", "HEAD")
# Headers that belong to one request or follow from the body.
_OF_ONE_REQUEST = (b"x-request-id", b"connection", b"content-length")


async def send_alive(scope: Message, send: Send) -> None:
    """Answer 200 as long as the process runs."""
    headers = {
        "Content-Type": "application/json",
        "Cache-Control": _NEVER,
        "X-Content-Type-Options": "nosniff",
        "X-Request-ID": sane_request_id(find_header(scope, b"x-request-id").decode("latin1")),
    }
    count_loop_answer(scope["method"], LIVE, 200)
    await refusals.answer(scope, send, 200, headers, ALIVE)


class StaticFileAnswers:
    """Static files, from whitenoise's index of them."""

    def __init__(self) -> None:
        self._index = WhiteNoiseMiddleware(None, settings)
        self.prefix: str = self._index.static_prefix
        self._always = [
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"same-origin"),
        ]
        if policy := transport_security():
            self._always.append((b"strict-transport-security", policy.encode()))

    def find_static_file(self, path: str) -> Any:
        """Return the file at a path, or None."""
        if self._index.autorefresh:
            return self._index.find_file(path)
        return self._index.files.get(path)

    async def send_file(self, file: Any, scope: Message, receive: Receive, send: Send) -> None:
        """Respond with a file, a part of it, or 304."""
        said = {
            f"HTTP_{name.decode('latin1').upper().replace('-', '_')}": value.decode("latin1")
            for name, value in scope["headers"]
        }
        response = file.get_response(scope["method"], said)
        count_loop_answer(scope["method"], self.prefix, int(response.status))
        headers = [(k.lower().encode(), v.encode("latin1")) for k, v in response.headers]
        start = {"type": "http.response.start", "status": int(response.status)}
        await send(start | {"headers": [*headers, *self._always]})
        if response.file is None:
            await send({"type": "http.response.body", "body": b""})
            return
        with response.file as content:
            await _send_content(content, receive, send)


async def _send_content(content: IO[bytes], receive: Receive, send: Send) -> None:
    """Send a file piece by piece, as long as the client reads it."""
    gone = asyncio.ensure_future(await_disconnect(receive))
    try:
        while (piece := content.read(PIECE_BYTES)) and not gone.done():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()


class RememberedAnswers:
    """Cache of Django's responses that are the same for everyone until the next release."""

    PATHS = frozenset({"/api/v1/openapi.json", "/api/v1/docs/"})

    def __init__(self) -> None:
        self._kept: dict[str, tuple[list[tuple[bytes, bytes]], bytes]] = {}

    def can_answer(self, scope: Message) -> bool:
        """Return whether a request can be answered from memory."""
        kinds = (b"*/*", b"json" if scope["path"].endswith("json") else b"html")
        return (
            scope["path"] in self._kept
            and scope["method"] in _METHODS
            and not scope["query_string"]
            and any(word in find_header(scope, b"accept") for word in kinds)
        )

    async def answer(self, scope: Message, receive: Receive, send: Send) -> None:
        """Respond from memory, with 304 if the client already has it."""
        headers, body = self._kept[scope["path"]]
        name = sane_request_id(find_header(scope, b"x-request-id").decode("latin1"))
        tag = dict(headers).get(b"etag")
        named = find_header(scope, b"if-none-match").split(b",")
        seen = [each.strip().removeprefix(b"W/") for each in named]
        status = 304 if tag is not None and (tag in seen or seen == [b"*"]) else 200
        said = [*headers, (b"x-request-id", name.encode())]
        if status == 304:
            said = [(k, v) for k, v in said if k not in (b"content-length", b"content-type")]
        count_loop_answer(scope["method"], scope["path"], status)
        await send({"type": "http.response.start", "status": status, "headers": said})
        is_empty = status == 304 or scope["method"] == "HEAD"
        await _send_content(io.BytesIO(b"" if is_empty else body), receive, send)

    def remembering_answers(self, scope: Message, send: Send) -> Send:
        """Return a `send` that also remembers the response, if it is one to remember."""
        plain = scope["method"] == "GET" and not scope["query_string"]
        if scope["path"] not in self.PATHS or not plain:
            return send
        start: Message = {}
        pieces: list[bytes] = []

        async def remember_fixed_answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                pieces.append(message.get("body", b""))
                if not message.get("more_body") and start["status"] == 200:
                    body = b"".join(pieces)
                    kept = [each for each in start["headers"] if each[0] not in _OF_ONE_REQUEST]
                    if all(name != b"set-cookie" for name, _ in kept):
                        kept.append((b"content-length", str(len(body)).encode()))
                        self._kept[scope["path"]] = (kept, body)
            await send(message)

        return remember_fixed_answer
