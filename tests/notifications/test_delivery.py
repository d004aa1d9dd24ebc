"""Mails follow the commit, beside whoever caused it."""

from __future__ import annotations

import re
import threading
import time
from threading import BoundedSemaphore
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from applicants.models import ERASED, Applicant
from pipeline.domain.states import Outcome
from pipeline.line.signals import committed
from pipeline.mail.links import read_token
from pipeline.notifications import delivery
from pipeline.services.withdraw import withdraw
from tests.support import factories
from tests.support.applicants import decide
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 10


@pytest.fixture(autouse=True)
def notify(settings: Any) -> None:
    """Events are told by mail."""
    settings.NOTIFY = True
    settings.SITE_URL = "https://line.example"


def sent(count: int) -> list[Any]:
    """The mails, once there are so many."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while delivery._room._value < delivery._room._initial_value:  # type: ignore[attr-defined]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert len(mail.outbox) == count
    return mail.outbox


def promote() -> Any:
    """Somebody who waited and is offered a seat."""
    job = factories.job()
    holder, waiting = factories.applications(job, 2)
    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    return waiting


def test_who_is_promoted_gets_a_link_that_takes_the_seat() -> None:
    waiting = promote()

    [message] = sent(1)
    person = Applicant.objects.get(id=waiting.applicant_id)
    assert message.to == [person.email]
    path = re.search(r"https://line\.example(/confirm/(\S+)/)", str(message.body))
    assert path is not None
    offer = read_token(path[2])
    assert offer is not None
    assert offer.application_id == waiting.id
    assert "It is your turn" in Client().get(path[1]).content.decode()


def test_a_miss_and_the_offer_to_the_next_are_told_to_each() -> None:
    job = factories.job(acknowledge_first_seat=True)
    first, second = factories.applications(job, 2)
    sent(1)
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()

    to = {each.to[0]: each.subject for each in sent(3)[1:]}

    emails = [Applicant.objects.get(id=each.applicant_id).email for each in (first, second)]
    assert "You missed the deadline" in to[emails[0]]
    assert "Your turn" in to[emails[1]]


def test_a_mail_holds_no_words_of_who_applied() -> None:
    job = factories.job(acknowledge_first_seat=True)
    person = factories.applicant(name="Buy at http://evil.example")

    factories.application(job, person)

    [message] = sent(1)
    assert "evil" not in f"{message.subject} {message.body}"


def test_nobody_waits_for_the_mail_server(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = threading.Event()
    monkeypatch.setattr(delivery.mail, "send", lambda **_: ready.wait(PATIENCE_SECONDS))
    began = time.monotonic()

    waiting = promote()

    assert time.monotonic() - began < PATIENCE_SECONDS / 2
    assert factories.status_of(waiting) == "PENDING_ACKNOWLEDGMENT"
    ready.set()
    sent(0)


def test_a_failure_is_logged_without_the_address(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_given: Any) -> Any:
        raise ValueError("ana@example.org")

    monkeypatch.setattr(delivery, "message_for", fail)

    waiting = promote()
    sent(0)

    assert factories.status_of(waiting) == "PENDING_ACKNOWLEDGMENT"
    assert "could not be composed: ValueError" in caplog.text
    assert "ana@example.org" not in caplog.text


def test_what_finds_no_room_is_given_up_and_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full = BoundedSemaphore(1)
    full.acquire()
    monkeypatch.setattr(delivery, "_room", full)

    promote()

    assert "were dropped" in caplog.text
    assert mail.outbox == []


def test_who_was_erased_gets_no_mail() -> None:
    application = factories.application(factories.job())
    Applicant.objects.update(email=f"{ERASED}{application.applicant_id}")

    decide(application, Outcome.REJECTED)

    sent(0)


def test_tests_send_nothing_unless_they_ask(settings: Any) -> None:
    settings.NOTIFY = False

    promote()

    assert committed.has_listeners()
    sent(0)
