"""The open jobs: what each says of its line, finding one, and pages of many."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs.models import Job
from pipeline.figures.forecast import POSITIONS
from pipeline.models import JobForecast
from pipeline.pages.applicant import openings
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import database_now, let_time_pass
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_job_says_how_its_line_stands(visitor: Client) -> None:
    job = factories.job(capacity=2, company_id=factories.company(name="Harbour").id)
    factories.applications(job, 3)

    page = text_of(visitor.get("/"))

    assert "Engineer Harbour" in page
    assert "2 seats, 1 waiting" in page
    assert "Apply today" not in page


def test_large_numbers_have_commas(visitor: Client) -> None:
    job = factories.job()
    Job.objects.filter(id=job).update(waitlist_count=3002)

    Job.objects.filter(id=job).update(active_count=1)

    assert "1 seat, 3,002 waiting" in text_of(visitor.get("/"))
    assert "1 seat, 3,002 waiting." in text_of(visitor.get(f"/jobs/{job}/"))


def test_the_list_and_the_page_of_a_job_say_the_same_of_the_wait(visitor: Client) -> None:
    job, unknown = factories.job(capacity=2), factories.job(capacity=5)
    factories.applications(job, 5)
    *holders, _last = factories.applications(unknown, 10)[:5]
    let_time_pass(unknown, 7200)
    for each in holders:  # those who got a seat soon do not make the wait known
        leave(each)
    known = {str(place): [4 * 86_400, 9 * 86_400, 20] for place in POSITIONS}
    JobForecast.objects.create(
        job_id=job, seq=1, made_at=database_now(), positions=known, settled=0, came_true=0
    )

    said = text_of(visitor.get("/"))

    assert said.count("Apply today: a seat in 4 to 9 days") == 1
    assert "a seat in 4 to 9 days" in text_of(visitor.get(f"/jobs/{job}/"))
    for page in (f"/jobs/{unknown}/", f"/jobs/{unknown}/facts/"):
        assert "How long you will wait is not known yet." in text_of(visitor.get(page))
        assert "Typical wait" not in text_of(visitor.get(page))


def test_only_open_jobs_are_shown(visitor: Client) -> None:
    draft = factories.job(open_now=False)

    page = visitor.get("/")

    assert str(draft) not in page.content.decode()
    assert "No jobs are open at the moment" in text_of(page)


@pytest.mark.parametrize("words", ["engin", "harb engineer", "HARBOUR"])
def test_a_job_is_found_by_title_and_company(visitor: Client, words: str) -> None:
    factories.job(company_id=factories.company(name="Harbour").id)

    assert "Engineer" in text_of(visitor.get("/", {"q": words}))


def test_what_is_not_found_says_so_and_leads_back(visitor: Client) -> None:
    factories.job()

    page = visitor.get("/", {"q": "<b>astronaut"})

    assert "No open jobs match your search" in text_of(page)
    assert "<b>astronaut" not in page.content.decode()


def test_many_jobs_are_a_page_at_a_time(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openings, "ON_ONE_PAGE", 2)
    jobs = [factories.job() for _ in range(3)]

    first = visitor.get("/", {"q": "engineer"})
    second = visitor.get(first.context["next_url"])

    assert [each.job.id for each in first.context["openings"]] == [jobs[2], jobs[1]]
    assert [each.job.id for each in second.context["openings"]] == [jobs[0]]
    assert second.context["next_url"] is None
    assert second.context["first_url"] == "/?q=engineer"


@pytest.mark.parametrize("after", ["nonsense", "\0"])
def test_a_page_that_never_was_is_the_first(visitor: Client, after: str) -> None:
    factories.job()

    assert visitor.get("/", {"after": after, "q": "\0"}).status_code == 200


def test_the_number_of_queries_does_not_grow(
    visitor: Client, django_assert_num_queries: Any
) -> None:
    for _ in range(3):
        factories.applications(factories.job(), 2)

    with django_assert_num_queries(2):  # the jobs, and how long things took
        visitor.get("/")
