"""Background work in the API: single tasks, lists, events and numbers."""

from __future__ import annotations

from datetime import datetime

import pytest

from jobs.models import Company, Role
from tasks import control
from tasks.models import Status
from tests.support import factories
from tests.support.background_tasks import ERROR, dead_sleep, move, row_of, sleep
from tests.support.callers import Caller, member_caller

SLEEP = {"type": "demo.sleep", "payload": {"seconds": 1}}


def test_a_task_shows_what_it_was_given_and_why_it_failed(acme: Caller, company: Company) -> None:
    task = dead_sleep(company.id, seconds=2)

    answer = acme.get(f"/tasks/{task}")
    unchanged = acme.get(f"/tasks/{task}", if_none_match=answer.headers["ETag"])

    told = answer.json()
    assert (told["status"], told["payload"]) == ("DEAD", {"seconds": 2})
    [error] = told["errors"]
    assert (error["kind"], error["message"]) == ("ValueError", "no such week")
    assert error["traceback"] == ERROR["traceback"]
    assert told["last_error"] == {n: v for n, v in error.items() if n != "traceback"}
    assert "a-machine" not in answer.content.decode()
    assert unchanged.status_code == 304


def test_what_the_schema_calls_secret_is_hidden(acme: Caller, company: Company) -> None:
    task = sleep(company.id, label="hunter22")
    row = row_of(task).type
    row.schema["properties"]["label"]["secret"] = True
    row.save()

    answer = acme.get(f"/tasks/{task}")

    assert answer.json()["payload"] == {"label": "[hidden]"}
    assert "hunter22" not in answer.content.decode()


def test_tasks_are_listed_newest_first_in_pages(acme: Caller, company: Company) -> None:
    made = [str(sleep(company.id)) for _ in range(5)]
    sleep(factories.company().id)

    first = acme.get("/tasks", {"limit": 3}).json()
    second = acme.get("/tasks", {"limit": 3, "cursor": first["next_cursor"]}).json()

    assert [each["id"] for each in first["data"] + second["data"]] == made[::-1]
    assert second["next_cursor"] is None


def test_they_are_told_apart_by_status_and_type(acme: Caller, company: Company) -> None:
    dead, waiting = str(dead_sleep(company.id)), str(sleep(company.id))

    def listed(**query: str) -> list[str]:
        return [each["id"] for each in acme.get("/tasks", query).json()["data"]]

    assert listed(status="DEAD") == [dead]
    assert listed(status="PENDING", type="demo.sleep") == [waiting]
    assert listed(type="log.export") == []


def test_the_events_of_a_task_say_in_words_who_did_it(acme: Caller, company: Company) -> None:
    browser = member_caller(company, Role.OWNER)
    task = acme.post("/tasks", SLEEP).json()["id"]
    browser.post(f"/tasks/{task}/cancel")

    first = acme.get(f"/tasks/{task}/events", {"limit": 1}).json()
    rest = acme.get(f"/tasks/{task}/events", {"cursor": first["next_cursor"]}).json()

    events = first["data"] + rest["data"]
    assert [each["kind"] for each in events] == ["enqueued", "cancel_requested", "cancelled"]
    email = company.memberships.get().user.email
    assert [each["actor"]["name"] for each in events] == ["the key “tests”", email, email]
    assert [each["actor"]["kind"] for each in events] == ["key", "member", "member"]
    assert datetime.fromisoformat(events[0]["at"])


@pytest.mark.parametrize(
    ("actor", "kind", "words"),
    [("staff:7", "system", "the site"), ("operator:root", "system", "the site"),
     ("site", "system", "the site"), ("a-machine:71:0af3c2", "worker", "a worker")],
)  # fmt: skip
def test_of_the_sites_own_people_and_machines_no_more_is_said_than_that(
    acme: Caller, company: Company, actor: str, kind: str, words: str
) -> None:
    task = sleep(company.id)
    control.cancel(task, actor=actor)

    answer = acme.get(f"/tasks/{task}/events")

    assert answer.json()["data"][-1]["actor"] == {"kind": kind, "id": None, "name": words}


def test_the_numbers_are_the_companys_own(acme: Caller, company: Company) -> None:
    sleep(company.id)
    dead_sleep(company.id)
    runs = sleep(company.id)
    move(runs, status=Status.RUNNING)
    sleep(factories.company().id)

    told = acme.get("/tasks/stats").json()

    assert told["depth"] == [{"type": "demo.sleep@1", "priority": 0, "count": 1}]
    assert [each["priority"] for each in told["oldest"]] == [0]
    assert 0 <= told["oldest"][0]["age_seconds"] < 60
    assert (told["running"], told["dead"], told["workers_alive"]) == (1, 1, 0)
