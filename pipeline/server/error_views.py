"""Responses to errors outside views: a problem for API clients, else a page."""

from __future__ import annotations

import sys
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string

from pipeline.api import problem_types, problems
from pipeline.api.problem_type import ProblemType
from pipeline.api.rendering import render_json
from pipeline.pages import kept_form
from pipeline.web.addresses import PROGRAMS


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Return the site's 400."""
    if expects_problem(request):
        return _answer(request, problem_types.MALFORMED_REQUEST)
    return _plain_page(request, problem_types.MALFORMED_REQUEST)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Return the site's 403."""
    if expects_problem(request):
        return _answer(request, problem_types.PERMISSION_DENIED)
    return render(request, "errors/403.html", {"why": str(exception)}, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Return the site's 404."""
    if expects_problem(request):
        return _answer(request, problem_types.NOT_FOUND)
    return render(request, "errors/404.html", status=404)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    """Return the site's response to a form without a valid CSRF token, keeping what was typed."""
    if fields := kept_form.read_fields(request):
        return kept_form.show(request, fields)
    return render(request, "errors/csrf.html", status=403)


def internal_error(request: HttpRequest, *_: Any) -> HttpResponseBase:
    """Return the site's 500, or 503 for a busy job or an unreachable database. Already logged."""
    kind = problems.classify(sys.exc_info()[1])
    if expects_problem(request):
        return _answer(request, kind)
    return _plain_page(request, kind)


def expects_problem(request: HttpRequest) -> bool:
    """Return whether the client expects a problem instead of a page."""
    return request.path.startswith(PROGRAMS)


def _plain_page(request: HttpRequest, kind: ProblemType) -> HttpResponse:
    """Return a page that reads nothing, since the database may be down."""
    body = render_to_string(
        "errors/plain.html",
        {
            "kind": kind,
            "is_about_files": kind is problem_types.FILES_AWAY,
            "request_id": getattr(request, "request_id", ""),
        },
    )
    return HttpResponse(body, status=kind.status, headers=problems.build_headers(kind))


def _answer(request: HttpRequest, kind: ProblemType) -> HttpResponse:
    body = render_json(problems.build_body(kind, request))
    headers = problems.build_headers(kind) | {"Content-Length": str(len(body))}
    return HttpResponse(body, status=kind.status, headers=headers, content_type=problems.MEDIA_TYPE)
