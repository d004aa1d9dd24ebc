"""Payloads: checks against a type's schema and the size limit; hiding of secrets."""

from __future__ import annotations

import copy
import functools
import json
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from tasks import time_zones
from tasks.errors import InvalidPayload, PayloadTooLarge
from tasks.json import as_json
from tasks.registry import TaskSpec

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

LARGEST_BYTES = 65_536
HIDDEN = "[hidden]"
MOST_PROBLEMS = 20
SHORTEST_SECRET = 4  # characters; replacing shorter ones would garble ordinary text


@dataclass(frozen=True)
class CheckedPayload:
    """Payload that fits its type's schema, as JSON."""

    spec: TaskSpec
    json: str


def check_payload(spec: TaskSpec, payload: Any) -> CheckedPayload:
    """Check a payload against its type's schema.

    Raises InvalidPayload (with each problem and its place) and PayloadTooLarge.
    """
    try:
        text = as_json(payload)
        size = len(text.encode())
    except (TypeError, ValueError) as error:
        raise InvalidPayload(spec.key, [("", str(error))]) from None
    if size > LARGEST_BYTES:
        raise PayloadTooLarge(size, LARGEST_BYTES)
    if "\\u0000" in text:
        raise InvalidPayload(spec.key, [("", "text must not contain NUL characters")])
    validator = _validator(spec)
    if not validator.is_valid(plain := json.loads(text)):
        found = sorted(validator.iter_errors(plain), key=lambda error: list(map(str, error.path)))
        secrets = [value for value in find_secrets(validator.schema, plain) if value]
        raise InvalidPayload(
            spec.key,
            [
                (
                    ".".join(map(str, error.absolute_path)),
                    hide_secrets(error.message, secrets),
                )
                for error in found[:MOST_PROBLEMS]
            ],
        )
    return CheckedPayload(spec, text)


@functools.lru_cache(maxsize=1024)
def _validator(spec: TaskSpec) -> Validator:
    from jsonschema.validators import validator_for  # only where payloads are checked

    maker = validator_for(spec.schema)
    maker.check_schema(spec.schema)
    checker = copy.deepcopy(maker.FORMAT_CHECKER)
    checker.checks("time-zone")(_is_time_zone)
    checker.checks("week")(_is_monday)
    return maker(spec.schema, format_checker=checker)


def _is_time_zone(text: object) -> bool:
    return not isinstance(text, str) or time_zones.is_known(text)


def _is_monday(text: object) -> bool:
    try:
        return not isinstance(text, str) or date.fromisoformat(text).weekday() == 0
    except ValueError:
        return False


def redact_payload(schema: Any, payload: Any) -> Any:
    """Return a payload for pages, logs and events, with its secret values hidden.

    A property is secret where its schema says `"secret": true` or `"writeOnly": true`.
    """
    if not isinstance(schema, dict):
        return payload
    if _is_secret_schema(schema):
        return HIDDEN
    if isinstance(payload, dict):
        inner, other = schema.get("properties", {}), schema.get("additionalProperties", {})
        return {
            name: redact_payload(inner.get(name, other), value) for name, value in payload.items()
        }
    if isinstance(payload, list):
        return [redact_payload(schema.get("items", {}), value) for value in payload]
    return payload


def find_secrets(schema: Any, payload: Any) -> list[str]:
    """Return the secret texts of a payload, longest first, for `hide_secrets`."""
    return sorted(_collect_secrets(schema, payload), key=len, reverse=True)


def _collect_secrets(schema: Any, payload: Any) -> set[str]:
    if not isinstance(schema, dict):
        return set()
    if _is_secret_schema(schema):
        return _secret_texts(payload)
    found: set[str] = set()
    if isinstance(payload, dict):
        inner, other = schema.get("properties", {}), schema.get("additionalProperties", {})
        for name, value in payload.items():
            found |= _collect_secrets(inner.get(name, other), value)
    elif isinstance(payload, list):
        for value in payload:
            found |= _collect_secrets(schema.get("items", {}), value)
    return found


def _secret_texts(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set().union(*map(_secret_texts, value.values()))
    if isinstance(value, list):
        return set().union(*map(_secret_texts, value))
    text = str(value)
    return {text} if len(text) >= SHORTEST_SECRET else set()


def _is_secret_schema(schema: dict[str, Any]) -> bool:
    return schema.get("secret") is True or schema.get("writeOnly") is True


def hide_secrets(text: str, secrets: list[str]) -> str:
    """Replace each secret in a text."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text
