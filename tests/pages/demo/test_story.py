"""The bar that applies as one of three people: in development only."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.test import Client

from jobs.models import Company
from pipeline.config.demo_addresses import STORY_PEOPLE, demo_address
from pipeline.models import Application
from tests.support import factories
from tests.support.pages import follow, page_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def development(settings: Any, tmp_path: Path) -> None:
    """A machine of a developer."""
    settings.DEV_MAIL = True
    settings.DEV_MAIL_FOLDER = tmp_path / "mail"
    settings.EMAIL_BACKEND = "pipeline.mail.dev_mailbox.DevMailboxBackend"


def test_three_people_apply_with_one_click_each(visitor: Client, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=1, acknowledge_first_seat=True)

    for who, name in STORY_PEOPLE.items():
        page = follow(visitor, f"/demo/jobs/{job}/apply-as/{who}/", {})
        result = (
            "is number" if who != "ana" else "is offered a seat, to confirm before the deadline"
        )
        assert f"{name} has applied and {result}" in page
        assert f'<a href="/demo/newest-email/{who}/">Open the newest email to {name}</a>' in page

    people = Application.objects.filter(job_id=job).order_by("ticket")
    statuses = {person.name: person.status for person in people}
    assert statuses == {
        "Ana Li": "PENDING_ACKNOWLEDGMENT",
        "Bo Berg": "WAITLIST",
        "Cy Okafor": "WAITLIST",
    }
    assert all(person.is_verified for person in people)
    assert "applicant_id" not in visitor.session


def test_the_second_click_says_why_not(visitor: Client, company: Company) -> None:
    job = factories.job(company_id=company.id)
    follow(visitor, f"/demo/jobs/{job}/apply-as/ana/", {})

    page = follow(visitor, f"/demo/jobs/{job}/apply-as/ana/", {})

    assert "has applied" not in page
    assert "already" in page
    assert Application.objects.filter(job_id=job).count() == 1


def test_members_stay_on_their_board_and_signed_in(owner: Client, company: Company) -> None:
    job = factories.job(company_id=company.id)

    answer = owner.post(f"/demo/jobs/{job}/apply-as/bo/")

    assert answer["Location"] == f"/company/jobs/{job}/"
    assert "Apply as Bo Berg" in page_of(owner, f"/company/jobs/{job}/")


def test_the_newest_email_of_each_is_one_click_away(visitor: Client) -> None:
    nothing_yet = visitor.get("/demo/newest-email/bo/", follow=True).content.decode()
    for to in (demo_address("Ana Li"), demo_address("Bo Berg"), "else@example.org"):
        EmailMessage(f"To {to}", "Text.", to=[to]).send()

    page = visitor.get("/demo/newest-email/bo/", follow=True).content.decode()

    assert "Bo Berg has received no email yet." in nothing_yet
    assert "To bo.berg@demo.example" in page
    assert visitor.get("/demo/newest-email/owner/").status_code == 404


@pytest.mark.parametrize(
    ("change", "environment"),
    [
        ({"EMBEDDED_POSTGRES": None}, {}),
        ({"DEV_MAIL": False}, {}),
        ({}, {"REMOTE_ADDR": "192.0.2.1"}),
        ({}, {"HTTP_X_FORWARDED_FOR": "192.0.2.1"}),
        ({}, {"HTTP_HOST": "testserver"}),
        ({"SITE_URL": "https://jobs.example.org"}, {}),  # by a proxy that rewrites the host
        ({"TRUSTED_PROXIES": [ip_network("127.0.0.1/32")]}, {}),
    ],
)
def test_nobody_else_sees_the_bar_or_applies_by_it(
    visitor: Client,
    company: Company,
    settings: Any,
    change: dict[str, Any],
    environment: dict[str, Any],
) -> None:
    job = factories.job(company_id=company.id)
    shown_here = "Apply as Ana Li" in page_of(visitor, f"/jobs/{job}/")
    for name, value in change.items():
        setattr(settings, name, value)

    page = visitor.get(f"/jobs/{job}/", **environment).content.decode()
    applied = visitor.post(f"/demo/jobs/{job}/apply-as/ana/", **environment)
    newest = visitor.get("/demo/newest-email/ana/", **environment)

    assert shown_here
    assert "Apply as Ana Li" not in page
    assert "newest-email" not in page
    assert (applied.status_code, newest.status_code) == (404, 404)
    assert not Application.objects.exists()


@pytest.mark.parametrize("status", ["paused", "closed", "draft"])
def test_a_job_that_takes_nobody_has_no_bar(owner: Client, company: Company, status: str) -> None:
    job = factories.job(company_id=company.id, open_now=status != "draft")
    if status != "draft":
        owner.post(f"/company/jobs/{job}/{'pause' if status == 'paused' else 'close'}/")

    assert "Apply as" not in page_of(owner, f"/company/jobs/{job}/")


def test_only_the_three_can_be_chosen(visitor: Client, company: Company) -> None:
    job = factories.job(company_id=company.id)

    assert visitor.post(f"/demo/jobs/{job}/apply-as/owner/").status_code == 404
    visitor.get(f"/demo/jobs/{job}/apply-as/ana/")
    assert not Application.objects.exists()
