"""Dead letters in the API: reading, replaying and discarding them."""

from __future__ import annotations

import pytest

from jobs.models import Company
from tasks.models import TaskEvent, TaskType
from tests.support import factories
from tests.support.background_tasks import dead_sleep, row_of, sleep
from tests.support.callers import UNKNOWN_ID, Caller, code_of, pointers


def test_dead_letters_are_listed_the_oldest_first(acme: Caller, company: Company) -> None:
    made = [str(dead_sleep(company.id)) for _ in range(3)]
    sleep(company.id)
    dead_sleep(factories.company().id)

    first = acme.get("/tasks/dead", {"limit": 2}).json()
    second = acme.get("/tasks/dead", {"limit": 2, "cursor": first["next_cursor"]}).json()
    of_another_type = acme.get("/tasks/dead", {"type": "log.export"}).json()

    assert [each["id"] for each in first["data"] + second["data"]] == made
    assert first["data"][0]["last_error"]["message"] == "no such week"
    assert of_another_type["data"] == []


def test_one_runs_again_with_all_its_attempts_and_the_history_says_who_did_it(
    acme: Caller, company: Company
) -> None:
    task = dead_sleep(company.id, seconds=2)

    answer = acme.post(f"/tasks/{task}/replay")

    told = answer.json()
    assert (answer.status_code, told["status"], told["attempt"]) == (200, "PENDING", 0)
    assert row_of(task).payload == {"seconds": 2}
    event = TaskEvent.objects.filter(task_id=task).latest("id")
    assert (event.kind, event.actor) == ("replayed", f"key:{company.api_keys.get().id}")


def test_it_can_be_edited_first_within_what_its_type_takes(acme: Caller, company: Company) -> None:
    task = dead_sleep(company.id, then="fail")

    bad = acme.post(f"/tasks/{task}/replay", {"payload": {"then": "dance"}})
    good = acme.post(f"/tasks/{task}/replay", {"payload": {"seconds": 0}})

    assert code_of(bad) == (400, "INVALID_PAYLOAD")
    assert pointers(bad) == ["/payload/then"]
    assert (good.status_code, row_of(task).payload) == (200, {"seconds": 0})


def test_an_edit_cannot_name_somebody_elses_job(acme: Caller, company: Company) -> None:
    task = dead_sleep(company.id)
    row = row_of(task)
    row.type = TaskType.objects.get(key="log.export")
    row.save()

    answer = acme.post(
        f"/tasks/{task}/replay", {"payload": {"job_id": str(factories.job()), "format": "csv"}}
    )

    assert code_of(answer) == (400, "INVALID_PAYLOAD")
    assert pointers(answer) == ["/payload/job_id"]


@pytest.mark.parametrize("how", ["/tasks/{}/replay", "/tasks/dead/replay"])
def test_a_sensitive_type_asks_for_a_confirmation(acme: Caller, company: Company, how: str) -> None:
    task = dead_sleep(company.id)
    TaskType.objects.filter(key="demo.sleep").update(sensitive=True)
    body = {"type": "demo.sleep"} if "dead" in how else {}

    unsure = acme.post(how.format(task), body)
    sure = acme.post(how.format(task), body | {"confirmed": True})

    assert code_of(unsure) == (409, "CONFIRMATION_NEEDED")
    assert (sure.status_code, row_of(task).status) == (200, "PENDING")


def test_one_that_is_given_up_stays_so(acme: Caller, company: Company) -> None:
    task = dead_sleep(company.id)

    given_up = acme.post(f"/tasks/{task}/discard")
    late = [acme.post(f"/tasks/{task}/{verb}") for verb in ("discard", "replay")]

    assert (given_up.status_code, given_up.json()["status"]) == (200, "DISCARDED")
    assert [code_of(each) for each in late] == [(409, "INVALID_TRANSITION")] * 2


def test_many_of_a_type_run_again_but_only_ones_own(acme: Caller, company: Company) -> None:
    made = [dead_sleep(company.id) for _ in range(3)]
    foreign = dead_sleep(factories.company().id)

    two = acme.post("/tasks/dead/replay", {"type": "demo.sleep", "limit": 2})
    rest = acme.post("/tasks/dead/replay", {"type": "demo.sleep"})
    unknown = acme.post("/tasks/dead/replay", {"type": "mail.send"})

    assert [two.json(), rest.json()] == [{"replayed": 2}, {"replayed": 1}]
    assert [row_of(each).status for each in (*made, foreign)] == ["PENDING"] * 3 + ["DEAD"]
    assert code_of(unknown) == (400, "UNKNOWN_TASK_TYPE")


def test_somebody_elses_task_does_not_exist(acme: Caller, other: Caller, company: Company) -> None:
    task = dead_sleep(company.id)

    for verb in ("replay", "discard", "cancel"):
        foreign = other.post(f"/tasks/{task}/{verb}").json()
        missing = other.post(f"/tasks/{UNKNOWN_ID}/{verb}").json()
        del foreign["request_id"], missing["request_id"]
        assert foreign == missing
        assert foreign["code"] == "NOT_FOUND"
    assert row_of(task).status == "DEAD"
