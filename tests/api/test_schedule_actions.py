"""Audit of schedule changes made through the API."""

from __future__ import annotations

import pytest

from jobs.models import ApiKey
from tasks.models import TaskAct
from tests.support.callers import Caller

pytestmark = pytest.mark.django_db
PLAN = {"name": "Mondays", "cron": "0 9 * * 1", "type": "demo.sleep"}


def test_schedules_over_the_api_are_kept_in_the_keys_name(acme: Caller) -> None:
    made = acme.post("/schedules", PLAN).json()["id"]
    acme.patch(f"/schedules/{made}", {"enabled": False})
    acme.delete(f"/schedules/{made}")

    acts = TaskAct.objects.order_by("id")
    assert [act.what for act in acts] == [
        *("schedule_created", "schedule_changed", "schedule_deleted")
    ]
    assert {act.target for act in acts} == {made}
    assert {act.actor for act in acts} == {f"key:{ApiKey.objects.get().id}"}
    assert [act.data["enabled"] for act in acts] == [True, False, False]
