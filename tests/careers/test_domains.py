"""Own domains of careers pages: which can be had, what proves them, and when they are lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import Company
from pipeline.careers import domains
from pipeline.careers.domains import KEY, Problem, check, checked_domain, set_domain
from pipeline.careers.pages import PageRefused, read_page, save_page
from pipeline.models import CareersPage
from tests.support.dns_server import TxtServer
from tests.support.handlers import Run

DOMAIN = "jobs.acme.example"


@pytest.fixture
def server(settings: Any) -> Iterator[TxtServer]:
    running = TxtServer()
    settings.CAREERS_NAME_SERVERS = [running.address]
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def _no_known_domains() -> None:
    caches["local"].clear()


def page_of(company: Company, domain: str = DOMAIN) -> CareersPage:
    slug = f"c-{company.id.hex[-12:]}"
    save_page(company_id=company.id, slug=slug, values={}, by=uuid7())
    set_domain(company_id=company.id, domain=domain, by=uuid7())
    return fresh(company)


def fresh(company: Company) -> CareersPage:
    page = read_page(company.id)
    assert page
    return page


def prove(server: TxtServer, page: CareersPage) -> None:
    name, text = domains.record_of(page)
    server.texts[name] = ["v=spf1 -all", text]
    check(page)


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("jobs.acme.example", "jobs.acme.example"),
        (" Jobs.Acme.Example. ", "jobs.acme.example"),
        ("jobs.bücher.example", "jobs.xn--bcher-kva.example"),
    ],
)
def test_a_domain_is_kept_as_browsers_ask_for_it(text: str, domain: str) -> None:
    assert checked_domain(text) == domain


@pytest.mark.parametrize(
    "text",
    [
        *("", "acme", "localhost", "a.localhost", "printer.local", "db.internal", "x.home.arpa"),
        *("10.0.0.1", "127.1", "::1", "[::1]", "1.2.3", "a..b.example", "-a.example", "a-.example"),
        *("a b.example", "a/b.example", "a_b.example", "https://a.example", "a.example:443"),
        *(
            "*.a.example",
            "a.example,b.example",
            "x" * 64 + ".example",
            ("x" * 60 + ".") * 5 + "org",
        ),
        *("careers.site.example", "site.example", "www.careers.site.example", "a.wild.example"),
    ],
)
def test_addresses_that_no_company_can_have_are_refused(text: str, settings: Any) -> None:
    settings.SITE_URL = "https://careers.site.example"
    settings.ALLOWED_HOSTS = ["careers.site.example", ".wild.example", "127.0.0.1"]

    with pytest.raises(PageRefused):
        checked_domain(text)


def test_the_record_proves_the_domain(company: Company, server: TxtServer) -> None:
    page = page_of(company)
    check(page)
    assert (fresh(company).proved_domain, fresh(company).domain_problem) == ("", "NO_RECORD")
    assert domains.served_domains() == {}

    prove(server, page)

    assert fresh(company).proved_domain == DOMAIN
    assert domains.served_domains() == {DOMAIN: company.id}
    assert server.asked[-1] == f"_next-in-line.{DOMAIN}"


def test_a_text_in_several_parts_is_one(company: Company, server: TxtServer) -> None:
    page = page_of(company)
    name, text = domains.record_of(page)
    server.texts[name] = [f"{text[:10]}|{text[10:]}"]

    check(page)

    assert fresh(company).proved_domain == DOMAIN


def test_the_record_of_another_company_proves_nothing(
    company: Company, other_company: Company, server: TxtServer
) -> None:
    prove(server, page_of(company))
    theirs = page_of(other_company)

    check(theirs)

    assert fresh(other_company).domain_problem == Problem.OTHER_RECORD
    prove(server, theirs)
    assert fresh(other_company).domain_problem == Problem.TAKEN
    assert domains.served_domains() == {DOMAIN: company.id}


def test_another_domain_needs_another_record(company: Company, server: TxtServer) -> None:
    first = page_of(company)
    prove(server, first)

    set_domain(company_id=company.id, domain="work.acme.example", by=uuid7())

    assert fresh(company).proved_domain == ""
    assert fresh(company).domain_token != first.domain_token
    assert domains.served_domains() == {}


def test_a_result_for_a_domain_that_was_changed_meanwhile_does_not_count(
    company: Company, server: TxtServer
) -> None:
    stale = page_of(company)
    name, text = domains.record_of(stale)
    server.texts[name] = [text]
    set_domain(company_id=company.id, domain="", by=uuid7())

    check(stale)

    assert fresh(company).proved_domain == ""


@pytest.mark.parametrize("mode", ["answer", "empty"])
def test_a_record_that_is_gone_ends_it_at_once(
    company: Company, server: TxtServer, mode: str
) -> None:
    page = page_of(company)
    prove(server, page)
    server.texts.clear()
    server.mode = mode

    check(fresh(company))

    assert (fresh(company).proved_domain, fresh(company).domain_problem) == ("", "NO_RECORD")


@pytest.mark.parametrize("mode", ["servfail", "silent"])
def test_silent_name_servers_are_waited_for_a_week(
    company: Company, server: TxtServer, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains, "QUERY_SECONDS", 0.1)
    monkeypatch.setattr(domains, "LOOK_UP_SECONDS", 0.3)
    prove(server, page_of(company))
    server.mode = mode
    start = time.monotonic()

    check(fresh(company))

    assert time.monotonic() - start < 3
    assert (fresh(company).proved_domain, fresh(company).domain_problem) == (DOMAIN, "NO_ANSWER")
    week = timedelta(days=7, seconds=1)
    CareersPage.objects.update(domain_proved_at=Now() - week)
    check(fresh(company))
    assert fresh(company).proved_domain == ""


def test_each_domain_is_looked_up_once_a_day(company: Company, server: TxtServer) -> None:
    prove(server, page_of(company))
    asked = len(server.asked)

    Run(KEY, {}, None)
    assert len(server.asked) == asked
    CareersPage.objects.update(domain_checked_at=Now() - timedelta(hours=21))
    server.texts.clear()
    Run(KEY, {}, None)
    Run(KEY, {}, None)

    assert len(server.asked) == asked + 1
    assert fresh(company).proved_domain == ""


def test_a_cancelled_task_looks_nothing_up(company: Company, server: TxtServer) -> None:
    prove(server, page_of(company))
    CareersPage.objects.update(domain_checked_at=None)
    asked = len(server.asked)

    Run(KEY, {}, None, cancelled_after=0)

    assert len(server.asked) == asked
