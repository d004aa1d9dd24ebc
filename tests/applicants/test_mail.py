"""Emails are sent after the commit, in the background; log lines of failures hold no address."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from smtplib import SMTPRecipientsRefused
from threading import BoundedSemaphore, Event
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.db import transaction

from applicants import mail as sending
from applicants.checks import mail_goes_somewhere

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 10
ANN = "ann@example.org"


@pytest.fixture
def slow_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """A mail server that takes no mail before the event is set."""
    ready = Event()
    send = EmailMessage.send

    def when_ready(self: EmailMessage) -> int:
        assert ready.wait(PATIENCE_SECONDS)
        return send(self)

    monkeypatch.setattr(EmailMessage, "send", when_ready)
    yield ready
    ready.set()
    wait_for_room()


def post() -> None:
    sending.post(to=ANN, subject="Hello", text="Here is a text.")


def wait_for_room() -> None:
    """Until no mail is on its way."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while sending._room._value < sending._room._initial_value:  # type: ignore[attr-defined]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_nobody_waits_for_the_mail_server(slow_server: Event) -> None:
    began = time.monotonic()
    post()
    assert time.monotonic() - began < 1
    assert mail.outbox == []

    slow_server.set()
    wait_for_room()

    assert [message.to for message in mail.outbox] == [[ANN]]


def test_a_mail_leaves_after_the_commit() -> None:
    with transaction.atomic():
        post()
        wait_for_room()
        assert mail.outbox == []

    wait_for_room()
    assert len(mail.outbox) == 1


def test_what_is_rolled_back_sends_nothing() -> None:
    with transaction.atomic():
        post()
        transaction.set_rollback(True)

    wait_for_room()
    assert mail.outbox == []


def test_a_failure_is_logged_without_the_address(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(self: EmailMessage) -> int:
        raise SMTPRecipientsRefused({ANN: (550, b"no such user")})

    monkeypatch.setattr(EmailMessage, "send", refuse)

    post()
    wait_for_room()

    [record] = [each for each in caplog.records if each.name == "applicants.mail"]
    assert record.levelno == logging.ERROR
    assert "SMTPRecipientsRefused" in record.getMessage()
    assert ANN not in caplog.text


def test_no_more_mails_wait_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, slow_server: Event
) -> None:
    monkeypatch.setattr(sending, "_room", BoundedSemaphore(2))

    for _ in range(3):
        post()
    assert "dropped" in caplog.text

    slow_server.set()
    wait_for_room()
    assert len(mail.outbox) == 2


def test_without_a_mail_server_it_is_said_that_nothing_is_sent(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert mail_goes_somewhere() == []
    settings.EMAIL_BACKEND = sending.NOWHERE

    post()

    assert [warning.id for warning in mail_goes_somewhere()] == ["applicants.W001"]
    assert "EMAIL_URL is not set" in caplog.text
    assert ANN not in caplog.text


def test_who_is_off_everybodys_path_sends_at_once(
    settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sending.send(to=ANN, subject="Hello", text="Here is a text.")
    settings.EMAIL_BACKEND = sending.NOWHERE
    sending.send(to=ANN, subject="Nowhere", text="Here is a text.")

    assert [message.subject for message in mail.outbox] == ["Hello"]
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("anna@example.org", "a…a@example.org"),
        ("an@example.org", "a…@example.org"),
        ("a@example.org", "a…@example.org"),
    ],
)
def test_a_masked_address_tells_its_owner_and_nobody_else(address: str, shown: str) -> None:
    assert sending.masked(address) == shown
