"""Responses to errors outside views: a problem for API clients, else a page."""

from __future__ import annotations

import sys
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string

from pipeline.api import problem_types, problems
from pipeline.api.problem_types import ProblemType
from pipeline.api.rendering import render_json
from pipeline.pages.kept_form import kept_form_of, kept_form_page


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Return the site's 400."""
    if is_error_of_api(request):
        return _error_answer(request, problem_types.MALFORMED_REQUEST)
    return _plain_error_page(request, problem_types.MALFORMED_REQUEST)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Return the site's 403."""
    if is_error_of_api(request):
        return _error_answer(request, problem_types.PERMISSION_DENIED)
    return render(request, "errors/403.html", {"why": str(exception)}, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Return the site's 404."""
    if is_error_of_api(request):
        return _error_answer(request, problem_types.NOT_FOUND)
    return render(request, "errors/404.html", status=404)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    """Return the site's response to a form without a valid CSRF token, keeping what was typed."""
    if fields := kept_form_of(request):
        return kept_form_page(request, fields)
    return render(request, "errors/csrf.html", status=403)


def server_error(request: HttpRequest, *_: Any) -> HttpResponseBase:
    """Return the site's 500, or 503 for a busy job or an unreachable database. Already logged."""
    kind = problems.problem_of_exception(sys.exc_info()[1])
    if is_error_of_api(request):
        return _error_answer(request, kind)
    return _plain_error_page(request, kind)


def is_error_of_api(request: HttpRequest) -> bool:
    """Return whether the client expects a problem instead of a page."""
    return request.path.startswith("/api/")


def _plain_error_page(request: HttpRequest, kind: ProblemType) -> HttpResponse:
    """Return a page that reads nothing, since the database may be down."""
    body = render_to_string(
        "errors/plain.html",
        {"kind": kind, "request_id": getattr(request, "request_id", "")},
    )
    return HttpResponse(body, status=kind.status, headers=problems.problem_headers(kind))


def _error_answer(request: HttpRequest, kind: ProblemType) -> HttpResponse:
    body = render_json(problems.problem(kind, request))
    headers = problems.problem_headers(kind) | {"Content-Length": str(len(body))}
    return HttpResponse(body, status=kind.status, headers=headers, content_type=problems.MEDIA_TYPE)
