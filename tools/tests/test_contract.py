"""The comparison of two contracts: it finds what breaks a client, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tools.contract import RELEASED, breaking_changes, compared, written

RELEASE = json.loads(RELEASED.read_text())
APPLY = "/jobs/{job_id}/applications"


def schema(part: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = part["components"]["schemas"][name]
    return found


def without_operation(part: dict[str, Any]) -> None:
    del part["paths"]["/jobs/{job_id}/close"]


def without_field(part: dict[str, Any]) -> None:
    del schema(part, "Job")["properties"]["seats_free"]


def with_a_field_that_may_be_missing(part: dict[str, Any]) -> None:
    schema(part, "Job")["required"].remove("capacity")


def with_a_field_that_may_be_null(part: dict[str, Any]) -> None:
    schema(part, "Job")["properties"]["capacity"]["type"] = ["integer", "null"]


def with_a_new_required_field(part: dict[str, Any]) -> None:
    schema(part, "JobIn")["properties"]["team"] = {"type": "string"}
    schema(part, "JobIn")["required"].append("team")


def with_a_request_field_gone(part: dict[str, Any]) -> None:
    del schema(part, "JobIn")["properties"]["location"]


def with_a_narrower_choice(part: dict[str, Any]) -> None:
    schema(part, "DecisionIn")["properties"]["outcome"]["enum"].remove("HIRED")


def with_an_event_renamed(part: dict[str, Any]) -> None:
    names = schema(part, "EventName")["enum"]
    names[names.index("PROMOTED")] = "OFFERED"


def with_a_known_code_gone(part: dict[str, Any]) -> None:
    known = {"enum": ["JOB_CREATED"], "type": "string"}
    event = {"anyOf": [known, {"type": "string"}]}
    schema(part, "Event")["properties"]["event"] = event


def with_a_lower_limit(part: dict[str, Any]) -> None:
    schema(part, "JobIn")["properties"]["title"]["maxLength"] = 100


def with_another_format(part: dict[str, Any]) -> None:
    schema(part, "Job")["properties"]["created_at"]["format"] = "date"


def with_a_parameter_gone(part: dict[str, Any]) -> None:
    operation = part["paths"]["/jobs/{job_id}/events"]["get"]
    operation["parameters"] = [
        each for each in operation["parameters"] if each["name"] != "after_seq"
    ]


def with_a_parameter_required(part: dict[str, Any]) -> None:
    for each in part["paths"]["/jobs"]["get"]["parameters"]:
        each["required"] = each["required"] or each["name"] == "status"


def with_another_status(part: dict[str, Any]) -> None:
    answers = part["paths"][APPLY]["post"]["responses"]
    answers["200"] = answers.pop("201")


def with_another_code(part: dict[str, Any]) -> None:
    for answer in part["components"]["responses"].values():
        if "JOB_NOT_OPEN" in answer.get("x-codes", ()):
            answer["x-codes"][answer["x-codes"].index("JOB_NOT_OPEN")] = "CLOSED"


BREAKING: dict[Callable[[dict[str, Any]], None], str] = {
    without_operation: "the operation is gone",
    without_field: "seats_free: the field is gone",
    with_a_field_that_may_be_missing: "capacity: no longer always there",
    with_a_field_that_may_be_null: "capacity: can be null now",
    with_a_new_required_field: "team: required now",
    with_a_request_field_gone: "location: the field is gone",
    with_a_narrower_choice: "no longer one of ['HIRED']",
    with_an_event_renamed: "no longer one of ['PROMOTED']",
    with_a_known_code_gone: "no longer one of ['ACKNOWLEDGED'",
    with_a_lower_limit: "maxLength 200 became 100",
    with_another_format: "the format date-time became date",
    with_a_parameter_gone: "the parameter after_seq is gone",
    with_a_parameter_required: "the parameter status is required now",
    with_another_status: "no longer answers 201",
    with_another_code: "the code JOB_NOT_OPEN is gone",
}


@pytest.mark.parametrize("change", BREAKING, ids=lambda change: change.__name__)
def test_a_breaking_change_is_found(change: Callable[[dict[str, Any]], None]) -> None:
    changed = deepcopy(RELEASE)
    change(changed)

    found = breaking_changes(RELEASE, changed)

    assert any(BREAKING[change] in each for each in found), found


def with_more_of_everything(part: dict[str, Any]) -> None:
    schema(part, "Job")["properties"]["team"] = {"type": "string"}
    schema(part, "JobIn")["properties"]["team"] = {"type": "string"}
    schema(part, "JobIn")["properties"]["title"]["maxLength"] = 300
    schema(part, "EventName")["enum"].append("REINSTATED")
    event = schema(part, "Event")["properties"]["event"]
    schema(part, "Event")["properties"]["event"] = {"anyOf": [event, {"type": "string"}]}
    part["paths"]["/teams"] = deepcopy(part["paths"]["/jobs"])
    part["paths"]["/jobs"]["get"]["parameters"].append(
        {"name": "team", "in": "query", "schema": {"type": "string"}}
    )


def test_additions_break_nobody() -> None:
    changed = deepcopy(RELEASE)
    with_more_of_everything(changed)

    assert breaking_changes(RELEASE, changed) == []


def test_what_is_not_compared_is_not_kept_and_each_part_has_its_line() -> None:
    document = deepcopy(RELEASE)
    document["info"] = {"title": "The API"}
    document["paths"]["/jobs"]["get"]["description"] = "Lists jobs."

    kept = written(compared(document))

    assert json.loads(kept) == RELEASE
    assert schema(RELEASE, "Job")["properties"]["description"]
    assert f'"Job": {json.dumps(schema(RELEASE, "Job"), sort_keys=True)},\n' in kept
