"""The emails about an application over the API: their states, and sending one again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core import mail
from django.db.models.functions import Now

from jobs.models import Company, Scope
from pipeline.models import Application, Email
from tests.support import factories
from tests.support.callers import Caller, code_of, key_of, signed_in
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def told(company: Company, settings: Any) -> Application:
    """An application that an email was sent about."""
    settings.NOTIFY = True
    application = factories.application(factories.job(company_id=company.id))
    run_due_tasks()
    return application


def path_of(application: Application) -> str:
    return f"/applications/{application.id}/emails"


def test_each_email_says_what_became_of_it(acme: Caller, told: Application) -> None:
    answer = acme.get(path_of(told))

    assert answer.status_code == 200
    row = Email.objects.get()
    (email,) = answer.json()["data"]
    assert email["id"] == str(row.id)
    assert (email["kind"], email["title"]) == ("APPLIED", "Application received")
    assert (email["state"], email["problem"], email["problem_detail"]) == ("SENT", None, None)
    assert (email["seq"], email["repetition"], email["may_repeat"]) == (row.seq, 0, True)
    assert email["created_at"] <= email["state_at"]
    assert answer.json()["next_cursor"] is None
    again = acme.get(path_of(told), if_none_match=answer.headers["ETag"])
    assert again.status_code == 304


def test_a_failure_has_a_code_and_words(acme: Caller, told: Application) -> None:
    Email.objects.update(state="FAILED", problem="550")

    (email,) = acme.get(path_of(told)).json()["data"]

    assert (email["state"], email["problem"]) == ("FAILED", "550")
    assert "refused it (code 550)" in email["problem_detail"]


def test_the_newest_come_first_page_by_page(acme: Caller, told: Application) -> None:
    for age in range(1, 5):
        Email.objects.create(
            id=uuid4(),
            application=told,
            seq=age,
            kind="PROMOTED",
            created_at=Now() - timedelta(hours=age),
        )

    found, page = [], acme.get(f"{path_of(told)}?limit=2").json()
    found += page["data"]
    while page["next_cursor"]:
        page = acme.get(f"{path_of(told)}?limit=2&cursor={page['next_cursor']}").json()
        found += page["data"]

    assert [email["seq"] for email in found[1:]] == [1, 2, 3, 4]
    assert code_of(acme.get(f"{path_of(told)}?cursor=x")) == (400, "VALIDATION_ERROR")


def test_one_is_sent_again_and_listed_as_its_own(acme: Caller, told: Application) -> None:
    email = Email.objects.get()

    answer = acme.post(f"{path_of(told)}/{email.id}/send-again")
    run_due_tasks()

    assert answer.status_code == 202
    assert len(mail.outbox) == 2
    newest = acme.get(path_of(told)).json()["data"][0]
    assert (newest["repetition"], newest["title"]) == (1, "Application received (sent again)")


def test_what_cannot_be_sent_again_is_refused_by_name(acme: Caller, told: Application) -> None:
    Email.objects.update(state="QUEUED")
    path = f"{path_of(told)}/{Email.objects.get().id}/send-again"

    assert code_of(acme.post(path)) == (409, "EMAIL_NOT_REPEATABLE")
    assert code_of(acme.post(f"{path_of(told)}/{uuid4()}/send-again")) == (404, "NOT_FOUND")


def test_pages_and_api_share_the_limit_of_three_in_a_minute(
    acme: Caller, told: Application
) -> None:
    path = f"{path_of(told)}/{Email.objects.get().id}/send-again"
    for _ in range(3):
        acme.post(path)
        run_due_tasks()

    answer = acme.post(path)

    assert code_of(answer) == (429, "THROTTLED")
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert len(mail.outbox) == 4


def test_only_the_company_reads_them_and_only_who_may_decide_sends(
    told: Application, company: Company, other: Caller
) -> None:
    again = f"{path_of(told)}/{Email.objects.get().id}/send-again"
    reader = key_of(company.id, Scope.READ)

    assert code_of(other.get(path_of(told))) == (404, "NOT_FOUND")
    assert code_of(other.post(again)) == (404, "NOT_FOUND")
    assert code_of(signed_in(told.applicant).get(path_of(told))) == (403, "PERMISSION_DENIED")
    assert reader.get(path_of(told)).status_code == 200
    assert code_of(reader.post(again)) == (403, "PERMISSION_DENIED")
