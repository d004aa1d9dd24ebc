"""Which addresses are in the document: all that answer with JSON of ours."""

from __future__ import annotations

from typing import Any

Endpoint = tuple[str, str, str, Any]

PREFIX = "/api/v1/"


def only_described(endpoints: list[Endpoint]) -> list[Endpoint]:
    """The endpoints of the versioned API, but those of the documentation itself."""
    return [
        each
        for each in endpoints
        if each[0].startswith(PREFIX) and not getattr(each[3].cls, "documents", False)
    ]
