"""Rows of live pages have keys, so that an update never puts another row in the place of one."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser

pytestmark = pytest.mark.django_db(transaction=True)


class Rows(HTMLParser):
    """The rows of a page's live region that hold a control, each with its key."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str | None]] = []
        self.keys: list[str | None] = []
        self.feed(html[html.index('id="live"') :])

    def handle_starttag(self, tag: str, attrs: list[Any]) -> None:
        given = dict(attrs)
        if tag in ("li", "tr"):
            self.open.append((tag, given.get("data-key") or given.get("id")))
        if tag in ("a", "button") and self.open:
            self.keys.append(self.open[-1][1])

    def handle_endtag(self, tag: str) -> None:
        if tag in ("li", "tr") and self.open:
            self.open.pop()


@pytest.fixture
def job(company: Company) -> UUID:
    """A job with one on offer, one who missed, and one who waits."""
    job = factories.job(company_id=company.id, acknowledge_first_seat=True)
    factories.applications(job, 3)
    return job


@pytest.mark.parametrize("path", ["/company/", "/company/jobs/{job}/"])
def test_every_row_of_a_companys_page_has_a_key(company: Company, job: UUID, path: str) -> None:
    owner: Client = browser_of(member_of(company))

    rows = Rows(owner.get(path.format(job=job)).content.decode())

    assert rows.keys
    assert None not in rows.keys


def test_every_row_of_the_dashboard_has_a_key() -> None:
    person = factories.applicant()
    for _ in range(2):
        factories.application(factories.job(acknowledge_first_seat=True), person)

    rows = Rows(applicant_browser(person).get("/me/").content.decode())

    assert len(set(rows.keys)) == 4  # two cards, and two entries of the timeline
    assert None not in rows.keys
