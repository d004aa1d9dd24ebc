"""Payloads: what is accepted without asking the validator is what the validator accepts."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks import errors, payloads
from tasks.payloads import CheckedPayload, check_payload, check_payloads
from tasks.registry import TaskSpec

NAMES = st.sampled_from("abc")
TYPES = st.sampled_from(sorted(payloads.PYTHON_TYPES))
PROPERTIES = st.dictionaries(
    NAMES,
    st.one_of(
        st.fixed_dictionaries({"type": TYPES}, optional={"secret": st.just(True)}),
        st.fixed_dictionaries({"type": st.lists(TYPES, min_size=1, max_size=2, unique=True)}),
        st.just({}),
        st.just(False),
        st.just({"type": "integer", "minimum": 1}),
        st.just({"enum": [1, "x"]}),
    ),
)
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": PROPERTIES},
    optional={
        "required": st.lists(NAMES, unique=True),
        "additionalProperties": st.sampled_from([True, False, {"type": "string"}]),
        "minProperties": st.just(1),
    },
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, "x", [1], (1,), {}])
)
PAYLOADS = st.one_of(
    st.dictionaries(st.one_of(NAMES, st.just(1)), VALUES), st.lists(VALUES), st.just("a")
)


def spec_of(schema: dict[str, Any]) -> TaskSpec:
    return TaskSpec(key="test.payload", handler=lambda payload, context: None, schema=schema)


@given(SCHEMAS, PAYLOADS)
def test_a_payload_is_refused_exactly_if_the_validator_refuses_its_json(
    schema: dict[str, Any], payload: Any
) -> None:
    plain = json.loads(json.dumps(payload))
    fits = jsonschema.Draft202012Validator(schema).is_valid(plain)

    try:
        accepted = json.loads(check_payload(spec_of(schema), payload).json)
    except errors.InvalidPayload:
        accepted = None

    assert accepted == (plain if fits else None)


def test_an_ordinary_payload_does_not_need_the_validator() -> None:
    spec = spec_of({"type": "object", "properties": {"n": {"type": "integer"}}})

    with patch.object(payloads, "json", None), patch.object(payloads, "_validator", None):
        assert check_payload(spec, {"n": 2, "other": [None]}).json == '{"n":2,"other":[null]}'


def test_a_schema_of_unknown_types_is_left_to_the_validator() -> None:
    spec = spec_of({"type": "object", "properties": {"n": {"type": "number of people"}}})

    with pytest.raises(jsonschema.SchemaError):
        check_payload(spec, {"n": 1})


def test_many_are_the_same_as_each_alone() -> None:
    spec, strict = spec_of({"type": "object"}), spec_of({"type": "object", "maxProperties": 1})
    given_ = [{"n": n, "word": "ä" * 300} for n in range(250)]
    given_[120] = CheckedPayload(strict, '{"of": 1}')
    specs = [spec] * 120 + [strict] + [spec] * 129

    many = json.loads(check_payloads(specs, given_))

    assert many == [*given_[:120], {"of": 1}, *given_[121:]]
    assert check_payloads([], []) == "[]"


@pytest.mark.parametrize(
    ("payload", "refusal"),
    [
        ({"x": "a" * 65_536}, errors.PayloadTooLarge),
        ({"x": "ä" * 40_000}, errors.PayloadTooLarge),
        ({"x": "a\0b"}, errors.InvalidPayload),
        ({"x": "\ud800"}, errors.InvalidPayload),
        ({"x": float("nan")}, errors.InvalidPayload),
        ({"x": object()}, errors.InvalidPayload),
        ([], errors.InvalidPayload),
    ],
)
def test_one_that_cannot_be_stored_refuses_all(payload: Any, refusal: type[Exception]) -> None:
    spec = spec_of({"type": "object"})

    with pytest.raises(refusal):
        check_payloads([spec] * 150, [*[{"n": n} for n in range(149)], payload])
