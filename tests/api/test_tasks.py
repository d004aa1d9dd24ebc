"""Starting and cancelling background work through the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs.models import Company, Role
from tasks.models import Status, Task
from tests.support import factories
from tests.support.background_tasks import move, row_of, sleep
from tests.support.callers import UNKNOWN_ID, Caller, code_of, member_caller, pointers
from tests.support.clock import database_now
from tests.support.keyed_posts import let_leases_run_out

SLEEP = {"type": "demo.sleep", "payload": {"seconds": 1}}


def test_a_company_starts_work(acme: Caller, company: Company) -> None:
    answer = acme.post("/tasks", {**SLEEP, "priority": 7, "max_attempts": 2})

    assert answer.status_code == 201
    told = answer.json()
    assert answer.headers["Location"] == f"/api/v1/tasks/{told['id']}"
    assert (told["type"], told["version"], told["status"]) == ("demo.sleep", 1, "PENDING")
    assert (told["priority"], told["attempt"], told["max_attempts"]) == (7, 0, 2)
    assert (told["is_new"], told["progress"], told["last_error"]) == (True, None, None)
    row = row_of(told["id"])
    assert (row.owner_id, row.payload) == (company.id, {"seconds": 1})
    assert row.producer == f"key:{company.api_keys.get().id}"
    assert row.request_id == answer.headers["X-Request-ID"]


def test_a_member_starts_work_under_their_own_name(company: Company) -> None:
    browser = member_caller(company, Role.RECRUITER)

    told = browser.post("/tasks", SLEEP).json()

    assert told["producer"] == f"member:{company.memberships.get().user_id}"


def test_a_known_key_gives_the_first_task_whatever_became_of_it(
    acme: Caller, other: Caller
) -> None:
    body = {**SLEEP, "idempotency_key": "nightly"}
    first = acme.post("/tasks", body)
    move(first.json()["id"], status=Status.SUCCEEDED)

    again = acme.post("/tasks", {**body, "priority": 9})
    of_another_company = other.post("/tasks", body)

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]
    assert (again.json()["status"], again.json()["is_new"]) == ("SUCCEEDED", False)
    assert again.json()["idempotency_key"] == "nightly"
    assert of_another_company.status_code == 201


def test_it_can_be_for_later(acme: Caller) -> None:
    at = database_now().replace(microsecond=0) + timedelta(hours=3)

    later = acme.post("/tasks", {**SLEEP, "run_after": at.isoformat()}).json()
    soon = acme.post("/tasks", {**SLEEP, "delay_seconds": 60}).json()

    assert row_of(later["id"]).run_after == at
    waits = row_of(soon["id"]).run_after - database_now()
    assert timedelta(seconds=55) < waits <= timedelta(seconds=60)


def test_a_time_that_is_past_gets_nobody_ahead_of_others(acme: Caller) -> None:
    before = database_now()

    told = acme.post("/tasks", {**SLEEP, "run_after": "1999-12-31T23:59:59Z"}).json()

    assert row_of(told["id"]).run_after >= before


@pytest.mark.parametrize(
    ("change", "status", "code", "pointer"),
    [
        ({"type": "mail.send"}, 400, "UNKNOWN_TASK_TYPE", "/type"),
        ({"version": 99}, 400, "UNKNOWN_TASK_TYPE", "/type"),
        ({"payload": {"seconds": -1}}, 400, "INVALID_PAYLOAD", "/payload/seconds"),
        ({"payload": {"for": 1}}, 400, "INVALID_PAYLOAD", "/payload"),
        ({"payload": 5}, 400, "VALIDATION_ERROR", "/payload"),
        ({"payload": {"label": "x" * 70_000}}, 413, "PAYLOAD_TOO_LARGE", None),
        ({"run_after": "2999-01-01T00:00:00Z"}, 400, "VALIDATION_ERROR", "/run_after"),
        ({"run_after": "9999-12-31T00:00:00Z"}, 400, "VALIDATION_ERROR", "/run_after"),
        ({"run_after": "tomorrow"}, 400, "VALIDATION_ERROR", "/run_after"),
        (
            {"run_after": "2030-01-01T00:00:00Z", "delay_seconds": 5},
            400,
            "VALIDATION_ERROR",
            "/delay_seconds",
        ),
    ],
)
def test_what_cannot_be_started_is_refused_by_name(
    acme: Caller, change: dict[str, Any], status: int, code: str, pointer: str | None
) -> None:
    answer = acme.post("/tasks", SLEEP | change)

    assert code_of(answer) == (status, code)
    assert pointers(answer) == ([pointer] if pointer else [])
    assert not Task.objects.exists()
    assert len(answer.content) < 2_000
    if str(change.get("run_after")).startswith("9999"):
        assert "9999-12-31T00:00:00" in answer.json()["errors"][0]["detail"]


def test_work_on_a_foreign_job_is_refused_like_work_on_none(acme: Caller) -> None:
    foreign = {"job_id": str(factories.job()), "format": "csv"}
    missing = foreign | {"job_id": UNKNOWN_ID}

    answers = [
        acme.post("/tasks", {"type": "log.export", "payload": each}).json()
        for each in (foreign, missing)
    ]

    assert [each["code"] for each in answers] == ["INVALID_PAYLOAD"] * 2
    assert answers[0]["errors"] == answers[1]["errors"]
    assert answers[0]["errors"][0]["pointer"] == "/payload/job_id"


def test_a_batch_is_taken_whole(acme: Caller) -> None:
    acme.post("/tasks", {**SLEEP, "idempotency_key": "b"})

    answer = acme.post(
        "/tasks/batch", {"tasks": [SLEEP | {"idempotency_key": each} for each in "abc"]}
    )

    assert answer.status_code == 201
    told = answer.json()["data"]
    assert [each["is_new"] for each in told] == [True, False, True]
    assert [each["idempotency_key"] for each in told] == ["a", "b", "c"]
    assert Task.objects.count() == 3


def test_or_not_at_all_and_the_one_that_spoilt_it_is_named(acme: Caller) -> None:
    bad = {"type": "demo.sleep", "payload": {"then": "dance"}}

    of_engine = acme.post("/tasks/batch", {"tasks": [SLEEP, bad, SLEEP]})
    of_shape = acme.post("/tasks/batch", {"tasks": [SLEEP, SLEEP | {"priority": 101}]})

    assert code_of(of_engine) == (400, "INVALID_PAYLOAD")
    assert pointers(of_engine) == ["/tasks/1/payload/then"]
    assert code_of(of_shape) == (400, "VALIDATION_ERROR")
    assert pointers(of_shape) == ["/tasks/1/priority"]
    assert not Task.objects.exists()


@pytest.mark.parametrize("count", [0, 101])
def test_a_batch_has_one_to_a_hundred(acme: Caller, count: int) -> None:
    answer = acme.post("/tasks/batch", {"tasks": [SLEEP] * count})

    assert (code_of(answer), pointers(answer)) == ((400, "VALIDATION_ERROR"), ["/tasks"])


def test_a_retry_of_a_request_that_was_cut_off_finds_its_tasks(
    acme: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("pipeline.web.idempotency.keep_idempotent_answer", lambda *_, **__: None)
        first = acme.post("/tasks", SLEEP, idempotency_key="k")
    let_leases_run_out()

    retry = acme.post("/tasks", SLEEP, idempotency_key="k")

    assert (retry.status_code, retry.json()["id"]) == (201, first.json()["id"])
    assert (retry.json()["idempotency_key"], retry.json()["is_new"]) == (None, True)
    assert Task.objects.count() == 1


@pytest.mark.parametrize("key", ["request:1:0", "schedule:1:2026-01-31T12:00:00+00:00"])
def test_a_key_cannot_be_mistaken_for_one_of_a_request_or_a_schedule(
    acme: Caller, key: str
) -> None:
    answer = acme.post("/tasks", {**SLEEP, "idempotency_key": key})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert answer.json()["errors"][0]["pointer"] == "/idempotency_key"


def test_a_task_that_waits_is_called_off_at_once(acme: Caller, company: Company) -> None:
    task = sleep(company.id)

    first, again = (acme.post(f"/tasks/{task}/cancel") for _ in range(2))

    assert [first.status_code, again.status_code] == [202, 202]
    assert first.json()["status"] == "CANCELLED"


def test_one_that_runs_is_asked_to_stop_and_one_that_has_ended_is_not(
    acme: Caller, company: Company
) -> None:
    runs, ended = sleep(company.id), sleep(company.id)
    move(runs, status=Status.RUNNING)
    move(ended, status=Status.SUCCEEDED)

    asked, late = (acme.post(f"/tasks/{each}/cancel") for each in (runs, ended))

    assert (asked.status_code, asked.json()["status"]) == (202, "CANCELLING")
    assert code_of(late) == (409, "INVALID_TRANSITION")
    assert "SUCCEEDED" in late.json()["detail"]
