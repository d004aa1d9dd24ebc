"""Text of a form that could not be taken, because its session has ended or its token is old.

The page holds it, and sends it again after signing in; nothing is stored. Only forms of this site
get it, by their Origin: another site could else have its own form sent by one press.
"""

from __future__ import annotations

import re

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from pipeline.templatetags.live import SUBMISSION

MOST_LETTERS = 200_000
_TOKENS = ("csrfmiddlewaretoken", SUBMISSION)
_SECRET = re.compile("password|secret|token|code|key", re.IGNORECASE)
# Signing in: what is typed there is a secret, or short.
_NOT_KEPT = ("/account/", "/admin/", "/sign-in/", "/code/", "/sign-out/")


def read_fields(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the names and values of a form to keep; empty if it is not kept."""
    own = f"{request.scheme}://{request.get_host()}"
    if request.method != "POST" or request.headers.get("Origin") != own:
        return []
    if request.FILES or request.path.startswith(_NOT_KEPT):
        return []
    fields = [
        (name, str(value))
        for name, values in request.POST.lists()
        for value in values
        if name not in _TOKENS
    ]
    if any(_SECRET.search(name) for name, _ in fields):
        return []
    return fields if sum(len(value) for _, value in fields) <= MOST_LETTERS else []


@never_cache
def show(
    request: HttpRequest, fields: list[tuple[str, str]], *, sign_in_url: str = ""
) -> HttpResponse:
    """Show what was typed, with a button that sends it again. `sign_in_url`: sign in first."""
    context = {"fields": fields, "sign_in_url": sign_in_url}
    return render(request, "errors/kept_form.html", context, status=403)
