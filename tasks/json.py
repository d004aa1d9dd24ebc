"""Compact JSON, as the engine stores it."""

from __future__ import annotations

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

_encode = DjangoJSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_encode_plain = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def as_json(value: Any) -> str:
    """Encode a value as compact JSON; dates, UUIDs and decimals become text.

    Raises TypeError for other types, and ValueError for NaN and infinity.
    """
    try:
        return _encode_plain(value)
    except TypeError:
        return _encode(value)
