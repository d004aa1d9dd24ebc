"""Turning payloads into JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework.renderers import BaseRenderer

from pipeline.line.event_log import stamp


class JSONRenderer(BaseRenderer):
    """JSON in UTF-8, without spaces; times in UTC with Z."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the bytes of a payload; nothing for None."""
        return b"" if data is None else as_json(data)


def as_json(data: Any) -> bytes:
    """Return the bytes of a payload of plain values, ids and times."""
    text = json.dumps(data, default=_plain, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def _plain(value: object) -> str:
    match value:
        case UUID():
            return str(value)
        case datetime():
            return stamp(value)
    raise TypeError(f"{type(value)} does not belong in a payload")
