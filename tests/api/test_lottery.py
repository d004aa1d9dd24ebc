"""A draw by lot over the API: announced, changed in a draft, and read afterwards."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest

from tests.support import factories
from tests.support.callers import Caller, key_of, person
from tests.support.clock import database_now, let_time_pass
from tests.support.environment import ROOT
from tests.support.lottery import draw, lottery

pytestmark = pytest.mark.django_db(transaction=True)


def _body(days: float = 7, **more: Any) -> dict[str, Any]:
    return {
        "title": "Night watch",
        "capacity": 1,
        "draw_at": (database_now() + timedelta(days=days)).isoformat(),
    } | more


def test_a_lottery_is_created_and_everybody_sees_when_it_is_drawn() -> None:
    owner = key_of(factories.company().id)

    made = owner.post("/jobs", _body()).json()

    assert made["draw_at"] is not None
    assert made["drawn_at"] is None
    assert Caller().get(f"/jobs/{made['id']}").json()["draw_at"] == made["draw_at"]
    plain = owner.post("/jobs", {"title": "Rigger", "capacity": 1}).json()
    assert (plain["draw_at"], plain["drawn_at"]) == (None, None)


def test_applications_have_no_position_before_the_draw_and_one_after_it() -> None:
    job_id = lottery()
    first, caller = person()
    factories.applications(job_id, 3)

    before = caller.post(f"/jobs/{job_id}/applications", {"name": "Ana"}).json()

    path = f"/applications/{before['id']}"
    assert (before["status"], before["position"]) == ("WAITLIST", None)
    assert caller.get(path).json()["position"] is None
    assert caller.get(f"/jobs/{job_id}/forecast").json()["half_wait_seconds"] is None
    draw(job_id)
    after = caller.get(path).json()
    assert after["status"] == "PENDING_ACKNOWLEDGMENT" or after["position"] in (1, 2, 3)
    assert first.id


def test_the_log_holds_all_that_is_needed_to_draw_again() -> None:
    company = factories.company()
    job_id = lottery(company_id=company.id)
    factories.applications(job_id, 3)
    draw(job_id)

    events = key_of(company.id).get(f"/jobs/{job_id}/events").json()["data"]

    [drawn] = [each for each in events if each["event"] == "DRAWN"]
    before = next(each for each in events if each["seq"] == drawn["seq"] - 1)
    seed = sha256(bytes.fromhex(before["hash"]) + drawn["at"].encode()).hexdigest()
    assert drawn["data"]["seed"] == seed
    assert len([each for each in events if each["event"] == "PLACED"]) == 3


def test_a_full_draw_refuses_everybody_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.domain.draw.MOST_IN_DRAW", 2)
    job_id = lottery()
    known, _ = factories.applications(job_id, 2)
    path, name = f"/jobs/{job_id}/applications", {"name": "Ana"}

    answers = [
        person()[1].post(path, name),
        Caller().post(path, name | {"email": "new@example.org"}),
        Caller().post(path, name | {"email": known.applicant.email}),
    ]

    refused = [(each.status_code, each.json()["code"]) for each in answers]
    assert refused == [(409, "LIMIT_REACHED")] * 3


@pytest.mark.parametrize("days", [-1, 91])
def test_a_draw_at_a_wrong_time_is_refused(days: int) -> None:
    answer = key_of(factories.company().id).post("/jobs", _body(days))

    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_SCHEDULE")


def test_only_a_draft_changes_its_draw() -> None:
    owner = key_of(factories.company().id)
    draft = owner.post("/jobs", _body(status="DRAFT"))
    path, later = f"/jobs/{draft.json()['id']}", _body(8)["draw_at"]

    changed = owner.patch(path, {"draw_at": later}, if_match=draft.headers["ETag"])
    opened = owner.post(f"{path}/open")
    again = owner.patch(path, {"draw_at": _body(9)["draw_at"]}, if_match=opened.headers["ETag"])

    assert changed.status_code == 200, changed.json()
    assert changed.json()["draw_at"][:19] == later[:19]
    assert opened.status_code == 200
    assert (again.status_code, again.json()["code"]) == (409, "INVALID_TRANSITION")


def test_a_refused_change_of_the_draw_changes_nothing_else() -> None:
    owner = key_of(factories.company().id)
    made = owner.post("/jobs", _body())
    path = f"/jobs/{made.json()['id']}"

    answer = owner.patch(
        path,
        {"external_id": "crm-9", "draw_at": _body(9)["draw_at"]},
        if_match=made.headers["ETag"],
    )

    assert (answer.status_code, answer.json()["code"]) == (409, "INVALID_TRANSITION")
    assert owner.get(path).json()["external_id"] is None
    assert owner.get(path).headers["ETag"] == made.headers["ETag"]


def test_the_company_reads_no_position_before_the_draw_either() -> None:
    company = factories.company()
    owner, job_id = key_of(company.id), lottery(company_id=company.id)
    factories.applications(job_id, 4)

    def positions() -> list[list[Any]]:
        queue = owner.get(f"/jobs/{job_id}/queue").json()["data"]
        front = owner.get(f"/jobs/{job_id}/pipeline").json()["waitlist"]["data"]
        replayed = owner.get(f"/jobs/{job_id}/replay").json()["waitlist"]
        return [[each["position"] for each in rows] for rows in (queue, front, replayed)]

    assert positions() == [[None] * 4] * 3
    draw(job_id)
    assert positions() == [[1, 2, 3]] * 3


def test_a_draft_is_not_opened_after_the_time_of_its_draw() -> None:
    company = factories.company()
    draft = lottery(company_id=company.id, open_now=False)
    let_time_pass(draft, 700)

    answer = key_of(company.id).post(f"/jobs/{draft}/open")

    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_SCHEDULE")
    document = (ROOT / "docs" / "openapi.yaml").read_text()
    opening = document.partition("\n      operationId: open_job\n")[2].partition("operationId:")[0]
    assert "/responses/InvalidSchedule" in opening
