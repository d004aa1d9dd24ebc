"""Schedules: rhythms in words, the next five runs before anything is saved, on, off and gone."""

from __future__ import annotations

from datetime import time
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company
from pipeline.pages.work.schedules import RHYTHMS, describe_cron, parse_rhythm, write_cron
from pipeline.work import schedules
from pipeline.work.schedules import MOST_SCHEDULES, Plan
from tasks.models import Schedule
from tests.support import factories
from tests.support.pages import follow, page_of

LIST = "/company/work/schedules/"
NEW = f"{LIST}new/"


@pytest.fixture
def form(job: UUID) -> dict[str, Any]:
    return {
        "name": "Monday report",
        "type": "report.weekly",
        "job": str(job),
        "rhythm": "weekly",
        "day": "1",
        "at": "08:00",
        "zone": "Europe/Berlin",
    }


def test_an_empty_list_says_what_to_do_next(owner: Client, viewer: Client) -> None:
    assert NEW in page_of(owner, LIST)
    assert NEW not in page_of(viewer, LIST)


def test_the_next_five_runs_are_shown_before_saving(owner: Client, form: dict[str, Any]) -> None:
    answer = owner.post(NEW, form | {"preview": "1", "name": ""})

    assert answer.status_code == 200
    runs = answer.context["runs"]
    assert len(runs) == 5
    page = answer.content.decode()
    assert page.count(", 08:00 (Berlin)</time>") == 5
    assert "Every Monday at 08:00" in page
    assert "Fill in this field" not in page
    assert Schedule.objects.count() == 0


def test_a_schedule_is_made_once_however_often_it_is_sent(
    owner: Client, form: dict[str, Any], job: UUID
) -> None:
    form["schedule_id"] = str(owner.get(NEW).context["form"].initial["schedule_id"])

    page = follow(owner, NEW, form)
    follow(owner, NEW, form)

    assert "Every Monday at 08:00" in page
    assert "Weekly report of Engineer" in page
    made = Schedule.objects.get()
    assert (made.cron, made.zone) == ("0 8 * * 1", "Europe/Berlin")
    assert made.payload == {"job_id": str(job), "zone": "Europe/Berlin"}


def test_an_expert_writes_five_fields(owner: Client, form: dict[str, Any]) -> None:
    page = follow(owner, NEW, form | {"rhythm": "cron", "cron": "15 2-4 * * 1,3", "at": ""})

    assert "<code>15 2-4 * * 1,3</code>" in page


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"job": ""}, "job"),
        ({"at": "soon"}, "at"),
        ({"at": ""}, "at"),
        ({"zone": "Mars/Base"}, "zone"),
        ({"type": "applications.import"}, "type"),
        ({"rhythm": "cron", "cron": "61 * * * *"}, "cron"),
        ({"rhythm": "cron", "cron": "0 0 31 2 *"}, "cron"),
        ({"rhythm": "cron", "cron": ""}, "cron"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    owner: Client, form: dict[str, Any], wrong: dict[str, str], field: str
) -> None:
    answer = owner.post(NEW, form | wrong)

    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert Schedule.objects.count() == 0


def test_times_that_never_come_are_said_when_the_runs_are_asked_for(
    owner: Client, form: dict[str, Any]
) -> None:
    answer = owner.post(NEW, form | {"rhythm": "cron", "cron": "nonsense", "preview": "1"})

    assert answer.status_code == 422
    assert "This expression never runs." in answer.content.decode()


def test_another_companys_job_cannot_be_chosen(owner: Client, form: dict[str, Any]) -> None:
    answer = owner.post(NEW, form | {"job": str(factories.job())})

    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["job"]


def test_a_schedule_is_changed_and_keeps_what_the_form_does_not_ask_for(
    owner: Client, company: Company, form: dict[str, Any], job: UUID
) -> None:
    payload = {"job_id": str(job), "format": "jsonl"}
    plan = Plan("Log", "5 * * * *", "log.export", payload=payload, priority=7, enabled=False)
    made = schedules.create(company_id=company.id, plan=plan)
    shown = owner.get(f"{LIST}{made.id}/")
    assert shown.context["form"].initial["rhythm"] == "hourly"
    assert len(shown.context["runs"]) == 5

    changed = form | {"type": "log.export", "format": "csv", "name": "Log by day"}
    follow(owner, f"{LIST}{made.id}/", changed | {"rhythm": "daily"})

    made.refresh_from_db()
    assert (made.name, made.cron, made.payload["format"]) == ("Log by day", "0 8 * * *", "csv")
    assert (made.priority, made.enabled) == (7, False)


def test_a_schedule_is_switched_off_and_on_and_deleted(owner: Client, company: Company) -> None:
    plan = Plan("Nap", "0 8 * * *", "demo.sleep", payload={"seconds": 3})
    made = schedules.create(company_id=company.id, plan=plan)

    assert "No next run" in follow(owner, f"{LIST}{made.id}/switch/", {"enabled": "no"})
    assert "Next: " in follow(owner, f"{LIST}{made.id}/switch/", {"enabled": "yes"})
    assert "Nap" in page_of(owner, f"{LIST}{made.id}/delete/")
    assert "Schedule “Nap” deleted." in follow(owner, f"{LIST}{made.id}/delete/", {})
    assert owner.get(f"{LIST}{made.id}/").status_code == 404


def test_too_many_schedules_are_refused(
    owner: Client, company: Company, form: dict[str, Any]
) -> None:
    plan = Plan("Nap", "0 8 * * *", "demo.sleep")
    one = schedules.create(company_id=company.id, plan=plan)
    rows = [
        Schedule(
            name="x", cron=one.cron, type_key="demo.sleep", owner_id=company.id, next_at=one.next_at
        )
        for _ in range(MOST_SCHEDULES - 1)
    ]
    Schedule.objects.bulk_create(rows)

    answer = owner.post(NEW, form)

    assert answer.status_code == 422
    assert f"can have {MOST_SCHEDULES} schedules" in answer.content.decode()


@pytest.mark.parametrize("rhythm", [each for each in RHYTHMS if each != "cron"])
def test_rhythms_are_read_back_from_their_cron_expressions(rhythm: str) -> None:
    at = time(0 if rhythm == "hourly" else 17, 5)

    found = parse_rhythm(write_cron(rhythm, at, 3))

    assert found is not None
    assert found[:2] == (rhythm, at)


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("0 * * * *", "Every hour"),
        ("5 * * * *", "Every hour, 5 minutes past"),
        ("0 8 * * 1-5", "Monday to Friday at 08:00"),
        ("0 8 * * 0", "Every Sunday at 08:00"),
        ("30 6 1 * *", "On the 1st of every month at 06:30"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("* * * * *", "Every minute"),
        ("*/7 * * * *", ""),
        ("0 8 1 * 1", ""),
        ("@daily", ""),
    ],
)
def test_only_what_is_certain_is_put_into_words(cron: str, words: str) -> None:
    assert describe_cron(cron) == words


def test_a_schedule_is_run_now_once_and_its_history_shows_it(
    owner: Client, viewer: Client, stranger: Client, company: Company, job: UUID
) -> None:
    plan = Plan("Nightly log", "0 2 * * *", "log.export", payload={"job_id": str(job)})
    plan.payload["format"] = "csv"
    schedule = schedules.create(company_id=company.id, plan=plan)
    here = f"{LIST}{schedule.id}/"
    assert "It has not run in the last 30 days." in page_of(viewer, f"{here}history/")

    once = {"once": "01a20067-f797-756d-b038-6ee358443f86"}
    follow(owner, f"{here}run/", once)
    page = follow(owner, f"{here}run/", once)

    assert "Started. Its next time stays as it is." in page
    assert page.count('class="task-row"') == 1
    assert Schedule.objects.get(id=schedule.id).next_at == schedule.next_at
    assert "Run now" not in page_of(viewer, f"{here}history/")
    assert viewer.post(f"{here}run/", once).status_code == 403
    assert stranger.get(f"{here}history/").status_code == 404
    assert stranger.post(f"{here}run/").status_code == 404
