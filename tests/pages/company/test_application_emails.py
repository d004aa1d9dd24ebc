"""The emails on an application's pages, and the company's button that sends one again."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.core import mail
from django.test import Client

from jobs.models import Company, Role
from pipeline.models import Application, Email
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import owner_signed_in
from tests.support.pages import follow, page_of
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def told(company: Company, settings: Any) -> Application:
    """An application that an email was sent about."""
    settings.NOTIFY = True
    application = factories.application(factories.job(company_id=company.id))
    run_due_tasks()
    return application


@pytest.fixture
def recruiter(company: Company) -> Client:
    return browser_of(member_of(company, Role.RECRUITER))


def path_of(application: Application) -> str:
    return f"/company/applications/{application.id}/"


def again(application: Application) -> str:
    email = Email.objects.filter(application_id=application.id).latest("created_at")
    return f"{path_of(application)}emails/{email.id}/again/"


def test_both_sides_see_which_emails_went_out(told: Application, recruiter: Client) -> None:
    for page in (
        page_of(recruiter, path_of(told)),
        page_of(owner_signed_in(told), f"/me/applications/{told.id}/"),
    ):
        assert "Application received" in page
        assert "Sent" in page


def test_a_failure_says_why(told: Application, recruiter: Client) -> None:
    Email.objects.update(state="FAILED", problem="550")

    page = page_of(recruiter, path_of(told))

    assert "Not sent" in page
    assert "refused it (code 550)" in page


def test_a_recruiter_can_have_one_sent_again(told: Application, recruiter: Client) -> None:
    page = follow(recruiter, again(told), {})
    run_due_tasks()

    assert "on its way again" in page
    assert len(mail.outbox) == 2
    assert "Application received (sent again)" in page_of(recruiter, path_of(told))


def test_not_more_than_three_in_a_minute(told: Application, recruiter: Client) -> None:
    for _ in range(3):
        follow(recruiter, again(told), {})
        run_due_tasks()

    assert "Wait a minute" in follow(recruiter, again(told), {})


def test_a_viewer_sees_them_without_the_button(told: Application, company: Company) -> None:
    viewer = browser_of(member_of(company, Role.VIEWER))

    assert "Send again" not in page_of(viewer, path_of(told))
    assert viewer.post(again(told)).status_code == 403


def test_nobody_else_can_send_anything(told: Application, recruiter: Client) -> None:
    stranger = browser_of(member_of(factories.company(), Role.OWNER))

    assert stranger.post(again(told)).status_code == 404
    assert recruiter.post(f"{path_of(told)}emails/{uuid4()}/again/").status_code == 404
    assert recruiter.get(again(told)).url == path_of(told)
