"""Types that a company may start, and pausing one for the company alone."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

from jobs.models import Company
from pipeline.work.catalog import COMPANY_TYPES
from tasks import control
from tests.support.background_tasks import row_of
from tests.support.callers import Caller, code_of
from tests.support.handlers import Run
from tests.support.weeks import two_weeks


def told(caller: Caller, key: str = "demo.sleep") -> Any:
    """Return the answer about a type for a caller."""
    [found] = [each for each in caller.get("/task-types").json()["data"] if each["key"] == key]
    return found


def test_a_company_sees_what_it_may_start_and_within_which_limits(acme: Caller) -> None:
    data = acme.get("/task-types").json()["data"]

    assert [each["key"] for each in data] == list(COMPANY_TYPES)
    sleep = data[-1]
    assert sleep["payload_schema"]["properties"].keys() == {"seconds", "then", "label"}
    assert (sleep["queue"], sleep["max_attempts"], sleep["timeout_seconds"]) == ("demo", 3, 600)
    assert (sleep["allowed"], sleep["paused"], sleep["breaker"]) == (True, False, "CLOSED")


def test_a_company_pauses_a_type_for_itself_alone(
    acme: Caller, other: Caller, company: Company
) -> None:
    first, again = (acme.post("/task-types/demo.sleep/pause") for _ in range(2))

    assert (first.status_code, again.status_code) == (200, 200)
    assert told(acme)["paused"] is True
    by = told(acme)["paused_by"]
    key_id = str(company.api_keys.get().id)
    assert by == {"kind": "key", "id": key_id, "name": "the key “tests”"}
    assert told(other)["paused"] is False

    resumed = acme.post("/task-types/demo.sleep/resume").json()

    assert (resumed["paused"], resumed["paused_by"]) == (False, None)


def test_a_pause_of_the_site_is_told_and_not_a_companys_to_take_back(acme: Caller) -> None:
    acme.post("/tasks", {"type": "demo.sleep"})
    control.pause("demo.sleep", actor="admin")

    acme.post("/task-types/demo.sleep/resume")

    assert told(acme)["paused"] is True
    assert told(acme)["paused_by"] == {"kind": "system", "id": None, "name": "the site"}


def test_what_no_company_may_start_cannot_be_paused_either(acme: Caller) -> None:
    for key in ("mail.send", "demo.sleep@1", "nothing"):
        assert code_of(acme.post(f"/task-types/{key}/pause")) == (404, "NOT_FOUND")


def test_a_pending_task_says_that_its_type_is_paused(acme: Caller, other: Caller) -> None:
    acme.post("/task-types/demo.sleep/pause")
    started = acme.post("/tasks", {"type": "demo.sleep"}).json()
    path = f"/tasks/{started['id']}"
    paused = acme.get(path)

    assert (started["status"], started["type_paused"]) == ("PENDING", True)
    assert paused.json()["type_paused"] is True
    assert acme.get("/tasks").json()["data"][0]["type_paused"] is True
    assert other.post("/tasks", {"type": "demo.sleep"}).json()["type_paused"] is False

    acme.post("/task-types/demo.sleep/resume")

    assert acme.get(path, if_none_match=paused.headers["ETag"]).json()["type_paused"] is False
    control.pause("demo.sleep", actor="admin")
    assert acme.get(path).json()["type_paused"] is True
    assert acme.post(f"{path}/cancel").json()["type_paused"] is False


def test_results_fit_the_documented_schemas(
    acme: Caller, company: Company, transactional_db: None
) -> None:
    job = two_weeks(company)
    csv = b"name,email\nMia,mia@example.org\nOle,nonsense\n"
    imported = acme.post(f"/jobs/{job}/applications/import", csv, content_type="text/csv").json()
    import_id = str(row_of(imported["id"]).payload["import_id"])
    payloads: dict[str, dict[str, Any]] = {
        "applications.import": {"import_id": import_id},
        "applications.export": {"job_id": str(job), "format": "csv"},
        "log.export": {"job_id": str(job), "format": "jsonl"},
        "report.weekly": {"job_id": str(job)},
        "line.what_if": {"job_id": str(job), "capacity": 2},
        "demo.sleep": {"seconds": 0},
    }

    results = {key: Run(key, payload, company.id).result for key, payload in payloads.items()}

    assert results.keys() == COMPANY_TYPES.keys()
    for key, result in results.items():
        schema = told(acme, key)["result_schema"]
        assert list(Draft202012Validator(schema).iter_errors(result)) == [], key
        assert result.keys() <= schema["properties"].keys()
