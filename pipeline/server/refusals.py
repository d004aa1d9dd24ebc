"""Refusals that the event loop sends itself, without a thread or the database."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from csp.utils import build_policy
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, override

from pipeline.api import problem_types, problems
from pipeline.api.problem_type import ProblemType
from pipeline.api.problem_types import MALFORMED_REQUEST, UNAVAILABLE
from pipeline.api.rendering import render_json
from pipeline.server.clients import Application
from pipeline.server.places import ChosenFile
from pipeline.web.addresses import PROGRAMS
from pipeline.web.asgi_types import Message, Receive, Send, find_header
from pipeline.web.languages import choose_by_headers
from pipeline.web.middleware import sane_request_id, transport_security
from pipeline.web.refusal_log import refusal_log
from pipeline.web.requests import count_loop_answer
from pipeline.wording.language import list_of, number

TOO_MANY_AT_ONCE = gettext_lazy(
    "You have too many requests running at once. Wait for some of them to finish."
)
TOO_MANY_BODIES = gettext_lazy(
    "Too many large bodies are being received right now. Try again in a moment."
)
TOO_MANY_PAGES = gettext_lazy("You have opened too many pages. Wait a moment, or sign in.")
OVERLOADED = gettext_lazy("Too many requests are waiting right now. Try again in a moment.")
NO_LENGTH = gettext_lazy("Send the body's Content-Length.")
TWO_LENGTHS = gettext_lazy("Send either Content-Length or, with HTTP/1.1, Transfer-Encoding.")
OTHER_VERSION = gettext_lazy("Send HTTP/1.1 or HTTP/1.0.")
NO_PATH = gettext_lazy("Ask for a path of this site.")
# The same code as a body that cannot be read: the kinds of problems have one each.
LENGTH_REQUIRED = replace(problem_types.MALFORMED_REQUEST, status=411)
# When a client may try again, if the kind of refusal does not say so itself.
RETRY_SECONDS = 1
_GAP = "~gap~"
_FILE_INPUT = '<label class="field">{} <input type="file" name="{}" required></label>'
_FILES_INPUT = '<label class="field">{} <input type="file" name="{}" required multiple></label>'


async def refuse(
    scope: Message,
    send: Send,
    kind: ProblemType,
    why: str | Promise,
    caller: str = "anonymous",
    *,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Refuse a request, with a problem for API clients, else with a page."""
    name = sane_request_id(find_header(scope, b"x-request-id").decode("latin1"))
    language = choose_by_headers(scope)
    if scope["path"].startswith(PROGRAMS):
        with override(language):
            told = problems.build_body(kind, cast("Any", SimpleNamespace(request_id=name)))
            told |= {"detail": str(why), "error": {"code": kind.code, "message": str(why)}}
            media_type, body = problems.MEDIA_TYPE, render_json(told)
    else:
        media_type, body = "text/html; charset=utf-8", _page(kind, language)
    said = {"Content-Type": media_type, "X-Request-ID": name, "Content-Language": language}
    if kind.status in (429, 503):
        said["Retry-After"] = str(kind.retry_after_seconds or RETRY_SECONDS)
    await _end_with(scope, send, kind.status, said | dict(headers or {}), body, caller)


class WaitingPage(NamedTuple):
    """Page that keeps a form which the site is too full to take, and sends it again."""

    fields: Sequence[tuple[str, str]]
    files: Sequence[ChosenFile]  # to be chosen again
    ahead: int  # about how many people came before
    seconds: int  # until it is sent again


async def send_waiting_page(scope: Message, send: Send, page: WaitingPage, caller: str) -> None:
    """Refuse a form because the site is full, and keep it."""
    language = choose_by_headers(scope)
    fields = format_html_join("", '<input type="hidden" name="{}" value="{}">', page.fields)
    with override(language):
        ahead = _say_ahead(page.ahead)
        if page.files:
            fields += _file_inputs(page.files)
    before, between, after, end = _waiting_page(has_files=bool(page.files), language=language)
    text = f"{before}{escape(ahead)}{between}{page.seconds}{after}{fields}{end}"
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Language": language,
        "Content-Security-Policy": build_policy(),
        "X-Request-ID": sane_request_id(find_header(scope, b"x-request-id").decode("latin1")),
        "Retry-After": str(page.seconds),
    }
    await _end_with(scope, send, UNAVAILABLE.status, headers, text.encode(), caller)


def _say_ahead(ahead: int) -> str:
    if not ahead:
        return _("Nobody is ahead of you any more.")
    words = ngettext(
        "About %(count)s person is ahead of you.", "About %(count)s people are ahead of you.", ahead
    )
    return words % {"count": number(ahead)}


def _file_inputs(files: Sequence[ChosenFile]) -> SafeString:
    """Return an input for each field that had files, named by them."""
    names: dict[str, list[str]] = {}
    for file in files:
        names.setdefault(file.field, []).append(file.name)
    label = _("Choose again: %(names)s")
    rows = [
        format_html(
            _FILES_INPUT if len(each) > 1 else _FILE_INPUT,
            label % {"names": list_of(each)},
            field,
        )
        for field, each in names.items()
    ]
    return format_html_join("", "{}", ((row,) for row in rows))


async def _end_with(
    scope: Message, send: Send, status: int, headers: dict[str, str], body: bytes, caller: str
) -> None:
    """Send a refusal that ends the connection, and count it."""
    refusal_log.note((scope.get("client") or ("",))[0], status, caller)
    count_loop_answer(scope["method"], "refused", status)
    general = {
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Connection": "close",
    }
    await answer(scope, send, status, headers | general, body)


async def answer(
    scope: Message, send: Send, status: int, headers: dict[str, str], body: bytes
) -> None:
    """Send a complete response."""
    said = headers | {"Content-Length": str(len(body))}
    if policy := transport_security():
        said["Strict-Transport-Security"] = policy
    pairs = [(name.lower().encode(), value.encode("latin1")) for name, value in said.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


@cache
def _page(kind: ProblemType, language: str) -> bytes:
    with override(language):
        return render_to_string("errors/plain.html", {"kind": kind, "request_id": ""}).encode()


@cache
def _waiting_page(*, has_files: bool, language: str) -> list[str]:
    """Return the parts of the page between its number of people, its seconds and its fields."""
    parts = dict.fromkeys(("ahead", "seconds", "fields"), _GAP)
    with override(language):
        page = render_to_string("errors/waiting.html", parts | {"has_files": has_files})
    return page.split(_GAP)


# Forms of requests that HTTP allows, but which a proxy could understand in another way. h11 has
# already found where the request ends. These are refused by their head, before their body.


_ABSOLUTE = re.compile(rb"https?://([^/@]+)(/.*)?", re.IGNORECASE)
_VERSIONS = ("1.0", "1.1")


def only_plain(application: Application) -> Application:
    """Return an application that gets only requests that have one meaning."""

    async def refuse_or_answer(scope: Message, receive: Receive, send: Send) -> None:
        if find_header(scope, b"transfer-encoding"):
            if scope["http_version"] == "1.1" and not find_header(scope, b"content-length"):
                return await refuse(scope, send, LENGTH_REQUIRED, NO_LENGTH)
            return await refuse(scope, send, MALFORMED_REQUEST, TWO_LENGTHS)
        if scope["http_version"] not in _VERSIONS:
            return await refuse(scope, send, MALFORMED_REQUEST, OTHER_VERSION)
        scope = _strip_authority(scope)
        if scope["method"] == "CONNECT" or not scope["raw_path"].startswith((b"/", b"*")):
            return await refuse(scope, send, MALFORMED_REQUEST, NO_PATH)
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
