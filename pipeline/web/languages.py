"""Language of a request: one asked for in its address, the visitor's choice, or the browser's.

A choice is kept in a cookie, which only a choice sets; that of a signed-in person is also kept with
them (`applicants.people`, `jobs.accounts`) for emails and their other browsers. At a company's own
domain there is no cookie: there the address names the language, as it does for search engines.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, parse_cookie
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_supported_language_variant
from django.utils.translation.trans_real import parse_accept_lang_header

from pipeline.web.asgi_types import Message, find_header

PARAMETER = "lang"
LONGEST = 500  # characters that are read of a header
CHOSEN = "chosen_language"  # of a request after which the browser keeps a choice, or none if empty
# The same for everyone, so that a process can remember it: the API's document and its page.
IN_ENGLISH = ("/api/v1/docs/", "/api/v1/openapi.json")
_SAID_IN = ("text/html", "application/problem+json")  # the API's other answers hold codes


def offered() -> dict[str, str]:
    """Return the languages that people can choose, each with its name in itself."""
    return dict(settings.LANGUAGES)


def middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., Any]:
    """Answer a request in its language, and tell caches on what that depends."""

    def language_middleware(request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(IN_ENGLISH):
            return get_response(request)
        language = choose(request)
        if language == settings.LANGUAGE_CODE:  # as always, outside of the other case
            response = get_response(request)
        else:
            with translation.override(language):
                response = get_response(request)
        name_language(response, language)
        if CHOSEN in request.__dict__:
            remember(response, request.__dict__[CHOSEN])
        return response

    return language_middleware


def choose(request: HttpRequest) -> str:
    """Return the code of the language in which to answer a request."""
    told = request.META
    if PARAMETER in told.get("QUERY_STRING", "") and (asked := asked_language(request)):
        return asked
    name = settings.LANGUAGE_COOKIE_NAME
    kept = request.COOKIES.get(name, "") if name in told.get("HTTP_COOKIE", "") else ""
    return choose_among(kept, told.get("HTTP_ACCEPT_LANGUAGE", ""))


def asked_language(request: HttpRequest) -> str:
    """Return the language that the address names; empty without one that is offered."""
    asked = request.GET.get(PARAMETER, "")
    return asked if asked in offered() else ""


def choose_by_headers(scope: Message) -> str:
    """Return the code of the language in which the event loop answers a request by itself."""
    cookies = parse_cookie(find_header(scope, b"cookie").decode("latin1"))
    accepted = find_header(scope, b"accept-language").decode("latin1")
    return choose_among(cookies.get(settings.LANGUAGE_COOKIE_NAME, ""), accepted)


@lru_cache(1_024)
def choose_among(kept: str, accepted: str) -> str:
    """Return the first language that is offered: the one that was kept, or of Accept-Language."""
    accepted_codes = [code for code, _weight in parse_accept_lang_header(accepted[:LONGEST])]
    for each in (kept[:LONGEST], *accepted_codes):
        try:
            return get_supported_language_variant(each)
        except LookupError:
            continue
    return str(settings.DEFAULT_LANGUAGE)


@receiver(setting_changed)
def _forget_choices(*, setting: str, **_: Any) -> None:
    if setting in ("LANGUAGES", "DEFAULT_LANGUAGE"):  # in tests
        choose_among.cache_clear()


def name_language(response: HttpResponseBase, language: str, *, by_cookie: bool = True) -> None:
    """Name the language in the headers of an answer with text, unless they name one."""
    headers = response.headers
    is_text = headers.get("Content-Type", "").startswith(_SAID_IN)
    if not (is_text or response.status_code == 304) or "Content-Language" in headers:
        return
    if is_text:
        headers["Content-Language"] = language
    varies = "Accept-Language, Cookie" if by_cookie else "Accept-Language"
    if (known := headers.get("Vary", "")) in ("", "Cookie"):
        headers["Vary"] = varies
    elif "Accept-Language" not in known:
        patch_vary_headers(response, varies.split(", "))


def choose_for(request: HttpRequest, language: str) -> None:
    """Have the browser keep a language, such as that of the person who has just signed in."""
    if language in offered():
        setattr(request, CHOSEN, language)


def choose_by_browser(request: HttpRequest) -> None:
    """Have the browser forget a choice, so that its own languages count."""
    setattr(request, CHOSEN, "")


def remember(response: HttpResponseBase, language: str) -> None:
    """Keep a choice in the browser, or none."""
    if not language:
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME, samesite="Lax")
        return
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
    language of the site (`DEFAULT_LANGUAGE`).
    """
    known = offered()
    chosen = next((code for code in codes if code in known), settings.DEFAULT_LANGUAGE)
    return translation.override(chosen)
