"""Taking a prepared file away, and asking for one."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import Company, Membership, Role, User
from pipeline.files.exports import LONG_LOG
from pipeline.models import StoredFile
from tasks.models import Task
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.crowd import crowd
from tests.support.handlers import Run


@pytest.fixture
def job(company: Company) -> UUID:
    return factories.job(company_id=company.id)


@pytest.fixture
def address(job: UUID, company: Company) -> str:
    """Return the URL of a file of that job's log."""
    run = Run("log.export", {"job_id": str(job), "format": "jsonl"}, company.id)
    return f"/company/files/{run.result['file_id']}/"


@pytest.mark.parametrize("role", list(Role))
def test_every_member_can_take_a_file_away(address: str, company: Company, role: Role) -> None:
    response = browser_of(member_of(company, role)).get(address)
    body = b"".join(response)

    assert response.status_code == 200
    assert body.count(b"\n") == 2
    assert response["Content-Length"] == str(len(body))
    assert response["Content-Type"] == "application/jsonl; charset=utf-8"
    assert response["Content-Disposition"].startswith('attachment; filename="engineer-log-')
    assert "no-store" in response["Cache-Control"]


def test_nobody_else_can(address: str) -> None:
    stranger = browser_of(member_of(factories.company(name="Other"), Role.OWNER)).get(address)

    assert stranger.status_code == 404
    assert Client().get(address).status_code == 302


def test_a_member_of_two_companies_finds_the_files_of_both(address: str, company: Company) -> None:
    client = browser_of(member_of(factories.company(name="A first one"), Role.VIEWER))
    user = User.objects.get(id=client.session["_auth_user_id"])
    Membership.objects.create(company=company, user=user, role=Role.VIEWER)

    assert client.get(address).status_code == 200


def test_a_file_that_is_over_or_not_complete_is_said_to_be_gone(
    address: str, company: Company
) -> None:
    viewer = browser_of(member_of(company, Role.VIEWER))

    for change in ({"expires_at": timezone.now() - timedelta(seconds=1)}, {"is_complete": False}):
        before = StoredFile.objects.values(*change).get()
        StoredFile.objects.update(**change)
        response = viewer.get(address)
        assert response.status_code == 404
        assert "We keep prepared files for 7 days" in response.content.decode()
        StoredFile.objects.update(**before)
    assert viewer.get(f"/company/files/{uuid4()}/").status_code == 404


def prepare(client: Client, job: UUID, file: str) -> int:
    return client.post(f"/company/jobs/{job}/export/", {"file": file}).status_code


def test_a_member_asks_for_a_file_and_sees_how_far_it_is(job: UUID, company: Company) -> None:
    viewer = browser_of(member_of(company, Role.VIEWER))

    response = viewer.post(f"/company/jobs/{job}/export/", {"file": "applications.csv"})

    task = Task.objects.select_related("type").get()
    assert (task.type.key, task.owner_id) == ("applications.export", company.id)
    assert task.payload == {"job_id": str(job), "format": "csv"}
    assert task.producer.startswith("member:")
    assert response["Location"] == f"/company/work/{task.id}/"


def test_what_is_no_file_or_somebody_elses_is_not_prepared(job: UUID, company: Company) -> None:
    viewer = browser_of(member_of(company, Role.VIEWER))

    assert prepare(viewer, job, "people.csv") == 404
    assert prepare(viewer, job, "log.xlsx") == 404
    assert prepare(browser_of(member_of(factories.company(), Role.OWNER)), job, "log.csv") == 404
    assert not Task.objects.exists()


def test_the_timeline_offers_it_for_long_logs_only(job: UUID, company: Company) -> None:
    viewer = browser_of(member_of(company, Role.VIEWER))
    address = f"/company/jobs/{job}/timeline/"

    assert "Prepare the log" not in viewer.get(address).content.decode()
    crowd(job, LONG_LOG)
    assert "Prepare the log (CSV)" in viewer.get(address).content.decode()
