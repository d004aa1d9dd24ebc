"""Viewers read about background work, recruiters act on tasks, owners also on schedules."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company
from pipeline.work import schedules
from pipeline.work.schedules import Plan
from tests.support.background_tasks import dead, started, status_of

READ = ["", "dead/", "types/", "schedules/", "{task}/"]
PLANNED = ["schedules/new/", "schedules/{schedule}/", "schedules/{schedule}/delete/"]
OF_TASKS = ["{task}/edit/", "{task}/discard/"]
POSTED = ["{task}/cancel/", "{task}/replay/", "schedules/{schedule}/switch/"]
OF_TYPES = ["dead/replay/", "types/demo.sleep/pause/", "types/demo.sleep/resume/"]


@pytest.fixture
def ids(company: Company) -> dict[str, UUID]:
    plan = Plan(name="Nap", cron="0 8 * * 1", type_key="demo.sleep")
    schedule = schedules.create(company_id=company.id, plan=plan)
    return {"task": dead(company), "schedule": schedule.id}


def codes(client: Client, verb: str, paths: list[str], ids: dict[str, UUID]) -> set[int]:
    ask = getattr(client, verb)
    return {ask(f"/company/work/{path.format(**ids)}").status_code for path in paths}


def test_a_viewer_reads_everything_and_changes_nothing(
    viewer: Client, ids: dict[str, UUID]
) -> None:
    assert codes(viewer, "get", READ, ids) == {200}
    assert codes(viewer, "get", PLANNED + OF_TASKS, ids) == {403}
    everything = ["", *PLANNED, *OF_TASKS, *POSTED, *OF_TYPES]
    assert codes(viewer, "post", everything, ids) == {403}
    assert status_of(ids["task"]) == "DEAD"


def test_a_viewer_is_shown_no_buttons(viewer: Client, ids: dict[str, UUID]) -> None:
    for path in READ:
        page = viewer.get(f"/company/work/{path.format(**ids)}").content.decode()

        main = page.partition("<main")[2]
        assert 'method="post"' not in main


def test_a_recruiter_acts_on_tasks_and_only_an_owner_on_schedules(
    recruiter: Client, owner: Client, ids: dict[str, UUID]
) -> None:
    assert codes(recruiter, "get", READ + OF_TASKS, ids) == {200}
    assert codes(recruiter, "get", PLANNED, ids) == {403}
    assert codes(recruiter, "post", [*PLANNED, "schedules/{schedule}/switch/"], ids) == {403}
    assert (
        'href="/company/work/schedules/new/"'
        not in recruiter.get("/company/work/schedules/").content.decode()
    )
    assert codes(owner, "get", READ + PLANNED + OF_TASKS, ids) == {200}


def test_what_is_another_companys_does_not_exist(stranger: Client, ids: dict[str, UUID]) -> None:
    of_one = [path for path in (*READ, *PLANNED, *OF_TASKS, *POSTED) if "{" in path]

    reads = [path for path in of_one if path not in POSTED]
    assert codes(stranger, "get", reads, ids) == {404}
    posts = [path for path in of_one if path != "{task}/"]
    assert codes(stranger, "post", posts, ids) == {404}
    assert status_of(ids["task"]) == "DEAD"


def test_lists_and_switches_are_of_ones_own_company(
    stranger: Client, recruiter: Client, company: Company
) -> None:
    task = started(company)
    letter = dead(company)

    stranger.post("/company/work/types/demo.sleep/pause/")
    stranger.post("/company/work/dead/replay/", {"type": "demo.sleep"})

    assert "Sleep 5 s" not in stranger.get("/company/work/").content.decode()
    assert (status_of(task), status_of(letter)) == ("PENDING", "DEAD")
    assert "Paused" not in recruiter.get("/company/work/types/").content.decode()


def test_who_is_not_signed_in_signs_in_first(ids: dict[str, UUID]) -> None:
    answer = Client().get(f"/company/work/{ids['task']}/")

    assert answer.status_code == 302
    assert answer["Location"].startswith("/account/login/")
