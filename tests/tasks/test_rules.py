"""Rules without a database: back-off, secrets, the registry, and use of clocks."""

from __future__ import annotations

import re

import pytest

from tasks import registry, retry
from tasks.errors import UnknownType
from tasks.models import Status
from tasks.payloads import HIDDEN, find_secrets, hide_secrets, redact_payload
from tasks.retry import Backoff
from tests.house.files import name_of, python_files

CLOCKS = re.compile(r"\btime\.time\(|timezone\.now|datetime\.(now|utcnow|today)|date\.today")


def test_only_the_databases_clock_decides() -> None:
    readers = [name_of(path) for path in python_files("tasks") if CLOCKS.search(path.read_text())]

    assert readers == []


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(1, 30), (2, 60), (3, 120), (7, 1920), (8, 3600), (9_999, 3600)]
)
def test_the_wait_doubles_up_to_an_hour_and_up_to_15_seconds_come_on_top(
    attempt: int, seconds: float
) -> None:
    assert Backoff().after(attempt, chance=lambda: 0.0) == seconds
    assert Backoff().after(attempt, chance=lambda: 1.0) == seconds + 15


def test_a_type_chooses_its_own_back_off() -> None:
    own = Backoff(base_seconds=1, cap_seconds=10, jitter_seconds=0.5)

    assert [own.after(n, chance=lambda: 1.0) for n in (1, 2, 5)] == [1.5, 2.5, 10.5]


@pytest.mark.parametrize(
    ("how", "attempt", "asked", "status", "delay"),
    [
        ("error", 1, None, Status.PENDING, 30),
        ("error", 5, None, Status.DEAD, 0),
        ("error", 7, None, Status.DEAD, 0),
        ("retry", 1, 7.0, Status.PENDING, 7),
        ("retry", 1, 0.5, Status.PENDING, 0.5),
        ("retry", 1, -0.5, Status.PENDING, 0),
        ("retry", 1, None, Status.PENDING, 30),
        ("retry", 1, 1e9, Status.PENDING, 7 * 86_400),
        ("retry", 5, 7.0, Status.DEAD, 0),
        ("fatal", 1, None, Status.DEAD, 0),
        ("discard", 5, None, Status.DISCARDED, 0),
    ],
)
def test_where_a_failure_leads(
    how: str, attempt: int, asked: float | None, status: Status, delay: float
) -> None:
    decision = retry.decide(
        how,
        attempt=attempt,
        max_attempts=5,
        backoff=Backoff(),
        asked_seconds=asked,
        chance=lambda: 0.0,
    )

    assert (decision.status, decision.delay_seconds) == (status, delay)


def test_what_the_schema_calls_secret_is_hidden_wherever_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {
            "users": {
                "type": "array",
                "items": registry.find_registered_type("test.secret").schema,
            },
            "headers": {"type": "object", "additionalProperties": {"writeOnly": True}},
        },
    }
    payload = {"users": [{"token": "abcd1234", "count": 1}], "headers": {"Auth": "efgh5678"}}

    shown = redact_payload(schema, payload)

    assert shown == {"users": [{"token": HIDDEN, "count": 1}], "headers": {"Auth": HIDDEN}}
    assert find_secrets(schema, payload) in (
        ["abcd1234", "efgh5678"],
        ["efgh5678", "abcd1234"],
    )
    assert hide_secrets("with abcd1234", find_secrets(schema, payload)) == f"with {HIDDEN}"


def test_the_newest_version_is_found_unless_one_is_named() -> None:
    assert registry.find_registered_type("test.versions").version == 2
    assert registry.find_registered_type("test.versions", 1).version == 1
    with pytest.raises(UnknownType):
        registry.find_registered_type("test.versions", 3)


def test_a_name_is_registered_once_and_attempts_have_bounds() -> None:
    with pytest.raises(ValueError, match="twice"):
        registry.register_task_type(
            registry.TaskSpec("test.noop", handler=lambda payload, context: None)
        )
    with pytest.raises(ValueError, match="max_attempts"):
        registry.task_type(key="test.too_many", max_attempts=21)(lambda context: None)


def test_whatever_a_secret_value_is_its_texts_are_hidden() -> None:
    schema = {"properties": {"login": {"secret": True}, "anything": True}}
    payload = {"login": {"user": "anna", "codes": ["abcd1234", 12345]}, "anything": [1]}

    assert redact_payload(schema, payload) == {"login": HIDDEN, "anything": [1]}
    assert find_secrets(schema, payload)[0] == "abcd1234"
    assert {*find_secrets(schema, payload)} == {"abcd1234", "12345", "anna"}
