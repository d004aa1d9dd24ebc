"""The document's types as our own answers must fit them: no other fields, no other codes."""

from __future__ import annotations

from typing import Any


def close_schemas(schemas: dict[str, Any]) -> None:
    """Let the document's types allow only the fields and codes that they name."""
    for schema in schemas.values():
        if schema.get("type") == "object" and "properties" in schema:
            schema["additionalProperties"] = False
            for field in schema["properties"].values():
                _close_codes(field)


def _close_codes(field: dict[str, Any]) -> None:
    """Leave out the codes that may be added later: this site has none of them."""
    known = [each for each in field.get("anyOf", []) if each != {"type": "string"}]
    if any("enum" in each or "$ref" in each for each in known):
        field["anyOf"] = known
    if "items" in field:
        _close_codes(field["items"])
