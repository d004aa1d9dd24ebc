"""The switches for the emails that a member gets about a company."""

from __future__ import annotations

from django.test import Client

from jobs.models import Company, Membership, User
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.pages import follow, page_of


def test_a_member_chooses_them_for_each_company(ada: User, company: Company) -> None:
    other = factories.company(name="Other")
    Membership.objects.create(company=other, user=ada, role="VIEWER")
    mine = Membership.objects.get(user=ada, company=company)
    browser = browser_of(ada)
    assert page_of(browser, "/account/").count("Every morning") == 2

    page = follow(browser, "/account/emails/", {"membership": mine.id, "alerts": "on"})

    assert f"Emails about {company.name}: saved." in page
    chosen = {each.company_id: (each.digest, each.alerts) for each in Membership.objects.all()}
    assert chosen == {company.id: (False, True), other.id: (True, True)}


def test_nobody_chooses_for_others(ada: User, company: Company) -> None:
    stranger = browser_of(member_of(factories.company()))
    mine = Membership.objects.get(user=ada)

    assert stranger.post("/account/emails/", {"membership": mine.id}).status_code == 404
    assert stranger.post("/account/emails/", {"membership": "x"}).status_code == 404
    assert Client().post("/account/emails/", {"membership": mine.id}).status_code == 302
    assert Membership.objects.get(id=mine.id).digest
