"""Payloads: checks against a type's schema and the size limit; hiding of secrets."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
from collections.abc import Sequence
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
CHECKED_AT_ONCE = 100
# What JSON makes of values of exactly these types, by the names of JSON Schema.
PYTHON_TYPES: dict[str, set[type]] = {
    "object": {dict},
    "array": {list},
    "string": {str},
    "integer": {int},
    "number": {int, float},
    "boolean": {bool},
    "null": {type(None)},
}
REMARKS = {"title", "description", "default", "secret", "writeOnly"}  # they refuse nothing
PlainRules = tuple[dict[str, frozenset[type]], frozenset[str], bool]
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
    if _fits_plainly(spec, payload):
        return CheckedPayload(spec, text)
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


def check_payloads(specs: Sequence[TaskSpec], payloads: Sequence[Any]) -> str:
    """Check payloads against their types' schemas and return them as one JSON array.

    Those already checked are taken as they are. Raises the errors of `check_payload`.
    """
    starts = range(0, len(payloads), CHECKED_AT_ONCE)
    ends = [slice(start, start + CHECKED_AT_ONCE) for start in starts]
    return f"[{','.join([_check_some(specs[some], payloads[some]) for some in ends])}]"


def _check_some(specs: Sequence[TaskSpec], payloads: Sequence[Any]) -> str:
    """Encode plain payloads together, which costs a fifth of one by one; check others singly."""
    if all(map(_fits_plainly, specs, payloads)):
        with contextlib.suppress(TypeError, ValueError):  # the check of each names the payload
            text = as_json(payloads)
            if len(text.encode()) <= LARGEST_BYTES and "\\u0000" not in text:
                return text[1:-1]
    checked = [
        payload if isinstance(payload, CheckedPayload) else check_payload(spec, payload)
        for spec, payload in zip(specs, payloads, strict=True)
    ]
    return ",".join([each.json for each in checked])


def _fits_plainly(spec: TaskSpec, payload: Any) -> bool:
    """Tell at once that an ordinary payload fits its schema; False means that it may or may not.

    Exact types are compared: only of those it is certain what JSON makes of them.
    """
    rules = _plain_rules(spec)
    if rules is None or type(payload) is not dict:
        return False
    types, required, is_open = rules
    for name, value in payload.items():
        allowed = types.get(name)
        if allowed is None:
            if not is_open or type(name) is not str:
                return False
        elif type(value) not in allowed:
            return False
    return required <= payload.keys()


@functools.lru_cache(maxsize=1024)
def _plain_rules(spec: TaskSpec) -> PlainRules | None:
    """Return the types of a schema's properties, those required, and whether others may follow.

    None if the schema says more about an object than that.
    """
    schema: Any = spec.schema  # without a validator: the first use of one takes a tenth of a second
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return None
    properties, is_open = schema.get("properties", {}), schema.get("additionalProperties", True)
    more = schema.keys() - {"type", "properties", "required", "additionalProperties"}
    if more or not isinstance(is_open, bool):
        return None
    for each in properties.values():
        if not isinstance(each, dict) or each.keys() - {"type", *REMARKS}:
            return None
        if not _names_of_types(each) <= PYTHON_TYPES.keys():
            return None
    types = {
        name: frozenset[type]().union(*(PYTHON_TYPES[each] for each in _names_of_types(said)))
        for name, said in properties.items()
    }
    return types, frozenset(schema.get("required", ())), is_open


def _names_of_types(rule: dict[str, Any]) -> set[str]:
    names = rule.get("type", list(PYTHON_TYPES))
    return {names} if isinstance(names, str) else set(names)


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
