"""The public box about a job on other sites: what it shows, who may frame it, and its cookies."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from pipeline.services.jobs import close_job, pause_job
from tests.support import factories
from tests.support.applicants import applicant_browser
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_box_shows_the_seats_the_line_and_the_link(visitor: Client) -> None:
    job = factories.job(capacity=1)
    factories.applications(job, 3)

    answer = visitor.get(f"/jobs/{job}/embed/")

    assert "1 of 1 seat taken" in text_of(answer)
    assert "2 people are waiting" in text_of(answer)
    assert f'href="/jobs/{job}/" target="_blank"' in answer.content.decode()


def test_any_site_may_frame_the_box_but_no_other_page(visitor: Client) -> None:
    job = factories.job()

    box, page = visitor.get(f"/jobs/{job}/embed/"), visitor.get(f"/jobs/{job}/")

    assert "frame-ancestors *" in box["Content-Security-Policy"]
    assert "default-src 'none'" in box["Content-Security-Policy"]
    assert "X-Frame-Options" not in box
    assert box["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]


def test_everybody_gets_the_same_box_without_a_cookie(visitor: Client) -> None:
    job, person = factories.job(), factories.applicant()
    factories.application(job, person)

    known = applicant_browser(person).get(f"/jobs/{job}/embed/")
    unknown = visitor.get(f"/jobs/{job}/embed/")

    assert known.content == unknown.content
    for answer in (known, unknown):
        assert answer["Cache-Control"] == "public, max-age=60"
        assert answer["Vary"] == "Accept-Language, Cookie"
        assert not answer.cookies


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        (pause_job, "takes no applications for now"),
        (close_job, "takes no more applications"),
    ],
)
def test_a_box_of_a_job_that_takes_nobody_says_so(visitor: Client, verb: Any, words: str) -> None:
    job = factories.job()
    verb(job_id=job, actor=factories.RECRUITER)

    page = text_of(visitor.get(f"/jobs/{job}/embed/"))

    assert words in page
    assert "Apply (" not in page


def test_a_draft_has_no_box_not_even_for_its_company(visitor: Client) -> None:
    draft = factories.job(open_now=False)

    assert visitor.get(f"/jobs/{draft}/embed/").status_code == 404


def test_a_box_costs_one_query(visitor: Client, django_assert_num_queries: Any) -> None:
    job = factories.job()

    with django_assert_num_queries(1):
        visitor.get(f"/jobs/{job}/embed/")
