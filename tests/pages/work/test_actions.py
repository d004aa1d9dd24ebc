"""Changes to schedules and pauses of types on pages are recorded with their actor."""

from __future__ import annotations

from typing import Any

from django.test import Client

from jobs.models import Company
from pipeline.work import schedules
from pipeline.work.schedules import Plan
from tasks.models import TaskAct

LIST = "/company/work/schedules/"


def test_members_are_named_for_what_they_do(owner: Client, company: Company) -> None:
    plan = Plan("Nap", "0 8 * * *", "demo.sleep", payload={"seconds": 3})
    made = schedules.create(company_id=company.id, plan=plan, actor="someone else")

    owner.post(f"{LIST}{made.id}/switch/", {"enabled": "no"})
    owner.post(f"{LIST}{made.id}/delete/")

    whats: list[Any] = list(TaskAct.objects.order_by("id").values_list("what", "actor", "owner_id"))
    member = f"member:{owner.session['_auth_user_id']}"
    assert whats[1:] == [
        ("schedule_changed", member, company.id),
        ("schedule_deleted", member, company.id),
    ]
