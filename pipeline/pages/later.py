"""Addresses whose page is still being built."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse


def later(request: HttpRequest, **_: Any) -> HttpResponse:
    """Nothing yet."""
    raise Http404
