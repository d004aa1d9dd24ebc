"""Schedules over the API."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company
from tasks.models import Schedule
from tests.support import factories
from tests.support.callers import Caller, code_of, pointers

MONDAYS = {
    "name": "Mondays",
    "cron": "0 9 * * 1",
    "zone": "Europe/Amsterdam",
    "type": "demo.sleep",
    "payload": {"seconds": 1},
}


def test_a_schedule_shows_the_next_five_times_in_its_zone(acme: Caller, company: Company) -> None:
    answer = acme.post("/schedules", MONDAYS)

    told = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/api/v1/schedules/{told['id']}"
    assert len(told["next_times"]) == 5
    assert {time[10:16] for time in told["next_times"]} <= {"T07:00", "T08:00"}
    assert (told["enabled"], told["catch_up"], told["problem"]) == (True, False, None)
    row = Schedule.objects.get()
    assert (row.owner_id, str(row.id)) == (company.id, told["id"])
    assert acme.get(f"/schedules/{told['id']}").json() == told


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"cron": "every day"}, "INVALID_SCHEDULE", None),
        ({"cron": "0 0 30 2 *"}, "INVALID_SCHEDULE", None),
        ({"zone": "Mars/Olympus"}, "INVALID_SCHEDULE", None),
        ({"type": "mail.send"}, "UNKNOWN_TASK_TYPE", "/type"),
        ({"payload": {"seconds": "1"}}, "INVALID_PAYLOAD", "/payload/seconds"),
        ({"name": ""}, "VALIDATION_ERROR", "/name"),
    ],
)
def test_what_could_never_run_is_refused_at_once(
    acme: Caller, change: dict[str, Any], code: str, pointer: str | None
) -> None:
    made = acme.post("/schedules", MONDAYS | change)
    good = acme.post("/schedules", MONDAYS).json()
    changed = acme.patch(f"/schedules/{good['id']}", change)

    for answer in (made, changed):
        assert code_of(answer) == (400, code)
        assert pointers(answer) == ([pointer] if pointer else [])
    assert Schedule.objects.count() == 1


def test_a_schedule_cannot_name_somebody_elses_job(acme: Caller) -> None:
    payload = {"job_id": str(factories.job())}

    answer = acme.post("/schedules", MONDAYS | {"type": "report.weekly", "payload": payload})

    assert (code_of(answer), pointers(answer)) == ((400, "INVALID_PAYLOAD"), ["/payload/job_id"])


def test_it_can_be_changed_switched_off_and_ended(acme: Caller) -> None:
    address = f"/schedules/{acme.post('/schedules', MONDAYS).json()['id']}"
    planned = Schedule.objects.get().next_at

    renamed = acme.patch(address, {"name": "Weekly", "priority": 5}).json()
    off = acme.patch(address, {"enabled": False}).json()
    moved = acme.patch(address, {"enabled": True, "cron": "30 9 * * 1"}).json()

    assert (renamed["name"], renamed["priority"], off["name"]) == ("Weekly", 5, "Weekly")
    assert (off["enabled"], off["next_times"]) == (False, [])
    assert moved["next_times"][0].endswith(":30:00.000000Z")
    assert Schedule.objects.get().next_at > planned
    assert acme.delete(address).status_code == 204
    assert code_of(acme.get(address)) == (404, "NOT_FOUND")


def test_a_new_name_does_not_move_the_next_time(acme: Caller) -> None:
    told = acme.post("/schedules", MONDAYS | {"cron": "* * * * *"}).json()
    due = Schedule.objects.get().created_at
    Schedule.objects.update(next_at=due)

    acme.patch(f"/schedules/{told['id']}", {"name": "Minutes"})

    assert Schedule.objects.get().next_at == due


def test_a_company_sees_only_its_own_newest_first(acme: Caller, other: Caller) -> None:
    names = ["a", "b", "c"]
    made = [acme.post("/schedules", MONDAYS | {"name": name}).json()["id"] for name in names]

    first = acme.get("/schedules", {"limit": 2}).json()
    second = acme.get("/schedules", {"cursor": first["next_cursor"]}).json()

    assert [each["name"] for each in first["data"] + second["data"]] == ["c", "b", "a"]
    assert other.get("/schedules").json()["data"] == []
    for answer in (
        other.get(f"/schedules/{made[0]}"),
        other.patch(f"/schedules/{made[0]}", {"name": "mine"}),
        other.delete(f"/schedules/{made[0]}"),
    ):
        assert code_of(answer) == (404, "NOT_FOUND")


def test_a_company_can_have_only_so_many(
    acme: Caller, other: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.work.schedules.MOST_SCHEDULES", 2)
    acme.post("/schedules", MONDAYS)
    second = acme.post("/schedules", MONDAYS, idempotency_key="second")

    refused = acme.post("/schedules", MONDAYS)

    assert second.status_code == 201
    assert code_of(refused) == (409, "LIMIT_REACHED")
    assert other.post("/schedules", MONDAYS).status_code == 201
