"""ETags: the state that a response shows, and the state that a client has seen."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.rendering import render_json

# A proxy that compresses answers weakens their tags (nginx) or adds a suffix to them (Apache). The
# state that they stand for is the same.
_TAG = re.compile(r'(?:W/)?"([\x21\x23-\x7e\x80-\xff]*?)(?:[-;](?:gzip|br|zstd|deflate))?"')
_TELLS_THE_TIME = ("server_time", "time_in_status_seconds")


def strong_etag(seq: int, posting_version: int) -> str:
    """Return a job's ETag: the last seq of its log and the version of its posting."""
    return f'"{seq}-{posting_version}"'


def version_etag(*versions: int) -> str:
    """Return the ETag of a response that changes only when one of the versions does.

    Read the versions before the response's content, or together with it.
    """
    return f'W/"{"-".join(map(str, versions))}"'


def weak_etag(payload: Any) -> str:
    """Return an ETag over everything in a payload except fields that only tell the time."""
    return f'W/"{sha256(render_json(_comparable_payload(payload))).hexdigest()[:32]}"'


def answer_if_changed(request: Request, payload: Any, tag: str) -> Response:
    """Return a payload with its ETag, or 304 if the client already has that state.

    If-None-Match is compared weakly (RFC 9110, 13.1.2).
    """
    headers = {"ETag": tag}
    seen = request.META.get("HTTP_IF_NONE_MATCH", "").strip()
    if seen == "*" or _TAG.findall(tag)[0] in _TAG.findall(seen):
        return Response(status=304, headers=headers)
    return Response(payload, headers=headers)


def required_etags(request: Request) -> list[str] | None:
    """Return the ETags in If-Match, as strong ones, or None without the header."""
    header = request.META.get("HTTP_IF_MATCH")
    if header is None:
        return None
    return ["*"] if header.strip() == "*" else [f'"{tag}"' for tag in _TAG.findall(header)]


def _comparable_payload(payload: Any) -> Any:
    if isinstance(payload, dict):
        return {
            name: _comparable_payload(value)
            for name, value in payload.items()
            if name not in _TELLS_THE_TIME
        }
    return [_comparable_payload(item) for item in payload] if isinstance(payload, list) else payload
