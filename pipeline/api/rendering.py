"""JSON rendering of payloads, and content negotiation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from pipeline.line.event_log import logged_time

_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


class JSONRenderer(BaseRenderer):
    """Renderer of compact JSON in UTF-8, with times in UTC with Z."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return a payload's bytes, or no bytes for None."""
        return b"" if data is None else self.encode(data)

    def encode(self, data: Any) -> bytes:
        """Return a payload as JSON."""
        return render_json(data)


class NumberJSONRenderer(JSONRenderer):
    """The same renderer for responses with fractions or with values that clients sent.

    Encoders differ on exponents and on numbers beyond 64 bits. Here they stay as Python writes
    them.
    """

    def encode(self, data: Any) -> bytes:
        """Return a payload as JSON, with numbers as Python writes them."""
        return render_number_json(data)


class Negotiation(DefaultContentNegotiation):
    """Content negotiation with a fast path for what nearly all clients ask for."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """Return the renderer and the media type. Raises NotAcceptable."""
        usual = renderers[0]
        if request.META.get("HTTP_ACCEPT", "*/*") in ("*/*", usual.media_type):
            return usual, usual.media_type
        return super().select_renderer(request, renderers, format_suffix)


def render_json(data: Any) -> bytes:
    """Render a payload of text, whole numbers, ids and times.

    The result equals that of `render_number_json`, which is slower.
    """
    try:
        return orjson.dumps(data, _render_json_value, _OPTIONS)
    except orjson.JSONEncodeError:  # more than 64 bits, or keys that are not plain strings
        return render_number_json(data)


def render_number_json(data: Any) -> bytes:
    """Render a payload that may hold any number."""
    text = json.dumps(data, default=_render_json_value, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def _render_json_value(value: object) -> str:
    match value:
        case UUID():
            return str(value)
        case datetime():
            return logged_time(value)
    raise TypeError(f"{type(value)} does not belong in a payload")


class AnyFileKind(DefaultContentNegotiation):
    """Negotiation that ignores the Accept header, because a file has only one type."""

    def select_renderer(  # type: ignore[override]  # as the framework calls it
        self,
        request: Request,
        renderers: Sequence[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        """Return the JSON renderer, for refusals."""
        return renderers[0], renderers[0].media_type
