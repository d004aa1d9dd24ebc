"""Pages with the operator's texts: the terms, and the accessibility statement."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def terms(request: HttpRequest) -> HttpResponse:
    """Show the operator's terms. Without any there is no such page."""
    if not settings.TERMS_TEXT:
        raise Http404
    return render(request, "site/terms.html", {"text": settings.TERMS_TEXT})


@require_safe
def accessibility(request: HttpRequest) -> HttpResponse:
    """Show the operator's accessibility statement, or what we know of the product itself."""
    context = {"text": settings.ACCESSIBILITY_TEXT, "contact": settings.SIGN_UP_CONTACT}
    return render(request, "site/accessibility.html", context)
