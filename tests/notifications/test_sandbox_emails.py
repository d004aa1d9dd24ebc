"""Emails in a sandbox: recorded at the time of its clock, shown to its company, sent to nobody."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from applicants.browser import signed_in_person_id
from jobs.models import Company, Role
from pipeline.models import Application, Email
from pipeline.notifications.applicants import recompose_email
from pipeline.notifications.companies import enqueue_company_digest_emails
from tasks.models import Task
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.callers import key_of
from tests.support.clock import let_time_pass
from tests.support.pages import page_of
from tests.support.sandboxes import DAY, HOUR, advance, line_with_offers, sandbox
from tests.support.task_runs import let_tasks_wait, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def notify(settings: Any) -> None:
    settings.NOTIFY = True
    settings.SITE_URL = "https://line.example"


@pytest.fixture
def company() -> Company:
    return sandbox(factories.company(name="Acme"))


def offered(company: Company, *, people: int = 1) -> list[Application]:
    policy = {"acknowledgment_window_seconds": DAY, "max_decays": 0}
    _, found = line_with_offers(company, people=people, **policy)
    run_due_tasks()
    return found


def kinds(application: Application) -> list[str]:
    emails = Email.objects.filter(application=application).order_by("state_at", "kind")
    return list(emails.values_list("kind", flat=True))


def test_an_advance_records_every_email_and_reminder_at_its_time_and_sends_none(
    company: Company,
) -> None:
    first, second = offered(company, people=2)
    assert kinds(first)[-1] == "PROMOTED"

    advance(company, int(1.99 * DAY))
    run_due_tasks()

    for person in (first, second):
        assert [k for k in kinds(person) if k != "APPLIED"] == [
            "PROMOTED",
            "REMINDER_HALF",
            "REMINDER_HOUR",
            *(["LAPSED"] if person is first else []),
        ]
    offered_at = factories.fresh(second).promoted_at
    assert offered_at
    half = Email.objects.get(application=second, kind="REMINDER_HALF")
    assert half.state_at == offered_at + timedelta(hours=12)
    assert set(Email.objects.values_list("state", flat=True)) == {"SENT"}
    assert mail.outbox == []


def test_a_reminder_comes_on_its_own_when_real_time_passes(company: Company) -> None:
    [person] = offered(company)
    waiting = Task.objects.filter(type__key="email.sandbox", status="PENDING")
    assert len(waiting) == 2

    let_time_pass(person.job_id, 11 * HOUR)
    let_tasks_wait(11 * HOUR)
    assert run_due_tasks() == []
    let_time_pass(person.job_id, 2 * HOUR)
    let_tasks_wait(2 * HOUR)
    run_due_tasks()

    assert "REMINDER_HALF" in kinds(person)
    assert "REMINDER_HOUR" not in kinds(person)
    assert mail.outbox == []


def test_the_text_names_the_deadline_of_its_own_offer(company: Company) -> None:
    first, _ = offered(company, people=2)
    advance(company, int(1.5 * DAY))
    run_due_tasks()

    message = recompose_email(Email.objects.get(application=first, kind="PROMOTED"))

    assert message
    assert "/confirm/" in message.text
    lapsed = recompose_email(Email.objects.get(application=first, kind="LAPSED"))
    assert lapsed


def test_sending_again_sends_nothing(company: Company) -> None:
    [person] = offered(company)
    email = Email.objects.get(application=person, kind="PROMOTED")

    caller = key_of(company.id)
    answer = caller.post(f"/applications/{person.id}/emails/{email.id}/send-again")
    run_due_tasks()

    assert answer.status_code == 202
    again = Email.objects.get(application=person, kind="PROMOTED", number=1)
    assert again.state == "SENT"
    assert mail.outbox == []


def test_members_get_no_digest_and_no_alert_about_a_sandbox(company: Company) -> None:
    assert company.sandbox_of
    member_of(company.sandbox_of, Role.OWNER)
    offered(company)

    assert enqueue_company_digest_emails() == 1  # about the live company


def test_the_outbox_shows_the_emails_and_a_link_that_confirms_but_signs_nobody_in(
    company: Company,
) -> None:
    assert company.sandbox_of
    owner = browser_of(member_of(company.sandbox_of, Role.OWNER))
    owner.post("/company/switch/", {"company": str(company.id)})
    [person] = offered(company)
    email = Email.objects.get(application=person, kind="PROMOTED")

    listed = page_of(owner, "/company/test/emails/")
    shown = page_of(owner, f"/company/test/emails/{email.id}/")

    assert f"/company/test/emails/{email.id}/" in listed
    link = re.search(r"https://line.example(/confirm/[^\"]+/)", shown)
    assert link
    visitor = Client()
    assert "Test mode" in page_of(visitor, link[1])
    answer = visitor.post("/confirm/", {"token": link[1].split("/")[2]})
    assert answer.headers["Location"] == link[1]
    assert factories.status_of(person) == "ACTIVE"
    request: Any = type("Request", (), {"session": visitor.session, "COOKIES": visitor.cookies})
    assert signed_in_person_id(request) is None
    assert visitor.get("/me/").status_code == 302


@pytest.mark.parametrize(("role", "sees"), [(Role.VIEWER, False), (Role.RECRUITER, True)])
def test_only_who_may_move_the_clock_sees_a_link_that_confirms(
    role: Role, sees: bool, company: Company
) -> None:
    assert company.sandbox_of
    browser = browser_of(member_of(company.sandbox_of, role))
    browser.post("/company/switch/", {"company": str(company.id)})
    [person] = offered(company)
    email = Email.objects.get(application=person, kind="PROMOTED")

    page = page_of(browser, f"/company/test/emails/{email.id}/")

    assert ("/confirm/" in page) == sees
    assert ("Recruiters and owners see the link." in page) != sees


def test_only_the_sandbox_has_an_outbox(company: Company) -> None:
    assert company.sandbox_of
    live = browser_of(member_of(company.sandbox_of, Role.OWNER))
    [person] = offered(company)
    email = Email.objects.get(application=person, kind="PROMOTED")

    assert live.get("/company/test/emails/").status_code == 404
    assert live.get(f"/company/test/emails/{email.id}/").status_code == 404
