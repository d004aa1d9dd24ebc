"""The sign-in links that `up` prints: on this machine only, with the embedded database only."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from jobs.companies import create_company
from jobs.models import Company, JobRole
from jobs.team import give_job_role
from pipeline.config.demo_addresses import APPLICANT, HIRING_MANAGER, OWNER, demo_address
from pipeline.management.commands.up import demo_links
from pipeline.web import addresses
from tests.support import factories
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def link_of(who: str) -> str:
    return f"/demo/sign-in/{addresses.demo_access_token(who)}/"


@pytest.fixture(autouse=True)
def demo() -> None:
    """The people whom the links sign in."""
    create_company(name="Harbour & Pine (demo)", owner_email=OWNER)
    factories.applicant(email=demo_address(APPLICANT), name=APPLICANT)


def test_the_owners_link_opens_the_companys_jobs(visitor: Client) -> None:
    shown = visitor.get(link_of("owner"))
    was_signed_in = "_auth_user_id" in visitor.session

    entered = visitor.post(link_of("owner"), follow=True)

    assert shown.status_code == 200
    assert "owner of Harbour & Pine (demo)" in text_of(shown)
    assert not was_signed_in  # opening the page changes nothing
    assert entered.redirect_chain[-1][0] == "/company/"
    assert entered.status_code == 200


def test_the_hiring_managers_link_opens_one_job_alone(visitor: Client) -> None:
    company = Company.objects.get()
    seen, other = (factories.job(company_id=company.id) for _ in range(2))
    give_job_role(
        company_id=company.id, job_id=seen, email=HIRING_MANAGER, role=JobRole.HIRING_MANAGER
    )

    shown = visitor.get(link_of("hiring"))
    visitor.post(link_of("hiring"))

    assert "sees one job alone" in text_of(shown)
    assert visitor.get(f"/company/jobs/{seen}/").status_code == 200
    assert visitor.get(f"/company/jobs/{other}/").status_code == 404


def test_the_applicants_link_opens_her_applications(visitor: Client) -> None:
    entered = visitor.post(link_of("applicant"), follow=True)

    assert entered.redirect_chain[-1][0] == "/me/"
    assert "Your applications" in text_of(entered)


@pytest.mark.parametrize("who", ["owner", "hiring", "applicant"])
@pytest.mark.parametrize(
    "environment",
    [
        {"REMOTE_ADDR": "192.0.2.1"},
        {"HTTP_X_FORWARDED_FOR": "192.0.2.1"},
        {"HTTP_HOST": "testserver"},
    ],
)
def test_no_link_works_from_another_machine(
    visitor: Client, who: str, environment: dict[str, Any]
) -> None:
    assert visitor.get(link_of(who), **environment).status_code == 404
    assert visitor.post(link_of(who), **environment).status_code == 404
    assert not visitor.session.keys()


@pytest.mark.parametrize("who", ["owner", "hiring", "applicant"])
def test_no_link_exists_or_works_with_a_database_of_ones_own(
    visitor: Client, settings: Any, who: str
) -> None:
    link = link_of(who)
    settings.EMBEDDED_POSTGRES = None

    assert visitor.get(link).status_code == 404
    assert visitor.post(link).status_code == 404
    assert addresses.demo_access_token(who) == ""
    assert demo_links("http://127.0.0.1:8000") == ""
    assert not visitor.session.keys()


def test_a_link_ends_after_an_hour(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    hour = addresses.LINK_LIFETIME
    link = link_of("owner")
    monkeypatch.setattr(addresses, "LINK_LIFETIME", timedelta(seconds=-1))

    shown, entered = visitor.get(link), visitor.post(link)

    assert hour == timedelta(hours=1)
    assert (shown.status_code, entered.status_code) == (410, 410)
    assert "This link has expired" in text_of(shown)
    assert "_auth_user_id" not in visitor.session


@pytest.mark.parametrize("token", ["x", "Im93bmVyIg:1a:b", addresses.OWNER])
def test_a_made_up_token_signs_nobody_in(visitor: Client, token: str) -> None:
    answer = visitor.post(f"/demo/sign-in/{token}/")

    assert answer.status_code == 410
    assert "_auth_user_id" not in visitor.session


def test_the_links_are_printed_for_all_three(settings: Any) -> None:
    printed = demo_links("http://127.0.0.1:8123")

    assert printed.count("http://127.0.0.1:8123/demo/sign-in/") == 3
