"""Answers to what goes wrong outside a view of the API: in routing, middleware or server."""

from __future__ import annotations

import sys
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views import defaults

from pipeline.api import problems
from pipeline.api.problems import Kind
from pipeline.api.rendering import as_json


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """The site's 400."""
    if is_api(request):
        return _answer(request, problems.MALFORMED_REQUEST)
    return defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """The site's 403."""
    if is_api(request):
        return _answer(request, problems.PERMISSION_DENIED)
    return defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """The site's 404."""
    if is_api(request):
        return _answer(request, problems.NOT_FOUND)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest, *_: Any) -> HttpResponseBase:
    """The site's 500; for the API also the 503 that an unreachable database is. Already logged."""
    if is_api(request):
        return _answer(request, problems.kind_of(sys.exc_info()[1]))
    return defaults.server_error(request)


def is_api(request: HttpRequest) -> bool:
    """Whether the client expects a problem and not a page."""
    return request.path.startswith("/api/")


def _answer(request: HttpRequest, kind: Kind) -> HttpResponse:
    body = as_json(problems.problem(kind, request))
    headers = problems.headers_of(kind) | {"Content-Length": str(len(body))}
    return HttpResponse(body, status=kind.status, headers=headers, content_type=problems.MEDIA_TYPE)
