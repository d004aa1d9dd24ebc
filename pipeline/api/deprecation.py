"""Deprecated names that are still read, and the headers that say so (RFC 9745, RFC 8594)."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http.response import HttpResponseBase
from django.utils.http import http_date
from rest_framework.request import Request

from pipeline.api.openapi.schemas import Operation

# When the old names were deprecated, and the earliest day on which one may no longer be read.
DEPRECATED_ON = datetime(2026, 11, 22, tzinfo=UTC)
SUNSET = datetime(2028, 12, 1, tzinfo=UTC)


def add_headers(request: Request, operation: Operation, response: HttpResponseBase) -> None:
    """Tell a client that it sent a deprecated parameter or field, and until when that works."""
    used = any(
        parameter.deprecated and parameter.name in request.query_params
        for parameter in operation.parameters
    )
    if not used and response.status_code < 400 and (old := operation.old_fields):
        used = isinstance(request.data, dict) and not old.isdisjoint(request.data)
    if used:
        response["Deprecation"] = f"@{int(DEPRECATED_ON.timestamp())}"
        response["Sunset"] = http_date(SUNSET.timestamp())
