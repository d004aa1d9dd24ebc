"""Language of a request: one asked for in its address, the visitor's choice, or the browser's.

A choice is kept in a cookie, which only a choice sets; that of a signed-in person is also kept with
them (`applicants.people`, `jobs.accounts`) for emails and their other browsers. At a company's own
domain there is no cookie: there the address names the language, as it does for search engines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, parse_cookie
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language_from_request, get_supported_language_variant
from django.utils.translation.trans_real import parse_accept_lang_header

from pipeline.web.asgi_types import Message, find_header

PARAMETER = "lang"
CHOSEN = "chosen_language"  # of a request after which the browser keeps a choice
# The same for everyone, so that a process can remember it: the API's document and its page.
IN_ENGLISH = ("/api/v1/docs/", "/api/v1/openapi.json")
_SAID_IN = ("text/html", "application/problem+json", "application/json", "text/plain")


def offered() -> dict[str, str]:
    """Return the languages that people can choose, each with its name in itself."""
    return dict(settings.LANGUAGES)


def middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., Any]:
    """Answer a request in its language, and tell caches on what that depends."""

    def language_middleware(request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(IN_ENGLISH):
            with translation.override(settings.LANGUAGE_CODE):
                return get_response(request)
        with translation.override(choose(request)):
            response = get_response(request)
            name_language(response)
        if chosen := getattr(request, CHOSEN, ""):
            remember(response, chosen)
        return response

    return language_middleware


def choose(request: HttpRequest) -> str:
    """Return the code of the language in which to answer a request."""
    return asked_language(request) or get_language_from_request(request)


def asked_language(request: HttpRequest) -> str:
    """Return the language that the address names; empty without one that is offered."""
    if f"{PARAMETER}=" not in request.META.get("QUERY_STRING", ""):
        return ""
    asked = request.GET.get(PARAMETER, "")
    return asked if asked in offered() else ""


def choose_by_headers(scope: Message) -> str:
    """Return the code of the language in which the event loop answers a request by itself."""
    cookies = parse_cookie(find_header(scope, b"cookie").decode("latin1"))
    accepted = find_header(scope, b"accept-language").decode("latin1")
    wanted = [cookies.get(settings.LANGUAGE_COOKIE_NAME, "")]
    wanted += [code for code, _weight in parse_accept_lang_header(accepted.lower())]
    for code in wanted:
        try:
            return get_supported_language_variant(code)
        except LookupError:
            continue
    return str(settings.LANGUAGE_CODE)


def name_language(response: HttpResponseBase, *, by_cookie: bool = True) -> None:
    """Name the active language in the headers of an answer with text, unless they name one."""
    if response.has_header("Content-Language"):
        return
    kind = response.get("Content-Type", "").partition(";")[0]
    if kind in _SAID_IN:
        response["Content-Language"] = translation.get_language() or settings.LANGUAGE_CODE
    if kind in _SAID_IN or response.status_code == 304:
        patch_vary_headers(response, ["Accept-Language", *(["Cookie"] if by_cookie else [])])


def choose_for(request: HttpRequest, language: str) -> None:
    """Have the browser keep a language, such as that of the person who has just signed in."""
    if language in offered():
        setattr(request, CHOSEN, language)


def remember(response: HttpResponseBase, language: str) -> None:
    """Keep a choice in the browser."""
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def in_language_of(*codes: str) -> translation.override:
    """Return the context in which text for a person is made: in the first language that is offered.

    Name the person's language first, then that of the job or the company. Without one, it is the
    language of the site.
    """
    known = offered()
    chosen = next((code for code in codes if code in known), settings.LANGUAGE_CODE)
    return translation.override(chosen)
