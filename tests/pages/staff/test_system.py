"""The system page shows the state of the services, and nothing about other companies."""

from __future__ import annotations

import re
import tomllib
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.db.models.functions import Now

from jobs.models import Company, Role, User
from pipeline.config.release import VERSION
from pipeline.models import Heartbeat
from tasks.models import TaskWorker
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.clock import let_time_pass
from tests.support.environment import ROOT

SYSTEM = "/company/system/"


@pytest.fixture
def job(company: Company) -> UUID:
    job = factories.job(company_id=company.id, acknowledge_first_seat=True)
    factories.applications(job, 2)
    return job


def words(user: User) -> str:
    page = browser_of(user).get(SYSTEM)
    assert page.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page.content.decode()))


def test_a_viewer_sees_that_the_worker_runs(company: Company) -> None:
    Heartbeat.objects.create(worker="decay", completed_at=Now())

    assert "Running" in words(member_of(company, Role.VIEWER))


def test_a_worker_that_was_never_seen_is_said(ada: User) -> None:
    assert "Never seen" in words(ada)


def test_a_task_worker_that_has_gone_is_said_with_its_last_sign_of_life(ada: User) -> None:
    assert "None has run here recently" in words(ada)

    TaskWorker.objects.create(name="one", slots=2, beat_at=Now() - timedelta(minutes=5))

    assert "Not running" in words(ada)
    assert "Last seen" in words(ada)


def test_an_overdue_deadline_is_told_to_its_own_company_only(ada: User, job: UUID) -> None:
    stranger = member_of(factories.company(), Role.OWNER)
    let_time_pass(job, seconds=factories.WINDOW + 5)

    assert "has not been processed yet" in words(ada)
    assert "has not been processed yet" not in words(stranger)


def test_a_log_is_verified_by_a_button(ada: User, job: UUID) -> None:
    answer = browser_of(ada).post(SYSTEM, {"job": str(job)})

    assert answer.status_code == 200
    assert "Sound" in answer.content.decode()


def test_a_log_that_does_not_agree_with_the_rows_shows(ada: User, job: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_job SET waitlist_count = 7 WHERE id = %s", [job])

    answer = browser_of(ada).post(SYSTEM, {"job": str(job)})

    assert "Not sound" in answer.content.decode()


def test_another_companys_log_is_not_there(job: UUID) -> None:
    stranger = browser_of(member_of(factories.company(), Role.OWNER))

    assert str(job) not in stranger.get(SYSTEM).content.decode()
    assert stranger.post(SYSTEM, {"job": str(job)}).status_code == 404
    assert stranger.post(SYSTEM, {"job": "nonsense"}).status_code == 404


def test_many_jobs_take_no_more_queries(
    ada: User, company: Company, django_assert_max_num_queries: object
) -> None:
    for _ in range(30):
        factories.job(company_id=company.id)
    client = browser_of(ada)
    client.get(SYSTEM)

    with django_assert_max_num_queries(11):  # type: ignore[operator]  # one of them for the rail
        page = client.get(SYSTEM).content.decode()

    assert page.count('class="btn sm" name="job"') == 25


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == VERSION
