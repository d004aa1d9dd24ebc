"""Compact JSON, as the engine stores it."""

from __future__ import annotations

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

_encode = DjangoJSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_encode_plain = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def as_json(value: Any) -> str:
    """A value as compact JSON; dates, UUIDs and decimals become text. Raises TypeError, ValueError.

    NaN and infinity are refused: they are no JSON.
    """
    try:
        return _encode_plain(value)
    except TypeError:
        return _encode(value)
