"""Selection of the document's paths: all that respond with our JSON."""

from __future__ import annotations

from typing import Any

Endpoint = tuple[str, str, str, Any]

PREFIX = "/api/v1/"


def described_paths(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Return the endpoints of the versioned API, except the documentation's own."""
    return [
        each
        for each in endpoints
        if each[0].startswith(PREFIX) and not getattr(each[3].cls, "documents", False)
    ]
