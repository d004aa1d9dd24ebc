"""kill -9 of the worker while it sends: each email arrives, and a second time only as the same."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from typing import Any

import pytest

from applicants import mail as sending
from pipeline.models import Email
from tasks.enqueue import enqueue
from tasks.models import Task
from tests.support import factories
from tests.support.smtp import Mailbox, mail_server
from tests.support.task_workers import StartWorker
from tests.support.waiting import eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]

KILLS, PEOPLE = 6, 60
SOON_SECONDS = 20.0  # without the rule, it would be a minute
SETTINGS = {"DJANGO_SETTINGS_MODULE": "pipeline.settings"}
SHORT = ("--lease", "1", "--slots", "2")


def left() -> int:
    return Task.objects.filter(type__key="email.event").exclude(status="SUCCEEDED").count()


def test_killed_workers_lose_no_email(start_worker: StartWorker, settings: Any) -> None:
    settings.NOTIFY = True
    mailbox = Mailbox()
    mailbox.seconds_before_data = 0.05
    with mail_server(settings, mailbox) as port:
        environment = SETTINGS | {"EMAIL_URL": f"smtp://127.0.0.1:{port}"}
        factories.applications(factories.job(), PEOPLE)
        assert left() == PEOPLE
        for _ in range(KILLS):
            worker = start_worker(*SHORT, **environment)
            so_far = len(mailbox.taken)
            eventually(lambda so_far=so_far: len(mailbox.taken) > so_far)  # type: ignore[misc]
            time.sleep(random.uniform(0, 0.3))
            worker.signal(signal.SIGKILL)
        start_worker(*SHORT, **environment)
        eventually(lambda: not left(), 120)

    arrived = Counter(str(message["Message-ID"]) for message in mailbox.taken)
    assert len(arrived) == PEOPLE
    assert arrived.total() <= PEOPLE + 2 * KILLS  # what each of two slots was sending
    assert Email.objects.filter(state="SENT").count() == PEOPLE


def test_a_code_wakes_an_idle_worker(start_worker: StartWorker, settings: Any) -> None:
    mailbox = Mailbox()
    with mail_server(settings, mailbox) as port:
        start_worker("--poll", "60", **SETTINGS, EMAIL_URL=f"smtp://127.0.0.1:{port}")
        sending.post_private_email(
            to="first@example.org", subject="Warm", text="The worker has started."
        )
        eventually(lambda: len(mailbox.taken) == 1)
        time.sleep(0.5)
        took = []
        for number in range(5):
            began = time.monotonic()
            sending.post_private_email(to="ann@example.org", subject="Code", text="12345678")
            eventually(lambda number=number: len(mailbox.taken) == number + 2)  # type: ignore[misc]
            took.append(time.monotonic() - began)
            time.sleep(0.2)

    assert max(took) < SOON_SECONDS


def test_a_code_arrives_although_long_tasks_hold_all_slots(
    start_worker: StartWorker, settings: Any
) -> None:
    mailbox = Mailbox()
    with mail_server(settings, mailbox) as port:
        start_worker("--slots", "2", **SETTINGS, EMAIL_URL=f"smtp://127.0.0.1:{port}")
        long = [enqueue("demo.sleep", {"seconds": 60}).id for _ in range(2)]
        tasks = Task.objects.filter(id__in=long, status="RUNNING")
        eventually(lambda: tasks.count() == 2)
        time.sleep(0.3)
        waiting = enqueue("webhooks.deliver").id
        sending.post_private_email(to="first@example.org", subject="Warm", text="It has started.")
        eventually(lambda: len(mailbox.taken) == 1)
        took = []
        for number in range(5):
            began = time.monotonic()
            sending.post_private_email(to="ann@example.org", subject="Code", text="12345678")
            eventually(lambda number=number: len(mailbox.taken) == number + 2)  # type: ignore[misc]
            took.append(time.monotonic() - began)
            time.sleep(0.2)

        assert max(took) < SOON_SECONDS
        assert tasks.count() == 2
        assert Task.objects.get(id=waiting).status == "PENDING"  # the control: it is not urgent
