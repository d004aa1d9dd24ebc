"""Watching over an open offer: reminders, and no penalty for an outage of ours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import mail

from applicants.models import Applicant
from jobs.policies import Policy
from jobs.quiet_hours import compute_deadline
from pipeline.domain.states import EventType
from pipeline.models import Application, Email
from pipeline.notifications.offers import GUARD, OfferTimes, list_checkpoints
from pipeline.services.leaving import withdraw
from pipeline.services.turns import extend_offer
from tasks.models import Task
from tests.support import factories
from tests.support.applicants import confirm
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.smtp import Mailbox, free_port, mail_server, point_to
from tests.support.task_runs import let_tasks_wait, make_retries_due, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)

DAY = 86_400
AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def notify(settings: Any) -> None:
    settings.NOTIFY = True
    settings.SITE_URL = "https://line.example"


def offered(window: int = DAY) -> Application:
    """Someone who is offered a seat; no task about it has run yet."""
    holder, waiting = factories.applications(factories.job(acknowledgment_window_seconds=window), 2)
    run_due_tasks()
    mail.outbox.clear()
    Task.objects.all().delete()
    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    return waiting


def pass_time(application: Application, seconds: float) -> None:
    """Let time pass for the line and for the tasks alike."""
    let_time_pass(application.job_id, seconds)
    let_tasks_wait(seconds)


def subjects() -> list[str]:
    return [message.subject.partition(":")[0] for message in mail.outbox]


def events(application: Application) -> list[str]:
    return factories.event_names(application.job_id)


@pytest.mark.parametrize(
    ("hours", "wanted"),
    [
        (24, [(12, "REMINDER_HALF"), (23, "REMINDER_HOUR"), (24 - 1 / 60, GUARD)]),
        (3.5, [(2.5, "REMINDER_HOUR"), (3.5 - 1 / 60, GUARD)]),
        (1, [(1 - 1 / 60, GUARD)]),
        (1 / 60, [(0.9 / 60, GUARD)]),
    ],
)
def test_an_offer_is_looked_at_where_its_window_allows(hours: float, wanted: Any) -> None:
    found = list_checkpoints(OfferTimes(AT, AT + timedelta(hours=hours)))

    at = [(round((at - AT) / timedelta(hours=1), 6), what) for at, what in found]
    assert at == [(round(hour, 6), what) for hour, what in wanted]


def test_no_reminder_comes_in_quiet_hours() -> None:
    quiet = Policy(quiet_from="22:00", quiet_to="08:00", quiet_time_zone="UTC").quiet_hours()
    evening = AT.replace(hour=21)
    deadline = compute_deadline(evening, timedelta(hours=5), quiet)  # at noon of the next day

    found = {what: at for at, what in list_checkpoints(OfferTimes(evening, deadline, quiet))}

    tomorrow = evening + timedelta(days=1)
    assert deadline == tomorrow.replace(hour=12)
    assert found["REMINDER_HALF"] == tomorrow.replace(hour=9, minute=30)
    assert found["REMINDER_HOUR"] == tomorrow.replace(hour=11)
    early = OfferTimes(evening - timedelta(hours=5), tomorrow.replace(hour=8, minute=30), quiet)
    last = {what: at for at, what in list_checkpoints(early)}["REMINDER_HOUR"]
    assert last == evening.replace(hour=21, minute=30)  # an hour of the time that runs


def test_the_reminders_come_at_half_time_and_an_hour_before() -> None:
    waiting = offered()
    run_due_tasks()
    assert subjects() == ["Your turn"]

    pass_time(waiting, DAY / 2)
    run_due_tasks()
    assert subjects() == ["Your turn", "Reminder"]
    pass_time(waiting, DAY / 2 - 3_600)
    run_due_tasks()

    assert subjects() == ["Your turn", "Reminder", "Reminder"]
    kinds = Email.objects.filter(application_id=waiting.id, seq=6).order_by("created_at")
    assert list(kinds.values_list("kind", flat=True)) == [
        "PROMOTED",
        "REMINDER_HALF",
        "REMINDER_HOUR",
    ]


def test_a_reminder_can_be_ended_with_one_click() -> None:
    waiting = offered()
    run_due_tasks()
    pass_time(waiting, DAY / 2)
    run_due_tasks()

    headers = mail.outbox[-1].extra_headers
    assert headers["List-Unsubscribe"].startswith("<https://line.example/unsubscribe/")
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert "List-Unsubscribe" not in mail.outbox[0].extra_headers  # a deadline is no newsletter


def test_who_has_confirmed_is_not_reminded() -> None:
    waiting = offered()
    run_due_tasks()
    confirm(waiting)
    run_due_tasks()
    pass_time(waiting, DAY / 2)

    assert run_due_tasks() == ["SUCCEEDED"]

    assert subjects() == ["Your turn", "Your seat for “Engineer” is confirmed"]
    waiting_keys = Task.objects.filter(status="PENDING").values_list("type__key", flat=True)
    assert list(waiting_keys) == ["email.guard"]  # it ends at the deadline, without an email


def test_who_wants_no_reminders_gets_none() -> None:
    waiting = offered()
    run_due_tasks()
    Applicant.objects.filter(id=waiting.applicant_id).update(reminders=False)

    pass_time(waiting, DAY / 2)
    run_due_tasks()

    assert subjects() == ["Your turn"]


def test_a_later_offer_is_watched_by_itself() -> None:
    waiting = offered(window=3_600)
    run_due_tasks()
    pass_time(waiting, 3_600)
    factories.settle_all()
    assert factories.status_of(waiting) == "WAITLIST"

    assert run_due_tasks("email.guard") == ["SUCCEEDED"]

    assert EventType.DEADLINE_EXTENDED not in events(waiting)


def test_a_mail_server_that_is_away_for_half_a_window_costs_nobody_time(settings: Any) -> None:
    waiting = offered()
    first = factories.fresh(waiting).acknowledge_by
    assert first is not None
    port = free_port()
    point_to(settings, port)
    assert run_due_tasks("email.event") == ["PENDING"]

    pass_time(waiting, DAY / 2)
    run_due_tasks()  # the reminder is not sent either: nobody knows of the offer
    mailbox = Mailbox()
    with mail_server(settings, mailbox, port=port):
        make_retries_due()
        run_due_tasks()

    row = factories.fresh(waiting)
    assert row.deadline_extended
    assert row.acknowledge_by is not None
    # All times of the line are half a day earlier now; the deadline is as far away as at first.
    assert abs(row.acknowledge_by - first) < timedelta(minutes=1)
    assert events(waiting)[-1] == EventType.DEADLINE_EXTENDED
    told = [str(message["Subject"]) for message in mailbox.taken]
    assert len(told) == 2  # the offer, and that there is more time


def test_an_offer_whose_email_was_never_handed_over_is_extended_once_before_its_deadline(
    settings: Any,
) -> None:
    waiting = offered()
    point_to(settings, free_port())
    run_due_tasks("email.event")

    pass_time(waiting, DAY - 50)  # the guard looks a minute before the deadline
    run_due_tasks("email.guard")

    row = factories.fresh(waiting)
    assert row.status == "PENDING_ACKNOWLEDGMENT"
    assert row.deadline_extended
    assert row.acknowledge_by is not None
    assert row.promoted_at is not None
    assert row.acknowledge_by - row.promoted_at == timedelta(days=2)
    pass_time(waiting, DAY)
    run_due_tasks("email.guard")
    assert events(waiting).count(EventType.DEADLINE_EXTENDED) == 1
    pass_time(waiting, 60)
    factories.settle_all()
    assert factories.status_of(waiting) == "WAITLIST"  # at most one window


def test_without_the_guard_the_miss_would_be_theirs(settings: Any) -> None:
    waiting = offered()
    point_to(settings, free_port())
    run_due_tasks("email.event")

    pass_time(waiting, DAY)
    factories.settle_all()

    assert factories.fresh(waiting).decay_count == 1


def test_an_unknown_mailbox_is_no_outage_of_ours(settings: Any) -> None:
    waiting = offered()
    mailbox = Mailbox()
    mailbox.rcpt_answers = ["550 no such user"]
    with mail_server(settings, mailbox):
        run_due_tasks("email.event")
        pass_time(waiting, DAY - 50)
        run_due_tasks("email.guard")

    assert not factories.fresh(waiting).deadline_extended


def test_a_mail_that_takes_a_moment_moves_no_deadline() -> None:
    waiting = offered()
    pass_time(waiting, 20 * 60)  # of a day

    run_due_tasks("email.event")

    assert not factories.fresh(waiting).deadline_extended


def extend(waiting: Application, seconds: int) -> None:
    """Let the company extend an offer."""
    deadline = factories.fresh(waiting).acknowledge_by
    assert deadline is not None
    until = deadline + timedelta(seconds=seconds)
    extend_offer(application_id=waiting.id, acknowledge_by=until, actor=factories.RECRUITER)


def test_reminders_follow_the_deadline_that_the_company_gave() -> None:
    waiting = offered()
    run_due_tasks()
    extend(waiting, DAY)
    run_due_tasks()

    pass_time(waiting, DAY / 2)  # half of the first window
    run_due_tasks()
    pass_time(waiting, DAY / 2 - 3_600)  # an hour before the first deadline
    run_due_tasks()
    assert subjects() == ["Your turn", "More time"]

    pass_time(waiting, 3_600)  # half of the time from the extension on
    run_due_tasks()
    assert subjects() == ["Your turn", "More time", "Reminder"]
    pass_time(waiting, DAY - 3_600)
    run_due_tasks()

    assert subjects() == ["Your turn", "More time", "Reminder", "Reminder"]
    assert factories.status_of(waiting) == "PENDING_ACKNOWLEDGMENT"


def test_more_time_after_the_last_reminder_has_a_reminder_of_its_own() -> None:
    waiting = offered()
    run_due_tasks()
    for seconds in (DAY / 2, DAY / 2 - 3_600):
        pass_time(waiting, seconds)
        run_due_tasks()
    extend(waiting, 9 * 3_600)
    run_due_tasks()
    assert subjects() == ["Your turn", "Reminder", "Reminder", "More time"]

    pass_time(waiting, 9 * 3_600)
    run_due_tasks()

    assert subjects()[-1] == "Reminder"
    deadline = factories.fresh(waiting).acknowledge_by
    assert deadline is not None
    assert f"{deadline:%H:%M}" in mail.outbox[-1].subject


def test_the_system_still_gives_time_back_after_the_company_gave_more() -> None:
    waiting = offered(window=3_600)
    extend(waiting, 600)
    Task.objects.filter(type__key="email.event").delete()  # its email never leaves
    pass_time(waiting, 3_600 - 30)

    assert run_due_tasks("email.guard") == ["SUCCEEDED"]

    assert events(waiting).count(EventType.DEADLINE_EXTENDED) == 2
    assert_line_is_sound(waiting.job_id)
