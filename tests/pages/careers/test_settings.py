"""The settings of a careers page: who may change them, and what is refused in words."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import caches
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from jobs.models import Company
from pipeline.careers.pages import read_page
from tests.careers.test_domains import server  # noqa: F401  a fixture
from tests.careers.test_logos import bomb, picture
from tests.support.dns_server import TxtServer
from tests.support.pages import follow, page_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)

HERE = "/company/careers/"
PAGE = {
    "slug": "acme",
    "introduction": "We **bake**.",
    "colour": "#FFE000",
    "is_on_site_list": "on",
    "embed_origins": "https://www.acme.example\n",
}


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    caches["local"].clear()


def upload(data: bytes) -> dict[str, Any]:
    return {"logo": SimpleUploadedFile("logo.png", data, "image/png")}


def test_an_owner_publishes_a_page_and_sees_it(owner: Client, company: Company) -> None:
    assert 'name="slug" value="acme"' in page_of(owner, HERE)

    shown = follow(owner, HERE, PAGE)

    page = read_page(company.id)
    assert page
    assert (page.slug, page.colour) == ("acme", "ffe000")
    assert page.embed_origins == ["https://www.acme.example"]
    assert "/c/acme/" in shown
    assert 'src="/company/careers/preview/"' in shown
    preview = owner.get("/company/careers/preview/")
    assert "We <strong>bake</strong>." in preview.content.decode()
    assert "frame-ancestors 'self'" in preview["Content-Security-Policy"]
    assert preview["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slug": "a"}, "Enter 3 to 40"),
        ({"slug": "admin"}, "kept for the site"),
        ({"colour": "green"}, "Enter a colour like"),
        ({"embed_origins": "http://a.example"}, "Enter sites like"),
        ({"introduction": "x" * 5_001}, "at most 5000 characters"),
    ],
)
def test_what_cannot_be_saved_is_refused_in_words(
    owner: Client, company: Company, change: dict[str, str], words: str
) -> None:
    answer = owner.post(HERE, PAGE | change)

    assert answer.status_code == 422
    assert words in text_of(answer)
    assert read_page(company.id) is None


def test_a_name_of_another_company_is_refused(owner: Client, stranger: Client) -> None:
    follow(stranger, HERE, PAGE)

    answer = owner.post(HERE, PAGE)

    assert answer.status_code == 422
    assert "Another company has this name" in text_of(answer)


def test_only_owners_change_it(
    owner: Client, recruiter: Client, viewer: Client, company: Company
) -> None:
    follow(owner, HERE, PAGE)

    for browser in (recruiter, viewer):
        assert "Only an owner can change this page." in page_of(browser, HERE)
        for path, data in (
            (HERE, PAGE | {"slug": "other"}),
            (f"{HERE}logo/", {"remove": "1"}),
            (f"{HERE}domain/", {"domain": "jobs.acme.example"}),
        ):
            assert browser.post(path, data).status_code == 403
    page = read_page(company.id)
    assert page
    assert (page.slug, page.domain) == ("acme", "")


def test_a_logo_is_saved_shown_and_removed(owner: Client, company: Company) -> None:
    assert "Save the page first" in follow(owner, f"{HERE}logo/", upload(picture("PNG")))
    follow(owner, HERE, PAGE)

    shown = follow(owner, f"{HERE}logo/", upload(picture("JPEG")))

    page = read_page(company.id)
    assert page
    assert f"/c/logos/{company.id}/{page.logo_digest}.png" in shown
    for data in (b"<svg/>", bomb(20_000, 20_000)):
        refused = owner.post(f"{HERE}logo/", upload(data))
        assert refused.status_code == 422
    assert owner.post(f"{HERE}logo/").status_code == 422
    assert "/c/logos/" not in follow(owner, f"{HERE}logo/", {"remove": "1"})


def test_a_domain_is_proved_by_the_record_that_the_page_names(
    owner: Client,
    company: Company,
    server: TxtServer,  # noqa: F811
) -> None:
    follow(owner, HERE, PAGE)
    domain = {"domain": "Jobs.Acme.example"}

    shown = follow(owner, f"{HERE}domain/", domain)

    page = read_page(company.id)
    assert page
    assert "_next-in-line.jobs.acme.example" in shown
    assert f"next-in-line={page.domain_token}" in shown
    assert "not there yet" in follow(owner, f"{HERE}domain/", {"check": "1"})
    server.texts["_next-in-line.jobs.acme.example"] = [f"next-in-line={page.domain_token}"]
    assert "The domain is proved" in follow(owner, f"{HERE}domain/", {"check": "1"})
    assert "https://jobs.acme.example/" in page_of(owner, HERE)
    assert owner.post(f"{HERE}domain/", {"domain": "localhost"}).status_code == 422
    assert "The domain is removed" in follow(owner, f"{HERE}domain/", {"domain": ""})


def test_look_ups_are_limited(
    owner: Client,
    server: TxtServer,  # noqa: F811
) -> None:
    follow(owner, HERE, PAGE)
    follow(owner, f"{HERE}domain/", {"domain": "jobs.acme.example"})

    for _ in range(12):
        last = follow(owner, f"{HERE}domain/", {"check": "1"})

    assert "You have checked often" in last
    assert len(server.asked) == 10


def test_a_strangers_form_does_not_reach_the_page(
    owner: Client, stranger: Client, company: Company
) -> None:
    follow(owner, HERE, PAGE)

    answer = stranger.post(HERE, PAGE | {"slug": "taken-over", "company_id": str(company.id)})

    assert answer.status_code == 403
    page = read_page(company.id)
    assert page
    assert page.slug == "acme"


def test_the_page_is_read_in_few_queries(owner: Client, django_assert_max_num_queries: Any) -> None:
    follow(owner, HERE, PAGE)
    owner.get(HERE)

    with django_assert_max_num_queries(6):
        owner.get(HERE)
