"""Query parameters as the API reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Query = Mapping[str, Any]


def query_parameters(query: Query) -> dict[str, str | int]:
    """Return parameters without those that are None.

    Lists are joined with commas, and a dictionary such as `metadata` becomes `metadata[key]=text`.
    """
    sent: dict[str, str | int] = {}
    for name, value in query.items():
        if isinstance(value, Mapping):
            sent |= {f"{name}[{key}]": text for key, text in value.items()}
        elif isinstance(value, (list, tuple)):
            sent[name] = ",".join(value)
        elif value is not None:
            sent[name] = value
    return sent
