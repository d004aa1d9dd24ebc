"""Forms of requests that HTTP allows, but which a proxy could understand in another way.

h11 has already found where the request ends. These are refused by their head, before their body.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from pipeline.api.problem_types import MALFORMED_REQUEST
from pipeline.server.clients import Application
from pipeline.server.refusals import LENGTH_REQUIRED, refuse
from pipeline.web.asgi_types import Message, Receive, Send, find_header

_ABSOLUTE = re.compile(rb"https?://([^/@]+)(/.*)?", re.IGNORECASE)
_VERSIONS = ("1.0", "1.1")


def only_plain(application: Application) -> Application:
    """Return an application that gets only requests that have one meaning."""

    async def refuse_or_answer(scope: Message, receive: Receive, send: Send) -> None:
        if find_header(scope, b"transfer-encoding"):
            if scope["http_version"] == "1.1" and not find_header(scope, b"content-length"):
                return await refuse(scope, send, LENGTH_REQUIRED, "Send the body's Content-Length.")
            why = "Send either Content-Length or, with HTTP/1.1, Transfer-Encoding."
            return await refuse(scope, send, MALFORMED_REQUEST, why)
        if scope["http_version"] not in _VERSIONS:
            return await refuse(scope, send, MALFORMED_REQUEST, "Send HTTP/1.1 or HTTP/1.0.")
        scope = _strip_authority(scope)
        if scope["method"] == "CONNECT" or not scope["raw_path"].startswith((b"/", b"*")):
            return await refuse(scope, send, MALFORMED_REQUEST, "Ask for a path of this site.")
        return await application(scope, receive, send)

    return refuse_or_answer


def _strip_authority(scope: Message) -> Message:
    """Return a request for `http://host/path` as one for `/path` at that host (RFC 9112, 3.2.2)."""
    found = _ABSOLUTE.fullmatch(scope["raw_path"])
    if found is None:
        return scope
    host, path = found[1], found[2] or b"/"
    headers = [each for each in scope["headers"] if each[0] != b"host"]
    return {
        **scope,
        "raw_path": path,
        "path": unquote(path.decode("ascii")),
        "headers": [*headers, (b"host", host)],
    }
