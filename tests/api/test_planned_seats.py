"""Planned seats over the API: planned by owners, seen by everyone, and cancelled."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from jobs.models import Role
from pipeline.models import PlannedSeats
from tests.support import factories
from tests.support.callers import Caller, key_of, member_caller, person
from tests.support.clock import database_now, let_time_pass
from tests.support.planned_seats import planned, reserve

pytestmark = pytest.mark.django_db(transaction=True)


def _path(job_id: UUID, planned_id: Any = "") -> str:
    return f"/jobs/{job_id}/planned-seats" + (f"/{planned_id}" if planned_id else "")


def test_seats_are_planned_seen_by_everybody_and_cancelled() -> None:
    company = factories.company()
    job_id, owner = factories.job(company_id=company.id), key_of(company.id)
    first_at = (database_now() + timedelta(days=7)).replace(microsecond=0)
    body = {"seats": 2, "first_at": first_at.isoformat(), "zone": "Europe/Berlin", "times": 3}

    made = owner.post(_path(job_id), body)

    assert made.status_code == 201
    row = made.json()
    assert made.headers["Location"].endswith(_path(job_id, row["id"]))
    assert (row["seats"], row["times"], row["times_left"], row["zone"]) == (
        2,
        3,
        3,
        "Europe/Berlin",
    )
    for anyone in (Caller(), person()[1], owner):
        assert anyone.get(_path(job_id)).json() == {"data": [row], "next_cursor": None}
        assert anyone.get(_path(job_id, row["id"])).json() == row
    assert owner.delete(_path(job_id, row["id"])).status_code == 204
    assert owner.delete(_path(job_id, row["id"])).status_code == 404
    assert Caller().get(_path(job_id)).json()["data"] == []


def test_the_event_in_the_log_names_the_plan() -> None:
    company = factories.company()
    job_id = factories.job(company_id=company.id)
    plan = planned(job_id, 2)
    let_time_pass(job_id, 601)
    factories.settle_all()

    events = key_of(company.id).get(f"/jobs/{job_id}/events").json()["data"]

    [changed] = [each for each in events if each["event"] == "CAPACITY_CHANGED"]
    assert changed["data"]["planned_seats_id"] == str(plan.id)
    assert changed["actor"] == {"kind": "SYSTEM", "id": None}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"seats": 0}, 400, "INVALID_SCHEDULE"),
        ({"first_at": "2020-01-01T00:00:00Z"}, 400, "INVALID_SCHEDULE"),
        ({"zone": "Mars"}, 400, "INVALID_SCHEDULE"),
        ({"seats": 10_001}, 400, "VALIDATION_ERROR"),
        ({"times": 105}, 400, "VALIDATION_ERROR"),
        ({"every": "week"}, 400, "VALIDATION_ERROR"),
    ],
)
def test_a_wrong_plan_is_refused(body: dict[str, Any], status: int, code: str) -> None:
    company = factories.company()
    job_id = factories.job(company_id=company.id)
    whole = {"seats": 1, "first_at": (database_now() + timedelta(days=1)).isoformat()}

    answer = key_of(company.id).post(_path(job_id), whole | body)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not PlannedSeats.objects.exists()


def test_only_owners_plan_and_cancel() -> None:
    company = factories.company()
    job_id = factories.job(company_id=company.id)
    plan = planned(job_id)
    recruiter = member_caller(company, Role.RECRUITER)

    assert recruiter.post(_path(job_id), {"seats": 1}).status_code == 403
    assert recruiter.delete(_path(job_id, plan.id)).status_code == 403
    assert key_of(factories.company().id).delete(_path(job_id, plan.id)).status_code == 404
    assert PlannedSeats.objects.filter(id=plan.id).exists()


def test_the_plans_of_a_draft_are_not_public() -> None:
    draft = factories.job(open_now=False)
    plan = planned(draft)

    assert Caller().get(_path(draft)).status_code == 404
    assert Caller().get(_path(draft, plan.id)).status_code == 404


def test_a_plan_that_would_close_reserved_seats_is_refused() -> None:
    company = factories.company()
    job_id = factories.job(company_id=company.id, capacity=2)
    reserve(job_id, 2)
    body = {"seats": -1, "first_at": (database_now() + timedelta(days=7)).isoformat()}

    refused = key_of(company.id).post(_path(job_id), body)

    assert (refused.status_code, refused.json()["code"]) == (409, "RESERVE_REFUSED")
    assert not PlannedSeats.objects.exists()
