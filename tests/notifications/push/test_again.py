"""Requests that certainly did not reach a push service are sent again; others are not."""

from __future__ import annotations

import logging
import socket
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from applicants.models import Device, DeviceNotice
from pipeline.notifications import push
from pipeline.notifications.devices import NOTIFY_DEVICES
from pipeline.outgoing.client import ResolversBusy, WebhookClient
from tasks.models import Task
from tests.notifications.push.offers import offered
from tests.support.push import Browser
from tests.support.receiver import Receiver, reply
from tests.support.task_runs import make_retries_due, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


def states() -> list[str]:
    return sorted(DeviceNotice.objects.values_list("state", flat=True))


def test_what_waited_for_a_name_in_vain_is_not_called_sent(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(Browser(), receiver)

    async def be_busy(*_: Any) -> None:
        raise ResolversBusy

    monkeypatch.setattr(WebhookClient, "_exchange", be_busy)
    run_due_tasks()
    assert states() == ["WAITING"]

    monkeypatch.undo()
    make_retries_due()
    run_due_tasks()
    assert (len(receiver.received), states()) == (1, ["SENT"])


def test_a_connection_that_does_not_come_about_in_time_is_tried_again(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(Browser(), receiver)
    monkeypatch.setattr(push, "REQUEST_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it never says a word of TLS
        Device.objects.update(endpoint=f"https://127.0.0.1:{silent.getsockname()[1]}/x")
        run_due_tasks()

    assert states() == ["WAITING"]


def test_a_request_that_has_begun_and_gets_no_answer_is_not_sent_again(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(Browser(), receiver)
    monkeypatch.setattr(push, "REQUEST_SECONDS", 0.5)
    receiver.answer = lambda _handler: time.sleep(2)
    run_due_tasks()
    make_retries_due()
    run_due_tasks()

    assert (len(receiver.received), states()) == (1, ["FAILED"])


def test_an_error_before_the_last_claim_loses_no_notification(
    receiver: Receiver, second_receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = offered(Browser(), receiver)
    Browser().added_for(application.applicant, second_receiver.url)
    make, calls = push._build_request, []

    def fail_second(*given: Any, **named: Any) -> Any:
        calls.append(given)
        if len(calls) == 2:
            raise OperationalError("the database is away")
        return make(*given, **named)

    monkeypatch.setattr(push, "_build_request", fail_second)
    run_due_tasks()
    assert states() == ["WAITING", "WAITING"]
    make_retries_due()
    run_due_tasks()

    assert (len(receiver.received), len(second_receiver.received)) == (1, 1)


def test_a_push_service_that_wants_an_hour_does_not_hold_up_another(
    receiver: Receiver, second_receiver: Receiver
) -> None:
    application = offered(Browser(), receiver)
    Browser().added_for(application.applicant, second_receiver.url)
    receiver.answers(503, retry_after="20")
    second_receiver.answers(429, retry_after="3600")

    run_due_tasks()

    wait = Task.objects.get(type__key=NOTIFY_DEVICES).run_after - timezone.now()
    assert wait <= timedelta(seconds=20)


def test_the_log_quotes_only_what_can_be_printed(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    offered(Browser(), receiver)
    receiver.answer = lambda handler: reply(handler, 400, b"no\x1b[2J\x07 such\r\nkey")

    with caplog.at_level(logging.WARNING, "pipeline.notifications.push"):
        run_due_tasks()

    [line] = [each for each in caplog.records if each.name == "pipeline.notifications.push"]
    assert "no [2J such key" in line.getMessage()
