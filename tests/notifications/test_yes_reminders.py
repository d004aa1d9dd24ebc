"""The reminder that a yes in advance ends: a day before, once, and only while the yes stands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail

from applicants.models import Applicant
from pipeline.models import Application, Email
from pipeline.notifications.applicants import recompose_email
from pipeline.services.jobs import close_job
from pipeline.services.turns import preaccept
from tasks.models import Task
from tests.notifications.test_offers import DAY, notify, pass_time
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import database_now
from tests.support.sandboxes import advance, sandbox
from tests.support.smtp import free_port, point_to
from tests.support.task_runs import make_retries_due, run_due_tasks

__all__ = ["notify"]
pytestmark = pytest.mark.django_db(transaction=True)
KEY = "email.yes"


def say_yes(person: Application, days: float | None) -> None:
    until = None if days is None else database_now() + timedelta(days=days)
    preaccept(application_id=person.id, accept_until=until, actor=factories.owner_of(person))


@pytest.fixture
def waiting() -> Application:
    """Someone who waits, and said yes for three days; older emails are forgotten."""
    _seated, found = factories.applications(factories.job(), 2)
    run_due_tasks()
    mail.outbox.clear()
    say_yes(found, 3)
    return found


def test_a_day_before_a_yes_ends_one_email_says_so(waiting: Application) -> None:
    pass_time(waiting, 1.99 * DAY)
    assert run_due_tasks() == []

    pass_time(waiting, 0.02 * DAY)
    run_due_tasks()
    Task.objects.filter(type__key=KEY).update(status="PENDING", attempt=0)  # as after a crash
    run_due_tasks()

    [message] = mail.outbox
    assert message.to == [waiting.applicant.email]
    assert message.subject.startswith("Your advance acceptance for “Engineer” ends at ")
    assert "Your place in line now: 1." in str(message.body)
    assert f"/applications/{waiting.id}/" in str(message.body)
    assert "List-Unsubscribe" in message.extra_headers
    [row] = Email.objects.filter(application=waiting, kind="REMINDER_YES")
    assert row.state == "SENT"
    recorded = recompose_email(row)
    assert recorded
    assert recorded.subject == message.subject


def take_back(person: Application) -> None:
    say_yes(person, None)


def say_yes_again(person: Application) -> None:
    say_yes(person, 9)


def use(person: Application) -> None:
    leave(Application.objects.get(job_id=person.job_id, status="ACTIVE"))
    run_due_tasks("email.event")
    mail.outbox.clear()


def close(person: Application) -> None:
    close_job(job_id=person.job_id, actor=factories.RECRUITER)


def turn_reminders_off(person: Application) -> None:
    Applicant.objects.filter(id=person.applicant_id).update(reminders=False)


def let_it_end(person: Application) -> None:
    pass_time(person, 3 * DAY)


@pytest.mark.parametrize(
    "change", [take_back, say_yes_again, use, close, turn_reminders_off, let_it_end]
)
def test_a_yes_that_does_not_stand_is_not_reminded_of(
    waiting: Application, change: Callable[[Application], None]
) -> None:
    change(waiting)
    pass_time(waiting, 2.01 * DAY)

    assert run_due_tasks(KEY) == ["SUCCEEDED"]

    assert mail.outbox == []
    assert not Email.objects.filter(kind="REMINDER_YES").exists()


def test_a_yes_for_less_than_two_days_needs_no_reminder(waiting: Application) -> None:
    Task.objects.all().delete()

    say_yes(waiting, 1.9)

    assert not Task.objects.filter(type__key=KEY).exists()


def test_a_reminder_that_the_server_does_not_take_ends_with_the_yes(
    waiting: Application, settings: Any
) -> None:
    pass_time(waiting, 2.01 * DAY)
    point_to(settings, free_port())
    assert "PENDING" in run_due_tasks(KEY)
    say_yes(waiting, None)
    make_retries_due()

    run_due_tasks(KEY)

    [row] = Email.objects.filter(kind="REMINDER_YES")
    assert (row.state, row.problem) == ("FAILED", "OVER")


def test_in_a_sandbox_it_is_recorded_at_its_time_and_sent_to_nobody() -> None:
    company = sandbox()
    _seated, first, second = factories.applications(factories.job(company_id=company.id), 3)
    now = database_now()
    for person in (first, second):
        until = now + timedelta(days=3)
        preaccept(application_id=person.id, accept_until=until, actor=factories.owner_of(person))
    say_yes(second, None)
    run_due_tasks()

    advance(company, int(2.5 * DAY))
    run_due_tasks()

    [row] = Email.objects.filter(kind="REMINDER_YES")
    assert (row.application_id, row.state) == (first.id, "SENT")
    assert row.state_at == now + timedelta(days=2)
    assert mail.outbox == []
