"""An email server that is away: the metric that rings the alert grows until the email is sent."""

from __future__ import annotations

import time
from typing import Any

import pytest

from applicants import mail as sending
from tasks.models import Task
from tests.api.test_metrics import values
from tests.support.smtp import Mailbox, free_port, mail_server
from tests.support.task_workers import StartWorker
from tests.support.waiting import eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]

NAME = 'nextinline_tasks_failing_seconds{type="email.private@1"}'


def test_monitoring_sees_for_how_long_emails_have_been_failing(
    start_worker: StartWorker, settings: Any
) -> None:
    port, mailbox = free_port(), Mailbox()
    environment = {
        "DJANGO_SETTINGS_MODULE": "pipeline.settings",
        "EMAIL_URL": f"smtp://127.0.0.1:{port}",
    }
    start_worker("--slots", "1", "--poll", "1", **environment)
    assert NAME not in values()

    sending.post_private_email(to="ann@example.org", subject="Code", text="12345678")
    eventually(lambda: NAME in values())
    began, first = time.monotonic(), values()[NAME]
    eventually(lambda: Task.objects.filter(attempt__gte=2).exists())
    later, passed = values(), time.monotonic() - began
    with mail_server(settings, mailbox, port=port):
        eventually(lambda: len(mailbox.taken) == 1)
    eventually(lambda: NAME not in values())

    assert 0 <= first < 60
    assert abs(later[NAME] - first - passed) < 2
    assert not any(name.startswith("nextinline_tasks_dead{") for name in later)
    assert not any("failed" in name and number for name, number in later.items())
