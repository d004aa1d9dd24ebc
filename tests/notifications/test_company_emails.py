"""Emails to a company's members: a digest every morning, alerts, and a switch for each."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db.models.functions import Now

from jobs.models import Company, Job, Membership, Role
from jobs.team import set_member_emails
from pipeline.models import Email, Heartbeat
from pipeline.notifications.companies import (
    email_alert,
    enqueue_company_digest_emails,
    raise_company_alerts,
)
from tasks.models import Task
from tests.support import background_tasks, factories
from tests.support.accounts import member_of
from tests.support.planned_seats import job_with_skipped_change
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def notify(settings: Any) -> None:
    settings.NOTIFY = True
    settings.SITE_URL = "https://line.example"


@pytest.fixture
def team() -> Company:
    """A company with an owner and a viewer."""
    company = factories.company(name="Harbour Works")
    member_of(company, Role.OWNER, email="owner@example.org")
    member_of(company, Role.VIEWER, email="viewer@example.org")
    return company


def sent() -> list[tuple[str, str]]:
    run_due_tasks("email.digest", "email.alert")
    return [(message.to[0], message.subject) for message in mail.outbox]


def test_every_member_gets_one_digest_a_day(team: Company) -> None:
    factories.applications(factories.job(company_id=team.id), 3)

    assert (enqueue_company_digest_emails(), enqueue_company_digest_emails()) == (2, 0)

    assert [to for to, _ in sent()] == ["owner@example.org", "viewer@example.org"]
    body = str(mail.outbox[0].body)
    assert "Engineer: 1 of 1 seat taken, 2 people waiting, 0 to confirm" in body
    assert "https://line.example/company/jobs/" in body


def test_a_company_without_open_jobs_gets_no_digest(team: Company) -> None:
    factories.job(company_id=team.id, open_now=False)
    enqueue_company_digest_emails()

    assert sent() == []


def test_a_member_can_switch_each_off(team: Company) -> None:
    factories.job(company_id=team.id)
    viewer = Membership.objects.get(user__email="viewer@example.org")
    set_member_emails(membership_id=viewer.id, digest=False)

    enqueue_company_digest_emails()
    email_alert(team.id, "DEAD_LETTERS")

    assert sorted(to for to, _ in sent()) == [
        "owner@example.org",
        "owner@example.org",
        "viewer@example.org",
    ]


def test_who_leaves_meanwhile_gets_nothing(team: Company) -> None:
    email_alert(team.id, "DEAD_LETTERS")
    Membership.objects.all().delete()

    assert sent() == []


def test_only_owners_are_alerted_to_a_webhook_since_only_they_can_open_its_page(
    team: Company,
) -> None:
    assert email_alert(team.id, "WEBHOOK_DISABLED", about="a") == 1

    assert sent() == [("owner@example.org", "Harbour Works: A webhook endpoint was switched off")]


def test_the_same_thing_is_alerted_once_a_day(team: Company) -> None:
    assert email_alert(team.id, "EMAILS_FAILED", about="a") == 2
    assert email_alert(team.id, "EMAILS_FAILED", about="a") == 0
    assert email_alert(team.id, "EMAILS_FAILED", about="b") == 2

    subjects = {subject for _, subject in sent()}
    assert subjects == {"Harbour Works: An email could not be delivered"}
    unsubscribe = mail.outbox[0].extra_headers["List-Unsubscribe"]
    assert unsubscribe.startswith("<https://line.example/unsubscribe/")


def test_nothing_to_tell_raises_nothing(team: Company) -> None:
    factories.applications(factories.job(company_id=team.id), 2)

    assert raise_company_alerts() == {}


def test_a_silent_decay_worker_is_alerted_where_something_is_due(team: Company) -> None:
    factories.application(factories.job(company_id=team.id, acknowledge_first_seat=True))
    Heartbeat.objects.create(worker="decay", completed_at=Now() - timedelta(minutes=5))

    assert raise_company_alerts() == {"DECAY_SILENT": 2}
    assert raise_company_alerts() == {}


def test_an_empty_line_with_free_seats_is_alerted_after_a_day(team: Company) -> None:
    job_id = factories.job(company_id=team.id)
    assert raise_company_alerts() == {}
    Job.objects.filter(id=job_id).update(last_event_at=Now() - timedelta(hours=24, minutes=5))

    assert raise_company_alerts() == {"LINE_EMPTY": 2}


def test_a_planned_change_that_was_skipped_is_alerted(team: Company) -> None:
    job_id = factories.job(company_id=team.id, capacity=4)
    factories.applications(job_id, 2)  # so that the line is not empty

    job_with_skipped_change(job_id)

    assert raise_company_alerts() == {"SEATS_KEPT": 2}
    assert raise_company_alerts() == {}


def test_a_dead_letter_is_alerted_to_its_company_alone(team: Company) -> None:
    other = factories.company()
    member_of(other, Role.OWNER)
    background_tasks.dead(team)

    assert raise_company_alerts() == {"DEAD_LETTERS": 2}


def test_an_email_that_failed_for_good_is_alerted(team: Company) -> None:
    application = factories.application(factories.job(company_id=team.id))
    run_due_tasks()
    Email.objects.filter(application_id=application.id).update(
        state="FAILED", problem="550", state_at=Now()
    )

    assert raise_company_alerts() == {"EMAILS_FAILED": 2}


@pytest.mark.parametrize(("looked_hours_ago", "alerted"), [(None, 0), (3, 1), (1, 0)])
def test_what_happened_while_the_workers_were_away_is_alerted(
    team: Company, looked_hours_ago: int | None, alerted: int
) -> None:
    quiet = factories.job(company_id=team.id)
    application = factories.application(factories.job(company_id=team.id))
    run_due_tasks()
    past = timedelta(hours=2)
    Job.objects.filter(id=quiet).update(last_event_at=Now() - timedelta(days=1) - past)
    failed = Email.objects.filter(application_id=application.id)
    failed.update(state="FAILED", problem="550", state_at=Now() - past)
    background_tasks.dead(team)
    Task.objects.filter(status="DEAD").update(finished_at=Now() - past)
    if looked_hours_ago:
        looked = Now() - timedelta(hours=looked_hours_ago)
        Heartbeat.objects.create(worker="alerts", completed_at=looked)

    kinds = ("LINE_EMPTY", "DEAD_LETTERS", "EMAILS_FAILED")
    assert raise_company_alerts() == (dict.fromkeys(kinds, 2) if alerted else {})

    Task.objects.filter(type__key="email.alert").delete()
    assert raise_company_alerts() == {}  # it is remembered how far it looked


def test_an_offer_answered_before_its_email_is_no_failure(team: Company) -> None:
    application = factories.application(factories.job(company_id=team.id))
    run_due_tasks()
    Email.objects.filter(application_id=application.id).update(state="FAILED", problem="OVER")

    assert raise_company_alerts() == {}


def test_without_a_mail_server_nothing_is_enqueued(team: Company, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    factories.job(company_id=team.id)

    assert (enqueue_company_digest_emails(), email_alert(team.id, "DEAD_LETTERS")) == (
        0,
        0,
    )
    assert not Task.objects.exists()
