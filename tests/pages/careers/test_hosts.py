"""Own domains: only the company's page and jobs are there, and no other host is answered."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import caches
from django.db.models.functions import Now
from django.test import Client
from uuid_utils.compat import uuid7

from jobs.models import Company, JobPosting
from pipeline.careers.domains import set_domain
from pipeline.careers.pages import save_page
from pipeline.models import CareersPage
from tests.careers.google import faults
from tests.support import factories
from tests.support.accounts import browser_of, member_of

pytestmark = pytest.mark.django_db(transaction=True)

DOMAIN = "jobs.acme.example"


@pytest.fixture(autouse=True)
def _site(settings: Any) -> None:
    settings.SITE_URL = "https://line.example"
    settings.ALLOWED_HOSTS = ["line.example", "testserver"]
    caches["local"].clear()


@pytest.fixture
def job(company: Company) -> UUID:
    serve(company, "acme", DOMAIN)
    job = factories.job(company_id=company.id)
    JobPosting.objects.filter(job_id=job).update(
        title="Baker", description="Bakes **bread**.", country="NL"
    )
    return job


def serve(company: Company, slug: str, domain: str) -> None:
    save_page(company_id=company.id, slug=slug, values={"colour": "0b7748"}, by=uuid7())
    set_domain(company_id=company.id, domain=domain, by=uuid7())
    CareersPage.objects.filter(company=company).update(domain_proved_at=Now())
    caches["local"].clear()


def at(path: str, host: str = DOMAIN, client: Client | None = None, **how: Any) -> Any:
    return (client or Client()).get(path, headers={"host": host}, **how)


def test_the_domain_shows_the_companys_page_and_its_jobs(job: UUID, other_company: Company) -> None:
    factories.job(company_id=other_company.id)

    page, shown = at("/"), at(f"/jobs/{job}/")

    assert re.findall(r'<h2><a href="([^"]*)"', page.content.decode()) == [f"/jobs/{job}/"]
    assert f'href="https://line.example/jobs/{job}/"' in shown.content.decode()
    assert "Bakes <strong>bread</strong>." in shown.content.decode()
    [text] = re.findall(
        r'<script type="application/ld\+json">(.*?)</script>', shown.content.decode()
    )
    assert faults(json.loads(text)) == []
    for path in ("/jobs.xml", "/robots.txt", "/sitemap.xml", "/c/colours/0b7748.css"):
        assert at(path).status_code == 200
    assert f"https://{DOMAIN}/jobs/{job}/".encode() in at("/sitemap.xml").content
    assert f'<link rel="canonical" href="https://{DOMAIN}/">' in page.content.decode()
    assert (
        f'<link rel="canonical" href="https://{DOMAIN}/">'
        in at("/c/acme/", "testserver").content.decode()
    )


@pytest.mark.parametrize("host", [DOMAIN, f"{DOMAIN}:8443", f"{DOMAIN.upper()}", f"{DOMAIN}."])
def test_the_host_may_be_spelt_as_browsers_do(job: UUID, host: str) -> None:
    assert at("/", host).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/company/", "/me/", "/sign-in/", "/account/login/", "/admin/", "/api/v1/jobs", "/c/acme/",
     "/metrics", "/privacy/", "/problems/", "/code/", "/company/careers/", "/c/acme/embed/"],
)  # fmt: skip
def test_nothing_else_of_the_site_is_there(job: UUID, company: Company, path: str) -> None:
    owner = browser_of(member_of(company))

    for client in (Client(), owner):
        answer = at(path, client=client)
        assert answer.status_code in (400, 404)
        assert not answer.cookies


def test_nothing_can_be_sent_there(job: UUID) -> None:
    for path in ("/", f"/jobs/{job}/", f"/jobs/{job}/apply/", f"/jobs/{job}/apply-embedded/"):
        answer = Client().post(path, {}, headers={"host": DOMAIN, "origin": f"https://{DOMAIN}"})
        assert answer.status_code == 405


def test_no_cookie_is_set_or_read_there(job: UUID, company: Company) -> None:
    owner = browser_of(member_of(company))

    for path in ("/", f"/jobs/{job}/", "/nothing/"):
        known, unknown = at(path, client=owner), at(path)
        assert known.content == unknown.content
        assert not known.cookies
        assert known["Vary"] == "Accept-Language"
        assert "frame-ancestors 'none'" in known["Content-Security-Policy"]
        assert "Strict-Transport-Security" not in known  # the company's to decide


def test_other_companies_jobs_drafts_and_closed_ones_are_not_there(
    job: UUID, company: Company, other_company: Company
) -> None:
    theirs = factories.job(company_id=other_company.id)
    draft = factories.job(company_id=company.id, open_now=False)

    for each in (theirs, draft, uuid7()):
        assert at(f"/jobs/{each}/").status_code == 404


@pytest.mark.parametrize(
    "host",
    ["evil.example", "acme.example", f"x.{DOMAIN}", f"{DOMAIN}.evil.example",
     f"{DOMAIN}@evil.example", "", "127.0.0.1", f"{DOMAIN}, line.example", f"{DOMAIN}/x",
     "jobs.acme.example\t"],
)  # fmt: skip
def test_unknown_hosts_get_nothing(job: UUID, host: str) -> None:
    answer = at("/", host)

    assert answer.status_code == 400
    assert "Baker" not in answer.content.decode()


def test_a_forwarded_host_counts_for_nothing(job: UUID) -> None:
    answer = Client().get(
        "/",
        headers={"host": "evil.example", "x-forwarded-host": DOMAIN, "forwarded": f"host={DOMAIN}"},
    )

    assert answer.status_code == 400


def test_each_domain_has_its_own_answer_whatever_a_cache_holds(
    job: UUID, other_company: Company
) -> None:
    serve(other_company, "other", "work.other.example")
    factories.job(company_id=other_company.id)

    pages = [at("/", host).content for host in (DOMAIN, "work.other.example", DOMAIN, "testserver")]
    feeds = [at("/jobs.xml", host).content for host in (DOMAIN, "work.other.example", DOMAIN)]

    assert (pages[0], feeds[0]) == (pages[2], feeds[2])
    assert len(set(pages)) == 3
    assert feeds[0] != feeds[1]


def test_a_domain_that_is_lost_is_not_served(job: UUID, company: Company) -> None:
    assert at("/").status_code == 200

    CareersPage.objects.filter(company=company).update(domain_proved_at=None)
    assert at("/").status_code == 421  # known for a minute more
    caches["local"].clear()

    assert at("/").status_code == 400


def test_the_sites_own_hosts_cost_no_query(job: UUID, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert at("/robots.txt", "line.example").status_code == 200
    with django_assert_num_queries(1):  # the domains, once a minute
        assert at("/robots.txt", "evil.example").status_code == 400
    with django_assert_num_queries(0):
        assert at("/robots.txt", "other.evil.example").status_code == 400


def test_a_proxy_gets_certificates_only_for_domains_that_are_served(job: UUID) -> None:
    def allowed(domain: str) -> int:
        return (
            Client()
            .get("/health/domain", {"domain": domain}, headers={"host": "web:8000"})
            .status_code
        )

    assert [
        allowed(each) for each in (DOMAIN, DOMAIN.upper(), "evil.example", "", "line.example")
    ] == [
        200,
        200,
        404,
        404,
        200,  # the site's own
    ]
