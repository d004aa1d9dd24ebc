"""Quiet hours over the API: fields of the policy, and the zone in an event."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import factories
from tests.support.callers import NEW_JOB, Caller, pointers

QUIET = {
    "quiet_from": "22:00",
    "quiet_to": "08:00",
    "quiet_weekends": True,
    "quiet_time_zone": "Europe/Berlin",
}


def test_a_policy_has_its_quiet_hours_and_a_change_keeps_the_rest(acme: Caller) -> None:
    body = acme.post("/jobs", NEW_JOB | {"policy": QUIET}).json()
    assert body["policy"].items() >= QUIET.items()
    job = f"/jobs/{body['id']}"

    off = {"quiet_from": None, "quiet_to": None}
    changed = acme.patch(job, {"policy": off}, If_Match="*").json()

    assert changed["policy"].items() >= (QUIET | off).items()
    assert changed["policy"]["version"] == 2


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({"quiet_from": "22:00"}, "/policy/quiet_from"),
        ({"quiet_from": "22:00", "quiet_to": None}, "/policy/quiet_to"),
        ({"quiet_from": "22:00", "quiet_to": "22:00"}, "/policy/quiet_to"),
        ({"quiet_from": "22:00", "quiet_to": "19:00"}, "/policy/quiet_to"),
        ({"quiet_from": "22:00", "quiet_to": "8:00"}, "/policy/quiet_to"),
        ({"quiet_from": 22, "quiet_to": 8}, "/policy/quiet_from"),
        ({"quiet_weekends": None}, "/policy/quiet_weekends"),
        ({"quiet_time_zone": "Berlin"}, "/policy/quiet_time_zone"),
        ({"quiet_time_zone": "../etc/passwd"}, "/policy/quiet_time_zone"),
        ({"quiet_time_zone": ""}, "/policy/quiet_time_zone"),
    ],
)
def test_what_cannot_be_is_refused(acme: Caller, wrong: dict[str, Any], pointer: str) -> None:
    answer = acme.post("/jobs", NEW_JOB | {"policy": wrong})

    assert answer.status_code == 400
    assert pointer in pointers(answer)


@pytest.mark.django_db(transaction=True)
def test_the_event_of_an_offer_names_the_zone(acme: Caller) -> None:
    policy = QUIET | {"acknowledge_first_seat": True}
    job = acme.post("/jobs", NEW_JOB | {"policy": policy}).json()["id"]
    factories.application(job, factories.applicant(time_zone="Asia/Tokyo"))

    event = acme.get(f"/jobs/{job}/events").json()["data"][-1]

    assert event["data"]["time_zone"] == "Asia/Tokyo"
    timeline = acme.get(f"/applications/{event['application_id']}/timeline").json()
    assert "(Asia/Tokyo time)" in str(timeline)
