"""A company's careers page as visitors see it: its own jobs alone, found by what they look for."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import caches
from django.test import Client
from uuid_utils.compat import uuid7

from jobs.models import Company, JobPosting
from pipeline.careers.pages import save_page, set_logo
from pipeline.consents.pool import set_months
from pipeline.models import Application
from pipeline.services.jobs import close_job
from tests.careers.test_logos import picture
from tests.support import factories
from tests.support.applicants import applicant_browser
from tests.support.pages import text_of
from tests.support.sandboxes import sandbox

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    caches["local"].clear()


@pytest.fixture
def page(company: Company) -> str:
    publish(company, "acme", colour="0b7748", introduction="We **bake**.")
    return "/c/acme/"


def publish(company: Company, slug: str, **values: Any) -> None:
    save_page(company_id=company.id, slug=slug, values=values, by=uuid7())


def opening(company: Company, title: str, **facts: Any) -> UUID:
    job = factories.job(company_id=company.id)
    JobPosting.objects.filter(job_id=job).update(title=title, **facts)
    return job


def titles(answer: Any) -> list[str]:
    found = re.findall(r'<h2><a href="/jobs/[^"]*"[^>]*>(.*?)</a>', answer.content.decode())
    return [re.sub("<[^>]*>", "", each) for each in found]


def test_only_open_jobs_of_the_company_are_there(
    visitor: Client, company: Company, other_company: Company, page: str
) -> None:
    opening(company, "Baker")
    opening(other_company, "Diver")
    closed = opening(company, "Cook")
    close_job(job_id=closed, actor=factories.RECRUITER)
    factories.job(company_id=company.id, open_now=False)
    factories.job(company_id=sandbox(company).id)

    answer = visitor.get(page)

    assert titles(answer) == ["Baker"]
    assert "We <strong>bake</strong>." in answer.content.decode()
    assert "Jobs at Acme" in text_of(answer)
    assert "/c/colours/0b7748.css" in answer.content.decode()


def test_the_page_shows_who_they_are_the_seats_of_each_job_and_one_clear_action(
    visitor: Client, company: Company, page: str
) -> None:
    opening(company, "Baker")

    shown = visitor.get(page).content.decode()

    assert re.findall(r'class="btn primary[^"]*" href="([^"]*)"', shown) == ["#jobs"]
    assert 'id="jobs"' in shown
    assert shown.count('<i class="free">') == 1
    assert '<details class="careers-search ask">' in shown  # in the way of nobody
    searched = visitor.get(f"{page}?q=Bak").content.decode()
    assert '<details class="careers-search ask" open>' in searched


def test_visitors_find_jobs_by_words_place_kind_and_department(
    visitor: Client, company: Company, page: str
) -> None:
    opening(
        company,
        "Baker",
        location="Bern",
        department="Kitchen",
        workplace="ON_SITE",
        employment_type="FULL_TIME",
    )
    opening(
        company,
        "Buyer",
        location="Basel",
        department="Office",
        workplace="REMOTE",
        employment_type="PART_TIME",
    )

    def found(**query: str) -> list[str]:
        return titles(visitor.get(page, query))

    assert found() == ["Buyer", "Baker"]
    assert found(q="kitch") == ["Baker"]
    assert found(location="Bern") == ["Baker"]
    assert found(workplace="REMOTE") == ["Buyer"]
    assert found(employment_type="PART_TIME", department="Office") == ["Buyer"]
    assert found(location="Bern", department="Office") == []
    assert found(location="Nowhere", workplace="x\0") == ["Buyer", "Baker"]  # nothing to choose
    assert "No open jobs match your search" in text_of(visitor.get(page, {"q": "pilot"}))
    assert (
        '<option value="Bern" selected>' in visitor.get(page, {"location": "Bern"}).content.decode()
    )


def test_a_page_without_jobs_says_so(visitor: Client, page: str) -> None:
    assert "No jobs are open at the moment" in text_of(visitor.get(page))


def test_many_jobs_come_one_page_at_a_time(visitor: Client, company: Company, page: str) -> None:
    for number in range(26):
        opening(company, f"Job {number}", location="Bern")

    first = visitor.get(page, {"q": "bern"})
    [link] = re.findall(r'href="(\?[^"]*after=[^"]*)"', first.content.decode())
    second = visitor.get(page + link.replace("&amp;", "&"))

    assert (len(titles(first)), titles(second)) == (24, ["Job 1", "Job 0"])


def test_everybody_gets_the_same_page_without_a_cookie(
    visitor: Client, company: Company, page: str, django_assert_num_queries: Any
) -> None:
    opening(company, "Baker")
    known = applicant_browser(factories.applicant())

    with django_assert_num_queries(3):  # the page, what can be looked for, and the jobs
        answers = [visitor.get(page)]
    answers.append(known.get(page))

    assert answers[0].content == answers[1].content
    for answer in answers:
        assert answer["Cache-Control"] == "public, max-age=60"
        assert not answer.cookies
        assert answer["Vary"] == "Accept-Language, Cookie"
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
        assert "script" not in answer["Content-Security-Policy"]


def test_a_former_name_redirects(visitor: Client, company: Company, page: str) -> None:
    publish(company, "acme-bakery")

    answer = visitor.get("/c/acme/?q=baker")

    assert (answer.status_code, answer["Location"]) == (301, "/c/acme-bakery/?q=baker")
    assert visitor.get("/c/acme-bakery/").status_code == 200
    assert visitor.get("/c/nobody/").status_code == 404


def test_the_logo_is_a_picture_and_nothing_else(
    visitor: Client, company: Company, page: str
) -> None:
    from io import BytesIO

    data = picture("WEBP")
    set_logo(company_id=company.id, file=BytesIO(data), size=len(data), by=uuid7())
    [path] = set(re.findall(r"/c/logos/[^\"]*\.png", visitor.get(page).content.decode()))

    answer = visitor.get(path)

    assert answer.content.startswith(b"\x89PNG")
    assert answer["Content-Type"] == "image/png"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert (
        answer["Content-Security-Policy"] == "sandbox; default-src 'none'; frame-ancestors 'none'"
    )
    assert "immutable" in answer["Cache-Control"]
    assert visitor.get(path.replace(path[-8:], "0000.png")).status_code == 404


@pytest.mark.parametrize(("colour", "status"), [("0b7748", 200), ("0B7748", 404), ("red", 404)])
def test_the_colours_are_a_stylesheet(visitor: Client, colour: str, status: int) -> None:
    answer = visitor.get(f"/c/colours/{colour}.css")

    assert answer.status_code == status
    assert status == 404 or answer["Content-Type"] == "text/css; charset=utf-8"


def test_a_job_shows_the_companys_look_and_its_picture(
    visitor: Client, company: Company, page: str
) -> None:
    pay = {"pay_minimum": 15, "pay_currency": "EUR", "pay_period": "HOUR"}
    facts = {"description": "Bakes **bread**.", "employment_type": "FULL_TIME", "country": "NL"}
    job = opening(company, "Baker", **pay, **facts)

    answer = visitor.get(f"/jobs/{job}/")

    shown = answer.content.decode()
    assert 'href="/c/acme/"' in shown
    assert "/c/colours/0b7748.css" in shown
    assert "From EUR 15 per hour" in text_of(answer)
    assert "Full-time" in text_of(answer)
    assert "Bakes <strong>bread</strong>." in shown
    assert '<meta name="description" content="Bakes bread.">' in shown
    [url] = re.findall(r'<meta property="og:image" content="https?://[^/]*([^"]*)"', shown)
    drawn = visitor.get(url)
    assert drawn["Content-Type"] == "image/png"
    assert "immutable" in drawn["Cache-Control"]
    old = visitor.get(f"/jobs/{job}/picture-0.png")
    assert (old.status_code, old["Location"]) == (302, url)


def test_pictures_of_drafts_and_sandboxes_do_not_exist(visitor: Client, company: Company) -> None:
    draft = factories.job(company_id=company.id, open_now=False)
    test = factories.job(company_id=sandbox(company).id)

    assert [visitor.get(f"/jobs/{job}/picture-1.png").status_code for job in (draft, test)] == [
        404,
        404,
    ]


def test_a_company_keeps_its_jobs_off_the_sites_list(
    visitor: Client, company: Company, other_company: Company
) -> None:
    opening(company, "Baker")
    opening(other_company, "Diver")
    assert titles(visitor.get("/")) == ["Diver", "Baker"]

    publish(company, "acme", is_on_site_list=False)

    assert titles(visitor.get("/")) == ["Diver"]
    assert [each["title"] for each in visitor.get("/api/v1/jobs").json()["data"]] == ["Diver"]
    assert b"Baker" not in visitor.get("/jobs.xml").content
    assert b"Baker" in visitor.get("/c/acme/jobs.xml").content
    assert titles(visitor.get("/c/acme/")) == ["Baker"]


def test_the_operator_switches_the_sites_list_off(
    visitor: Client, company: Company, page: str, settings: Any
) -> None:
    opening(company, "Baker")
    settings.SITE_JOB_LIST = False

    assert titles(visitor.get("/")) == []
    assert "Open jobs are on their companies’ own pages" in text_of(visitor.get("/"))
    assert visitor.get("/api/v1/jobs").json()["data"] == []
    assert visitor.get("/jobs.xml").status_code == 404
    assert titles(visitor.get(page)) == ["Baker"]


def test_search_engines_find_the_page(visitor: Client, company: Company, page: str) -> None:
    opening(company, "Baker")

    assert b"/c/acme/</loc>" in visitor.get("/sitemap.xml").content
    assert b"Allow: /c/" in visitor.get("/robots.txt").content


# In frames on other sites.


def test_only_sites_that_the_company_names_may_frame_list_and_form(
    visitor: Client, company: Company
) -> None:
    job = opening(company, "Baker")
    publish(company, "acme")
    paths = ("/c/acme/embed/", f"/c/acme/embed/jobs/{job}/")
    for path in paths:
        assert "frame-ancestors 'none'" in visitor.get(path)["Content-Security-Policy"]

    publish(company, "acme", embed_origins=["https://a.example", "https://b.example"])

    for path in paths:
        answer = visitor.get(path)
        policy = answer["Content-Security-Policy"]
        assert policy.endswith("frame-ancestors https://a.example https://b.example")
        assert not answer.cookies
        assert answer["Vary"] == "Accept-Language, Cookie"
    for path in ("/c/acme/", f"/jobs/{job}/", "/", "/company/careers/"):
        assert "a.example" not in visitor.get(path, follow=True)["Content-Security-Policy"]
    assert 'target="_blank"' in visitor.get(paths[0]).content.decode()


def test_another_companys_job_has_no_form_there(
    visitor: Client, company: Company, other_company: Company, page: str
) -> None:
    job = opening(other_company, "Diver")

    assert visitor.get(f"/c/acme/embed/jobs/{job}/").status_code == 404


def test_the_form_in_a_frame_works_without_cookies_and_only_from_our_own_page(
    company: Company, page: str
) -> None:
    job = opening(company, "Baker")
    browser = Client(enforce_csrf_checks=True)
    form = browser.get(f"/c/acme/embed/jobs/{job}/").content.decode()
    [action] = re.findall(r'action="([^"]*)"', form)
    person = {"name": "Ana Li", "email": "ana@example.org"}

    refused = [
        browser.post(action, person, headers=headers).status_code
        for headers in ({}, {"origin": "null"}, {"origin": "https://evil.example"},
                        {"origin": "http://testserver.evil.example"})
    ]  # fmt: skip
    answer = browser.post(action, person, headers={"origin": "http://testserver"})

    assert refused == [403] * 4
    assert (answer.status_code, answer["Location"]) == (302, "/code/")
    assert browser.get("/code/").status_code == 200
    assert factories.row_of(job).waitlist_count == 1
    wrong = browser.post(action, {"name": ""}, headers={"origin": "http://testserver"})
    assert wrong.status_code == 422


def test_the_embedded_form_and_list_carry_the_source_of_their_address(
    company: Company, page: str
) -> None:
    job = opening(company, "Baker")
    browser = Client(headers={"Origin": "http://testserver"})

    shown = browser.get(f"{page}embed/jobs/{job}/?source=Our+site&utm_medium=frame")
    listed = browser.get(f"{page}embed/?source=Our+site")

    form = shown.content.decode()
    assert '<input type="hidden" name="source" value="our site">' in form
    assert '<input type="hidden" name="utm_medium" value="frame">' in form
    assert f'href="/jobs/{job}/?source=our+site"' in listed.content.decode()
    told = {"source": "our site", "utm_medium": "frame"}
    browser.post(f"/jobs/{job}/apply-embedded/", {"name": "A", "email": "a@b.example"} | told)
    kept = Application.objects.get().came_from
    assert (kept.source, kept.utm_medium) == ("our site", "frame")


def test_where_people_must_read_or_can_agree_the_embedded_form_leads_to_the_page(
    company: Company, page: str
) -> None:
    job = opening(company, "Baker")
    set_months(company_id=company.id, months=6, by=None)

    shown = Client().get(f"{page}embed/jobs/{job}/?source=fair").content.decode()

    assert "<form" not in shown
    assert f'href="/jobs/{job}/?source=fair#apply"' in shown
