"""Selection of the addresses in the document: all that answer with our JSON."""

from __future__ import annotations

from typing import Any

Endpoint = tuple[str, str, str, Any]

PREFIX = "/api/v1/"


def described_paths(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Return the endpoints of the versioned API, but those of the documentation itself."""
    return [
        each
        for each in endpoints
        if each[0].startswith(PREFIX) and not getattr(each[3].cls, "documents", False)
    ]
