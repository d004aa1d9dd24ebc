"""Payloads: checked against the type's schema, bounded in size, and shown without their secrets."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from jsonschema.validators import validator_for

from tasks.errors import InvalidPayload, PayloadTooLarge
from tasks.json import as_json

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

    from tasks.registry import Kind

LARGEST_BYTES = 65_536
HIDDEN = "[hidden]"
SHORTEST_SECRET = 4  # characters; a shorter one, replaced, would spoil whatever is around it


def checked(kind: Kind, payload: Any) -> str:
    """The payload as JSON. Raises InvalidPayload (with each problem and where), PayloadTooLarge."""
    try:
        text = as_json(payload)
        size = len(text.encode())
    except (TypeError, ValueError) as error:
        raise InvalidPayload(kind.key, [("", str(error))]) from None
    if size > LARGEST_BYTES:
        raise PayloadTooLarge(size, LARGEST_BYTES)
    if "\\u0000" in text:
        raise InvalidPayload(kind.key, [("", "text must not contain NUL characters")])
    validator = _validator(kind)
    if not validator.is_valid(plain := json.loads(text)):
        raise InvalidPayload(kind.key, _problems(validator, plain))
    return text


@functools.lru_cache(maxsize=1024)
def _validator(kind: Kind) -> Validator:
    maker = validator_for(kind.schema)
    maker.check_schema(kind.schema)
    return maker(kind.schema, format_checker=maker.FORMAT_CHECKER)


def _problems(validator: Validator, payload: Any) -> list[tuple[str, str]]:
    found = sorted(validator.iter_errors(payload), key=lambda error: list(map(str, error.path)))
    secret = [value for value in secrets_in(validator.schema, payload) if value]
    return [
        (".".join(str(step) for step in error.absolute_path), hide(error.message, secret))
        for error in found[:20]
    ]


def redacted(schema: Any, payload: Any) -> Any:
    """The payload for pages, logs and events: what the schema calls `secret` is hidden.

    A property is secret where its schema says `"secret": true` or `"writeOnly": true`.
    """
    if not isinstance(schema, dict):
        return payload
    if _is_secret(schema):
        return HIDDEN
    if isinstance(payload, dict):
        inner, other = schema.get("properties", {}), schema.get("additionalProperties", {})
        return {name: redacted(inner.get(name, other), value) for name, value in payload.items()}
    if isinstance(payload, list):
        return [redacted(schema.get("items", {}), value) for value in payload]
    return payload


def secrets_in(schema: Any, payload: Any) -> list[str]:
    """The secret texts themselves, longest first, so that they can be taken out of other texts."""
    return sorted(_collect(schema, payload), key=len, reverse=True)


def _collect(schema: Any, payload: Any) -> set[str]:
    if not isinstance(schema, dict):
        return set()
    if _is_secret(schema):
        return _texts(payload)
    found: set[str] = set()
    if isinstance(payload, dict):
        inner, other = schema.get("properties", {}), schema.get("additionalProperties", {})
        for name, value in payload.items():
            found |= _collect(inner.get(name, other), value)
    elif isinstance(payload, list):
        for value in payload:
            found |= _collect(schema.get("items", {}), value)
    return found


def _texts(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set().union(*map(_texts, value.values()))
    if isinstance(value, list):
        return set().union(*map(_texts, value))
    text = str(value)
    return {text} if len(text) >= SHORTEST_SECRET else set()


def _is_secret(schema: dict[str, Any]) -> bool:
    return schema.get("secret") is True or schema.get("writeOnly") is True


def hide(text: str, secrets: list[str]) -> str:
    """The text without the secrets."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text
