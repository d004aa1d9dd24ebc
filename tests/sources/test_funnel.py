"""The funnel by source: of a job and of a company, with times, in bounded queries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company
from pipeline.domain.states import Outcome
from pipeline.models import Application, JobViews
from pipeline.privacy.erase import erase_person
from pipeline.selectors.jobs import read_job
from pipeline.services.joining import verify
from pipeline.services.leaving import remove
from pipeline.sources import funnel
from pipeline.sources.funnel import SourceRow
from pipeline.sources.origin import Origin
from tests.support import factories
from tests.support.callers import Caller, code_of
from tests.support.clock import let_time_pass
from tests.support.pages import page_of

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3_600


def came(job: UUID, source: str, **how: Any) -> Application:
    return factories.application(job, companions=[Origin.read({"source": source})], **how)


@pytest.fixture
def job(company: Company) -> UUID:
    """A job with people from three sources: one hired, one in a seat, and one unproved."""
    job = factories.job(company_id=company.id, capacity=1)
    hired = came(job, "fair")
    unproved = came(job, "fair", verified=False)
    came(job, "")
    came(job, "board", verified=False)
    let_time_pass(job, HOUR)
    verify(application_id=unproved.id, actor=factories.owner_of(unproved))
    remove(application_id=hired.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)
    JobViews.objects.create(job_id=job, day=datetime.now(UTC).date(), source="fair", views=9)
    JobViews.objects.create(job_id=job, day=datetime.now(UTC).date(), source="paper", views=2)
    return job


def test_each_source_shows_how_far_its_people_got_and_how_long_it_took(job: UUID) -> None:
    found = funnel.read_job(read_job(job), days=30)

    by_source = {row.source: row for row in found.rows}
    assert list(by_source) == ["fair", "board", "direct", "paper"]
    fair = by_source["fair"]
    assert fair[1:6] == (9, 2, 2, 1, 1)
    assert fair.to_verified == pytest.approx(HOUR / 2, abs=60)
    assert (fair.to_seated, fair.to_hired) == (0, pytest.approx(HOUR, abs=60))
    assert by_source["board"][1:] == (0, 1, 0, 0, 0, None, None, None)
    assert by_source["direct"][1:6] == (0, 1, 1, 0, 0)
    assert by_source["paper"][1:6] == (2, 0, 0, 0, 0)
    assert found.total[1:6] == (11, 4, 3, 1, 1)
    assert not found.is_cut


def test_a_company_adds_up_its_own_jobs(job: UUID, company: Company) -> None:
    came(factories.job(company_id=company.id), "fair")
    came(factories.job(), "fair")

    found = funnel.read_company(company.id, days=30)

    assert found.rows[0].source == "fair"
    assert found.total.applied == 5


def test_people_of_an_earlier_time_are_left_out(job: UUID) -> None:
    assert funnel.read_job(read_job(job), days=30).total.applied == 4
    let_time_pass(job, timedelta(days=31).total_seconds())

    assert funnel.read_job(read_job(job), days=30).total.applied == 0


def test_the_rest_of_many_sources_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(funnel, "MOST_SOURCES", 1)
    job = factories.job()
    for source in ("a", "a", "b", "c"):
        came(job, source)
    JobViews.objects.create(job_id=job, day=datetime.now(UTC).date(), source="c", views=3)

    found = funnel.read_job(read_job(job), days=30)

    assert [row[:3] for row in found.rows] == [("a", 0, 2), (None, 3, 2)]


def test_nobody_is_a_row_of_zeros() -> None:
    found = funnel.read_job(read_job(factories.job()), days=30)

    assert found.rows == []
    assert found.total == SourceRow(None, 0, 0, 0, 0, 0, None, None, None)


def test_members_see_it_as_a_table_and_as_a_file(viewer: Client, job: UUID) -> None:
    pages = {f"/company/jobs/{job}/sources/": "engineer", "/company/sources/": "company"}
    for page, name in pages.items():
        shown = page_of(viewer, page)
        file = viewer.get(f"{page}file.csv?days=365")

        assert "fair" in shown
        assert "People by source" in shown
        lines = file.content.decode("utf-8-sig").splitlines()
        assert lines[0].startswith("source,viewed,applied,verified,seated,hired,median")
        assert lines[1].startswith('"fair",9,2,2,1,1,')
        assert f'filename="{name}-sources.csv"' in file.headers["Content-Disposition"]


def test_a_source_in_a_file_is_no_formula(viewer: Client, company: Company) -> None:
    job = factories.job(company_id=company.id)
    came(job, "=1+1")

    lines = viewer.get(f"/company/jobs/{job}/sources/file.csv").content.decode().splitlines()

    assert lines[1].startswith('"\'=1+1"')


def test_a_program_reads_the_same(acme: Caller, other: Caller, job: UUID) -> None:
    one = acme.get(f"/jobs/{job}/sources").json()
    all_jobs = acme.get("/companies/me/sources?days=30").json()

    assert one["sources"][0]["source"] == "fair"
    assert one["total"] == all_jobs["total"]
    assert one["total"]["hired"] == 1
    assert code_of(other.get(f"/jobs/{job}/sources")) == (404, "NOT_FOUND")
    assert acme.get(f"/jobs/{job}/sources?days=0").status_code == 400


def test_people_who_are_erased_are_counted_without_their_source(job: UUID) -> None:
    person = Application.objects.filter(came_from__source="board").get().applicant_id
    erase_person(applicant_id=person)

    found = {row.source: row.applied for row in funnel.read_job(read_job(job), days=30).rows}
    assert found == {"fair": 2, "": 1, "direct": 1, "paper": 0}
