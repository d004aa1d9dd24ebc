"""Turns of two processes that meet in one, and what comes of them if that one ends."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from pipeline.line.handover import OUTCOME_SECONDS
from tests.support.environment import ROOT, process_environment

pytestmark = pytest.mark.faults


def tell(story: str) -> dict[str, Any]:
    """Run a story in processes of its own; what they saw."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.line.meeting_processes", story],
        env=process_environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    seen: dict[str, Any] = json.loads(ended.stdout)
    return seen


def test_requests_of_two_processes_are_decided_together_in_the_order_in_which_they_came() -> None:
    seen = tell("order")

    assert seen["owner"]["batches"] == [["first"], ["second", "third", "fourth", "fifth"]]
    assert seen["other"] == {"batches": [], "outcomes": {"third": "THIRD", "fifth": "FIFTH"}}


def test_without_the_hand_over_each_process_would_decide_on_its_own() -> None:
    seen = tell("apart")

    assert seen["owner"]["batches"] == [["first"], ["fourth", "second"]]
    assert sorted(seen["other"]["outcomes"]) == ["fifth", "third"]
    assert seen["other"]["batches"]


def test_a_request_whose_owner_was_killed_fails_at_once_like_one_with_a_lost_connection() -> None:
    seen = tell("killed")

    assert seen["other"]["batches"] == [], "nobody knows whether it was carried out"
    assert seen["other"]["outcomes"]["request"].startswith("OperationalError: ")
    assert seen["seconds"] < OUTCOME_SECONDS / 2


def test_a_request_that_cannot_be_handed_over_is_carried_out_here() -> None:
    seen = tell("full")

    assert seen["other"] == {"batches": [["request"]], "outcomes": {"request": "REQUEST"}}


def test_refusals_and_errors_of_the_owner_are_those_of_the_request() -> None:
    seen = tell("outcomes")

    assert seen["other"]["outcomes"] == {
        "refused": "JobNotOpen: " + seen["other"]["outcomes"]["refused"].partition(": ")[2],
        "busy": "OperationalError: locked from LockNotAvailable",
    }
    assert seen["owner"]["batches"] == [["refused"], ["busy"]]


def test_an_owner_that_says_nothing_holds_up_one_request_and_not_the_next() -> None:
    seen = tell("silent")

    assert seen["other"]["batches"] == [["second"]]
    assert seen["other"]["outcomes"]["first"].startswith("OperationalError: ")
    assert seen["seconds"][1] < 1
    assert seen["owner"]["batches"] == [["later"]], "the client was told that it failed"
