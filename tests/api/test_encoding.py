"""Bytes of answers: two encoders between which clients see no difference."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pipeline.api.endpoint import Endpoint
from pipeline.api.openapi.schemas import OPERATION, Operation
from pipeline.api.rendering import NumberJSONRenderer, render_json, render_number_json
from pipeline.api.v1.applications.answers import FurtherQuestionOut
from pipeline.api.v1.applications.receipts import OpaqueEventOut
from pipeline.api.v1.applications.shapes import GivenAnswersOut
from pipeline.api.v1.events import EventOut, ToldEventOut
from pipeline.api.v1.jobs.shapes import QuestionOut
from pipeline.api.v1.urls import urlpatterns
from pipeline.domain.states import Status
from pipeline.form.questions import DECIMALS, LARGEST, AnswerRefused, Kind, Question

# The data of an event holds text and whole numbers: see `canonical_row` of the log.
WITHOUT_FRACTIONS = {EventOut, ToldEventOut, OpaqueEventOut}
# The numbers in questions and answers are plain, which `Question.check` sees to.
OF_PLAIN_NUMBERS = {QuestionOut, GivenAnswersOut, FurtherQuestionOut}

times = st.datetimes(timezones=st.just(UTC))
whole = st.integers(min_value=-(2**70), max_value=2**70)
scalars = (
    st.none() | st.booleans() | whole | st.text() | st.uuids() | times | st.sampled_from(Status)
)
payloads = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(payloads)
def test_both_encoders_write_the_same_bytes(payload: Any) -> None:
    try:
        expected = render_number_json(payload)
    except UnicodeEncodeError:  # a lone surrogate, which neither writes
        with pytest.raises(UnicodeEncodeError):
            render_json(payload)
        return

    assert render_json(payload) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), '"2026-01-02T03:04:05.000000Z"'),
        (
            datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=timezone(timedelta(hours=2))),
            '"2026-01-02T01:04:05.000060Z"',
        ),
        (UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
        (Status.WAITLIST, '"WAITLIST"'),
        ({Status.WAITLIST: 2**64}, '{"WAITLIST":18446744073709551616}'),
        ('<é"\\\n\x01\u2028', '"<é\\"\\\\\\n\\u0001\u2028"'),
    ],
)
def test_a_value_is_written_as_ever(value: Any, text: str) -> None:
    assert render_json(value) == render_number_json(value) == text.encode()


def test_what_does_not_belong_in_a_payload_is_refused() -> None:
    with pytest.raises(TypeError, match="does not belong in a payload"):
        render_json({"value": object()})


def test_only_the_exact_encoder_writes_fractions_and_values_of_clients() -> None:
    inexact = {
        operation.name
        for view, operation in _operations()
        if NumberJSONRenderer not in view.renderer_classes
        for given in operation.gives.values()
        if any(_numbers_in(given))
    }

    assert len(list(_operations())) > 40
    assert inexact == set()


@given(
    st.integers(-LARGEST * 10**DECIMALS, LARGEST * 10**DECIMALS).map(
        lambda number: number / 10**DECIMALS
    )
    | st.floats()
    | st.integers()
)
@example(10.0**-DECIMALS)
@example(LARGEST - 10.0**-DECIMALS)
@example(-0.0)
def test_both_encoders_write_a_number_in_an_answer_alike(number: float) -> None:
    try:
        plain = Question(key="number", kind=Kind.NUMBER, label="number").check(number)
    except AnswerRefused:
        return

    assert render_json(plain) == render_number_json(plain)


def test_the_encoders_do_differ_in_fractions() -> None:
    assert render_json(1e-7) != render_number_json(1e-7)


def _operations() -> Iterator[tuple[type[Endpoint], Operation]]:
    for pattern in urlpatterns:
        view = getattr(pattern.callback, "cls", None)
        for method in ("get", "post", "put", "patch", "delete"):
            if operation := getattr(getattr(view, method, None), OPERATION, None):
                yield view, operation


def _numbers_in(kind: Any) -> Iterator[Any]:
    """Every part of an answer's type that is any number, or anything at all."""
    if kind in (float, Any):
        yield kind
    base = get_origin(kind) or kind
    if is_typeddict(base) and base not in WITHOUT_FRACTIONS | OF_PLAIN_NUMBERS:
        for part in get_type_hints(base).values():
            yield from _numbers_in(part)
    for part in get_args(kind):
        yield from _numbers_in(part)
