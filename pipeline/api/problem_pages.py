"""Pages at the URIs of problems: when each occurs, and how to react."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from pipeline.api import problems
from pipeline.api.problem_types import ALL_PROBLEM_TYPES, VALIDATION_ERROR
from pipeline.api.problems import FIELD_CODES

KINDS = {kind.slug: kind for kind in ALL_PROBLEM_TYPES}


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List every kind of problem, with a link to its page."""
    rows = [(kind, _mark_code(kind.about)) for kind in ALL_PROBLEM_TYPES]
    return render(request, "api/problems.html", {"rows": rows})


@require_safe
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """Explain one kind of problem, with an example. Raises Http404."""
    kind = KINDS.get(slug)
    if kind is None:
        raise Http404
    example = problems.build_body(kind, request)
    context = {
        "kind": kind,
        "about": _mark_code(kind.about),
        "remedy": _mark_code(kind.remedy),
        "example": [
            (name, example[name]) for name in ("type", "title", "status", "code", "detail")
        ],
        "field_codes": FIELD_CODES.items() if kind is VALIDATION_ERROR else (),
    }
    return render(request, "api/problem.html", context)


def _mark_code(text: str) -> SafeString:
    """Mark up the parts of a text between backticks as code."""
    parts = enumerate(text.split("`"))
    return format_html_join(
        "",
        "{}",
        ((format_html("<code>{}</code>", part) if number % 2 else part,) for number, part in parts),
    )
