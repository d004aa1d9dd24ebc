"""Abilities of handlers, in real children."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tasks.enqueue import enqueue
from tasks.models import TaskEvent
from tests.support.task_workers import TaskWorker
from tests.support.waiting import eventually
from tests.tasks.seen import add, events, marks, status, task

HOOKS = ("on_start", "on_success", "on_fail", "on_end")


def hooks(name: str) -> list[int]:
    return [marks(f"{name}:{hook}") for hook in HOOKS]


def test_hooks_are_called_at_the_start_and_when_no_retry_follows(worker: TaskWorker) -> None:
    good = add("test.hooked", name="good")
    bad = add("test.hooked", name="bad", then="fail")
    dead = add("test.hooked", name="dead", then="die")

    eventually(lambda: (status(good), status(bad)) == ("SUCCEEDED", "DEAD"))
    eventually(lambda: status(dead) == "DEAD" and marks("dead:on_end"))

    assert hooks("good") == [1, 1, 0, 1]
    assert hooks("bad") == [2, 0, 1, 1]
    assert hooks("dead") == [2, 0, 1, 1]


def test_a_secret_stands_nowhere_but_in_the_payload(worker: TaskWorker) -> None:
    name = add("test.secret", token="hunter2-hunter2")

    eventually(lambda: status(name) == "DEAD")

    made = task(name)
    told = list(TaskEvent.objects.filter(task_id=name).values_list("data", flat=True))
    assert "cannot log in with [hidden]" in made.errors[0]["message"]
    assert {"leak", "[hidden]"} <= {*_words(told)}
    assert "hunter2" not in str(made.errors) + str(told) + str(made.progress) + worker.said


def _words(told: list[Any]) -> list[str]:
    found = []
    for data in told:
        if data and "name" in data:
            found += [data["name"], data["data"]["token"]]
    return found


def test_demo_sleep_tells_its_progress_and_its_result(worker: TaskWorker) -> None:
    name = add("demo.sleep", seconds=1.5)

    eventually(lambda: (task(name).progress or {}).get("done", 0) > 0)
    eventually(lambda: status(name) == "SUCCEEDED")

    assert task(name).result["slept_seconds"] == pytest.approx(1.5, abs=0.5)
    assert events(name).count("progress") == 1  # the history has one every 30 seconds


def test_a_failure_that_was_asked_for_is_no_warning_in_the_log(worker: TaskWorker) -> None:
    asked_for = enqueue("demo.sleep", {"then": "fail"}, max_attempts=1).id
    another = add("test.hooked", name="bad", then="fail")

    eventually(lambda: (status(asked_for), status(another)) == ("DEAD", "DEAD"))

    assert "test.hooked@1 failed" in worker.said
    assert "demo.sleep" not in worker.said


@pytest.mark.parametrize(
    ("then", "end", "error"),
    [
        ("fail", "DEAD", "tasks.errors.Expected"),
        ("fatal", "DEAD", "tasks.errors.Fatal"),
        ("discard", "DISCARDED", "tasks.errors.Discard"),
        ("hog", "DEAD", "MemoryError"),
        ("die", "DEAD", "ChildDied"),
    ],
)
def test_demo_sleep_misbehaves_as_told(worker: TaskWorker, then: str, end: str, error: str) -> None:
    name = enqueue("demo.sleep", {"seconds": 0, "then": then}, max_attempts=1).id

    eventually(lambda: status(name) == end)

    assert task(name).errors[0]["class"] == error


def test_the_environment_of_children_is_clean(worker: TaskWorker) -> None:
    name = add("test.environment")

    eventually(lambda: status(name) == "SUCCEEDED")

    assert "DATABASE_URL" in task(name).result
    assert "PAYMENT_PASSWORD" not in task(name).result


def test_a_transaction_left_open_does_not_reach_the_next_run(worker: TaskWorker) -> None:
    first = add("test.left_open")
    eventually(lambda: status(first) == "SUCCEEDED")
    second = add("test.mark", name="kept")
    eventually(lambda: status(second) == "SUCCEEDED")

    assert (marks("left"), marks("kept")) == (0, 1)


def test_the_enqueuing_request_is_named_in_the_handlers_log(worker: TaskWorker) -> None:
    job = str(uuid4())
    name = enqueue("test.log", {"job_id": job}, request_id="req-42").id

    eventually(lambda: status(name) == "SUCCEEDED")

    [line] = [line for line in worker.said.splitlines() if "hello from the handler" in line]
    assert "req-42" in line
    assert str(name) in line
    assert f"job_id={job}" in line or f'"job_id": "{job}"' in line


def test_a_handler_knows_for_whom_it_runs(worker: TaskWorker) -> None:
    owner = uuid4()
    owned = enqueue("test.one_at_a_time", owner_id=owner).id
    free = enqueue("test.one_at_a_time").id

    eventually(lambda: {status(owned), status(free)} == {"SUCCEEDED"})

    assert (task(owned).result, task(free).result) == (str(owner), "None")


def test_after_a_failover_the_next_attempt_has_a_connection_that_writes(
    worker: TaskWorker,
) -> None:
    name = add("test.failover", name="written")

    eventually(lambda: status(name) in ("SUCCEEDED", "DEAD"))

    assert "read-only" in task(name).errors[0]["message"]
    assert (status(name), task(name).attempt, marks("written")) == ("SUCCEEDED", 2, 1)
