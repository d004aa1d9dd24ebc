"""`?expand=` and `?fields=`: more or fewer fields in a response, each by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rest_framework.request import Request

from pipeline.api.openapi.schemas import Operation
from pipeline.api.parameters import refuse_parameter

EXPAND, FIELDS = "expand", "fields"


def selected_names(request: Request, operation: Operation, parameter: str) -> frozenset[str]:
    """Return the names in a parameter, if the operation has it.

    They are separated by commas, or the parameter is repeated. Raises ValidationError for a name
    that the operation does not offer.
    """
    offered = next((each for each in operation.parameters if each.name == parameter), None)
    if offered is None or parameter not in request.query_params:
        return frozenset()
    texts = request.query_params.getlist(parameter)
    names = frozenset(name for text in texts for name in text.split(","))
    known: list[str] = offered.schema["items"]["enum"]
    if not names <= {*known}:
        refuse_parameter(parameter, f"Must be any of {', '.join(known)}, separated by commas.")
    return names


def selected_payload(payload: Any, names: Collection[str]) -> Any:
    """Return a payload with only some fields of its object, or of each row of its list."""
    if isinstance(payload, Mapping) and {"data", "next_cursor"} <= payload.keys():
        return {**payload, "data": [selected_payload(row, names) for row in payload["data"]]}
    return {name: value for name, value in payload.items() if name in names}
