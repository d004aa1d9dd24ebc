"""Careers pages: names, former names, sites that may frame them, and feeds and pictures of jobs."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from uuid_utils.compat import uuid7

from jobs.models import Company, JobPosting
from jobs.postings import CURRENCIES, PayPeriod, countries, pay_refusals
from pipeline.careers import feeds, pictures
from pipeline.careers.pages import (
    MOST_FORMER,
    PageRefused,
    checked_origins,
    checked_slug,
    find_page,
    save_page,
)
from pipeline.models import CareersSlug
from pipeline.selectors.jobs import read_job, read_open_jobs
from pipeline.wording.postings import describe_pay
from tests.support import factories
from tests.support.sandboxes import sandbox


def named(company: Company, slug: str, **values: Any) -> None:
    save_page(company_id=company.id, slug=slug, values=values, by=uuid7())


@pytest.mark.parametrize("slug", ["abc", "a-b", "acme-2", "x" * 40, "123"])
def test_a_name_has_letters_digits_and_hyphens(slug: str) -> None:
    assert checked_slug(slug) == slug


@pytest.mark.parametrize(
    "slug",
    ["", "ab", "x" * 41, "-ab", "ab-", "a--b", "a b", "a_b", "Acme", "äcme", "a/b", "a.b", "abc\n",
     "admin", "jobs", "logos", "colours", "www", "static", "api"],
)  # fmt: skip
def test_other_names_and_reserved_ones_are_refused(slug: str) -> None:
    with pytest.raises(PageRefused):
        checked_slug(slug)


def test_a_former_name_leads_to_the_page_for_a_year(company: Company) -> None:
    for slug in ("first", "second", "third"):
        named(company, slug)

    assert {(page := find_page(slug)) and page.slug for slug in ("first", "second", "third")} == {
        "third"
    }
    CareersSlug.objects.filter(slug="first").update(retired_at=Now() - timedelta(days=366))
    assert find_page("first") is None


def test_nobody_takes_a_name_that_still_redirects(company: Company, other_company: Company) -> None:
    named(company, "first")
    named(company, "second")

    for taken in ("first", "second"):
        with pytest.raises(PageRefused, match="Another company"):
            named(other_company, taken)
    CareersSlug.objects.filter(slug="first").update(retired_at=Now() - timedelta(days=366))
    named(other_company, "first")

    assert (page := find_page("first"))
    assert page.company_id == other_company.id
    with pytest.raises(PageRefused):
        named(company, "first")


def test_a_company_can_go_back_to_its_former_name_but_hoard_none(company: Company) -> None:
    for number in range(MOST_FORMER + 1):
        named(company, f"name-{number}")

    with pytest.raises(PageRefused, match="former names"):
        named(company, "one-more")
    named(company, "name-0")

    assert (page := find_page("name-3"))
    assert page.slug == "name-0"


def test_a_sandbox_has_no_page(company: Company) -> None:
    with pytest.raises(PageRefused):
        named(sandbox(company), "sandy")


def test_only_secure_origins_may_frame_a_page() -> None:
    lines = ["https://www.acme.example", " https://www.acme.example/ ", "https://b.example:8443"]

    assert checked_origins(lines) == ["https://www.acme.example", "https://b.example:8443"]


@pytest.mark.parametrize(
    "origin",
    ["*", "https:", "https://*", "https://*.acme.example", "http://acme.example", "acme.example",
     "https://acme.example/x", "https://u:p@acme.example", "https://acme.example;script-src *",
     "https://acme.example 'self'", "'self'", "data:", "https://acme.example?x", "https://a"],
)  # fmt: skip
def test_nothing_else_gets_into_the_policy(origin: str) -> None:
    with pytest.raises(PageRefused):
        checked_origins([origin])


# Pay.

AMOUNTS = st.none() | st.decimals(-2, 10**9 - 1, places=2)


@pytest.mark.django_db
@given(
    low=AMOUNTS,
    high=AMOUNTS,
    currency=st.sampled_from(["", "EUR"]),
    period=st.sampled_from(["", "HOUR"]),
)
def test_forms_refuse_what_the_table_refuses(
    low: Decimal | None, high: Decimal | None, currency: str, period: str
) -> None:
    with transaction.atomic():
        facts = {
            "pay_minimum": low,
            "pay_maximum": high,
            "pay_currency": currency,
            "pay_period": period,
        }
        job = _plain_job()
        try:
            with transaction.atomic():
                JobPosting.objects.filter(job_id=job).update(**facts)
            is_kept = True
        except IntegrityError:
            is_kept = False

        assert is_kept == (not pay_refusals(facts))
        transaction.set_rollback(True)


def _plain_job() -> Any:
    from jobs.models import Job

    company = factories.company()
    job = Job.objects.create(
        company=company,
        capacity=1,
        chain_head=b"",
        last_event_at=Now(),
        created_at=Now(),
        acknowledgment_window_seconds=600,
        acknowledge_first_seat=False,
        penalty_places=0,
        cooldown_seconds=60,
    )
    JobPosting.objects.create(job=job, title="Cook", updated_at=Now())
    return job.id


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (3500, 4200, "EUR 3,500 to 4,200 per month"),
        (3500, None, "From EUR 3,500 per month"),
        (None, 4200, "Up to EUR 4,200 per month"),
        (Decimal("15.50"), Decimal("15.50"), "EUR 15.50 per month"),
        (None, None, ""),
    ],
)
def test_pay_is_said_in_words(low: Any, high: Any, words: str) -> None:
    stated = {"pay_currency": "EUR", "pay_period": "MONTH"} if low or high else {}

    def amount(value: Any) -> Decimal | None:
        return None if value is None else Decimal(value)

    posting = JobPosting(pay_minimum=amount(low), pay_maximum=amount(high), **stated)

    assert describe_pay(posting) == words


def test_codes_are_those_of_the_standards() -> None:
    assert len(CURRENCIES) == len(set(CURRENCIES)) > 150
    assert all(len(code) == 3 and code.isupper() for code in CURRENCIES)
    assert countries()["NL"] == "Netherlands"
    assert len(countries()) > 240
    assert set(PayPeriod.values) == {"HOUR", "DAY", "WEEK", "MONTH", "YEAR"}


# Feeds and pictures.


def test_the_feed_has_the_common_form_of_job_boards(company: Company) -> None:
    job = factories.job(company_id=company.id)
    JobPosting.objects.filter(job_id=job).update(
        title="Cook & \x0bbaker",
        description="**Bakes**",
        location="Rotterdam",
        country="NL",
        employment_type="PART_TIME",
        workplace="REMOTE",
        department="Galley",
    )
    found = read_open_jobs(search="", after=None, limit=9, company_id=company.id)

    root = ElementTree.fromstring(feeds.build("Acme", "https://acme.example", found.rows))  # noqa: S314

    assert root.tag == "source"
    assert [each.tag for each in root[:3]] == ["publisher", "publisherurl", "lastBuildDate"]
    [node] = root.findall("job")
    said = {each.tag: each.text for each in node}
    required = {
        *("title", "date", "referencenumber", "url", "company", "city", "country"),
        *("description",),
    }
    assert required <= said.keys()
    assert (said["title"], said["description"]) == (
        "Cook & baker",
        "<p><strong>Bakes</strong></p>",
    )
    assert (said["jobtype"], said["remotetype"]) == ("parttime", "Fully remote")
    assert said["referencenumber"] == str(job)
    assert str(said["date"]).endswith("GMT")
    assert "salary" not in said


def test_a_feed_of_long_texts_ends_before_it_fills_the_memory(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "MOST_CHARACTERS", 1_000)
    jobs = [factories.job(company_id=company.id) for _ in range(3)]
    JobPosting.objects.filter(job_id__in=jobs).update(description="x" * 400)
    found = read_open_jobs(search="", after=None, limit=9, company_id=company.id)

    root = ElementTree.fromstring(feeds.build("Acme", "https://a.example", found.rows))  # noqa: S314

    assert len(root.findall("job")) == 2


@pytest.mark.parametrize(
    "title",
    [
        "Cook",
        "Engineer " * 30,
        "W" * 200,
        "",
        "Ingeniør, Zürich",
        "料理人",
        "طباخ",
        "👩‍🍳",
        "a\u0301",
    ],
)
def test_a_picture_has_its_size_whatever_the_title(title: str) -> None:
    drawn = pictures.draw(title=title, company="Harbour & Sons", facts="Rotterdam · EUR 3,500")

    with Image.open(BytesIO(drawn)) as picture:
        assert (picture.format, picture.size) == ("PNG", (1200, 630))
    assert len(drawn) < 150_000


def test_a_picture_shows_the_title_the_logo_and_the_colour() -> None:
    logo = BytesIO()
    Image.new("RGBA", (100, 100), "#c0263a").save(logo, "PNG")

    def drawn(**named: Any) -> bytes:
        return pictures.draw(company="Acme", facts="", **{"title": "Cook"} | named)

    assert (
        len({drawn(), drawn(title="Baker"), drawn(colour="0b7748"), drawn(logo=logo.getvalue())})
        == 4
    )
    assert drawn() == drawn()


def test_a_job_is_still_read_in_one_query(company: Company, django_assert_num_queries: Any) -> None:
    named(company, "acme", colour="0b7748")
    job_id = factories.job(company_id=company.id)

    with django_assert_num_queries(1):
        job = read_job(job_id)
        assert job.company.careers.slug == "acme"
