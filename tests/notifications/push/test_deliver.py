"""Notifications on devices are sent at most once, again if they surely were not, and to whom."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from applicants.models import Device, DeviceNotice
from pipeline.models import Application
from pipeline.notifications import push
from pipeline.notifications.companies import repeat_email
from pipeline.notifications.devices import NOTIFY_DEVICES
from pipeline.notifications.push import PushReason
from pipeline.privacy.erase import erase_person
from pipeline.services.leaving import withdraw
from tasks.models import Task
from tests.notifications.push.offers import offered, pass_time, waiting
from tests.support import factories
from tests.support.applicants import confirm
from tests.support.push import Browser
from tests.support.receiver import Receiver
from tests.support.task_runs import make_retries_due, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


def notice_tasks() -> int:
    return Task.objects.filter(type__key=NOTIFY_DEVICES).count()


def test_nobody_is_told_twice_whatever_runs_twice(receiver: Receiver) -> None:
    browser = Browser()
    application = offered(browser, receiver)
    run_due_tasks()
    seq = Task.objects.get(type__key=NOTIFY_DEVICES).payload["seq"]

    assert push.deliver(PushReason(application.id, seq)) == {"sent": 0}
    email = application.emails.get(seq=seq)
    repeat_email(application_id=application.id, email_id=email.id, producer="test")
    run_due_tasks()

    assert len(receiver.received) == 1


def test_a_process_that_dies_while_it_asks_does_not_tell_twice(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser()
    application = offered(browser, receiver)

    def die(*_: Any) -> Any:
        raise SystemExit

    monkeypatch.setattr(push, "_note_answer", die)
    seq = Application.objects.get(id=application.id).job.seq
    with pytest.raises(SystemExit):
        push.deliver(PushReason(application.id, seq))
    monkeypatch.undo()
    push.deliver(PushReason(application.id, seq))

    assert len(receiver.received) == 1
    assert DeviceNotice.objects.get().state == "SENDING"


@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_is_gone_is_removed(receiver: Receiver, status: int) -> None:
    offered(Browser(), receiver)
    receiver.answers(status)

    run_due_tasks()

    assert not Device.objects.exists()
    assert not DeviceNotice.objects.exists()


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_push_service_is_asked_again_when_it_says(receiver: Receiver, status: int) -> None:
    browser = Browser()
    offered(browser, receiver)
    receiver.answers(status, retry_after="120")
    run_due_tasks()
    waits = Task.objects.get(type__key=NOTIFY_DEVICES).run_after - timezone.now()
    assert timedelta(seconds=110) < waits <= timedelta(seconds=120)

    receiver.answers(201)
    make_retries_due()
    run_due_tasks()

    assert len(receiver.received) == 2
    assert DeviceNotice.objects.get().state == "SENT"
    assert len(mail.outbox) >= 1  # the email waited for nothing


def test_one_device_that_has_it_is_not_told_again_for_the_sake_of_another(
    receiver: Receiver, second_receiver: Receiver
) -> None:
    browser, other = Browser(), Browser()
    application = offered(browser, receiver)
    other.added_for(application.applicant, second_receiver.url)
    second_receiver.answers(503)
    run_due_tasks()

    second_receiver.answers(201)
    make_retries_due()
    run_due_tasks()

    assert (len(receiver.received), len(second_receiver.received)) == (1, 2)


@pytest.mark.parametrize("status", [400, 403, 413, 302])
def test_a_refusal_is_not_tried_again_and_logged_once_an_hour(
    receiver: Receiver, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answers(status)

    with caplog.at_level(logging.WARNING, "pipeline.notifications.push"):
        for _ in range(2):
            offered(Browser(), receiver)
            run_due_tasks()

    assert [each.state for each in DeviceNotice.objects.all()] == ["FAILED"] * 2
    assert len(receiver.received) == 2
    [line] = [each for each in caplog.records if each.name == "pipeline.notifications.push"]
    assert str(status) in line.getMessage()
    assert "/hook" not in line.getMessage()


def test_a_push_service_that_is_away_is_tried_until_the_offer_is_over(receiver: Receiver) -> None:
    application = offered(Browser(), receiver, acknowledgment_window_seconds=600)
    Device.objects.update(endpoint="http://127.0.0.1:9/away")
    run_due_tasks()
    assert DeviceNotice.objects.get().state == "WAITING"

    pass_time(application, 601)
    make_retries_due()
    run_due_tasks()

    assert DeviceNotice.objects.get().state == "WAITING"
    assert not Task.objects.filter(type__key=NOTIFY_DEVICES, status="PENDING").exists()
    assert receiver.received == []


def test_an_offer_that_was_confirmed_meanwhile_is_not_shown(receiver: Receiver) -> None:
    application = offered(Browser(), receiver)
    run_due_tasks("email.event")
    confirm(application)

    run_due_tasks()

    assert receiver.received == []


def test_an_erased_person_is_told_nothing(receiver: Receiver) -> None:
    application = offered(Browser(), receiver)
    run_due_tasks("email.event")
    assert notice_tasks() == 1

    erase_person(applicant_id=application.applicant_id)
    run_due_tasks()

    assert receiver.received == []
    assert not Device.objects.exists()


def test_the_address_is_checked_right_before_it_is_asked(receiver: Receiver, settings: Any) -> None:
    offered(Browser(), receiver)
    settings.WEBHOOK_ALLOW_PRIVATE = False

    run_due_tasks()

    assert receiver.received == []
    assert DeviceNotice.objects.get().state == "WAITING"


def test_a_device_of_another_key_of_the_site_is_left_alone(
    receiver: Receiver, settings: Any
) -> None:
    offered(Browser(), receiver)
    settings.VAPID_PRIVATE_KEY = b"\10" * 32

    run_due_tasks()

    assert receiver.received == []


def test_a_mail_server_that_is_away_does_not_hold_up_the_device(
    receiver: Receiver, settings: Any
) -> None:
    offered(Browser(), receiver)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9

    run_due_tasks()

    assert len(receiver.received) == 1


def test_nothing_is_sent_from_a_site_without_a_key(receiver: Receiver, settings: Any) -> None:
    offered(Browser(), receiver)
    settings.VAPID_PRIVATE_KEY = b""

    run_due_tasks()

    assert receiver.received == []
    assert notice_tasks() == 0


def test_who_has_no_device_costs_no_query(settings: Any) -> None:
    counts = []
    for key in (b"", settings.VAPID_PRIVATE_KEY):
        settings.VAPID_PRIVATE_KEY = key
        holder, _ = waiting()
        with CaptureQueriesContext(
            connection,
        ) as queries:
            withdraw(application_id=holder.id, actor=factories.owner_of(holder))
            run_due_tasks("email.event")
        counts.append(len(queries))

    assert counts[0] == counts[1]
    assert notice_tasks() == 0


def test_an_offer_costs_a_promotion_no_query_where_there_is_a_device(receiver: Receiver) -> None:
    counts = []
    for has_device in (False, True):
        holder, next_in_line = waiting()
        if has_device:
            Browser().added_for(next_in_line.applicant, receiver.url)
        with CaptureQueriesContext(connection) as queries:
            withdraw(application_id=holder.id, actor=factories.owner_of(holder))
        counts.append(len(queries))

    assert counts[0] == counts[1]
