"""Real SMTP: servers that refuse, put off, are slow, are broken, or die at the worst moment."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.models import Application, Email
from pipeline.services.leaving import withdraw
from tasks.models import Task
from tests.support import factories
from tests.support.smtp import (
    Mailbox,
    free_port,
    hang_up,
    mail_server,
    point_to,
    raw_server,
    say_garbage,
    say_nothing,
)
from tests.support.task_runs import make_retries_due, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def offered(settings: Any) -> Application:
    """Someone whose offer has to be emailed."""
    holder, waiting = factories.applications(factories.job(), 2)
    settings.NOTIFY = True
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    return waiting


def run() -> list[str]:
    return run_due_tasks("email.event")


def record(application: Application) -> tuple[str, str]:
    row = Email.objects.get(application_id=application.id)
    return row.state, row.problem


def test_an_email_has_two_readable_parts_and_the_deadline_for_calendars(
    offered: Application, settings: Any
) -> None:
    mailbox = Mailbox()

    with mail_server(settings, mailbox):
        assert run() == ["SUCCEEDED"]

    [message] = mailbox.taken
    parts = [part.get_content_type() for part in message.walk() if not part.is_multipart()]
    assert parts == ["text/plain", "text/html", "text/calendar"]
    assert message["Message-ID"] == Email.objects.get().message_id
    assert record(offered) == ("SENT", "")


def test_an_unknown_mailbox_is_a_failure_for_good(offered: Application, settings: Any) -> None:
    mailbox = Mailbox()
    mailbox.rcpt_answers = ["550 no such user here"]

    with mail_server(settings, mailbox):
        assert run() == ["SUCCEEDED"]

    assert record(offered) == ("FAILED", "550")
    assert mailbox.taken == []


def test_refused_content_is_a_failure_for_good(offered: Application, settings: Any) -> None:
    mailbox = Mailbox()
    mailbox.data_answers = ["554 message looks like spam"]

    with mail_server(settings, mailbox):
        assert run() == ["SUCCEEDED"]

    assert record(offered) == ("FAILED", "554")


@pytest.mark.parametrize("step", ["rcpt_answers", "data_answers"])
def test_greylisting_puts_it_off(offered: Application, settings: Any, step: str) -> None:
    mailbox = Mailbox()
    setattr(mailbox, step, ["451 come back in a minute"])

    with mail_server(settings, mailbox):
        assert run() == ["PENDING"]
        assert record(offered) == ("QUEUED", "")
        make_retries_due()
        assert run() == ["SUCCEEDED"]

    assert record(offered) == ("SENT", "")
    assert len(mailbox.taken) == 1


def test_a_server_that_is_away_is_asked_again(offered: Application, settings: Any) -> None:
    port = free_port()
    point_to(settings, port)
    assert run() == ["PENDING"]
    make_retries_due()

    with mail_server(settings, Mailbox(), port=port):
        assert run() == ["SUCCEEDED"]

    assert record(offered) == ("SENT", "")


@pytest.mark.parametrize("behaviour", [say_nothing, say_garbage, hang_up])
def test_a_broken_server_costs_a_second_and_is_asked_again(
    offered: Application, settings: Any, behaviour: Callable[[socket.socket], None]
) -> None:
    with raw_server(behaviour) as port:
        point_to(settings, port)
        assert run() == ["PENDING"]

    assert record(offered) == ("QUEUED", "")
    [told] = [error["message"] for error in Task.objects.get(type__key="email.event").errors]
    assert told.startswith("the mail server could not take the email: ")
    assert "@" not in told


def test_a_slow_server_is_left_after_the_timeout(offered: Application, settings: Any) -> None:
    mailbox = Mailbox()
    mailbox.seconds_before_data = 1.5  # the timeout is one second

    with mail_server(settings, mailbox):
        assert run() == ["PENDING"]

    assert record(offered) == ("QUEUED", "")


def test_a_server_that_dies_before_its_answer_gets_the_same_message_id_again(
    offered: Application, settings: Any
) -> None:
    mailbox = Mailbox()
    mailbox.after_data = lambda server: server.transport.abort()

    with mail_server(settings, mailbox):
        assert run() == ["PENDING"]
        mailbox.after_data = None
        make_retries_due()
        assert run() == ["SUCCEEDED"]

    assert len(mailbox.taken) == 2  # it had taken the first: nobody can know
    assert len({message["Message-ID"] for message in mailbox.taken}) == 1
    assert record(offered) == ("SENT", "")


def test_a_server_that_dies_after_its_answer_has_the_email(
    offered: Application, settings: Any
) -> None:
    def answer(client: socket.socket) -> None:
        client.sendall(b"220 hello\r\n")
        said, in_data = b"", False
        while chunk := client.recv(65_536):
            said += chunk
            if in_data and not said.endswith(b"\r\n.\r\n"):
                continue
            if in_data:
                client.sendall(b"250 taken\r\n")
                return  # gone before QUIT
            in_data = said.endswith((b"data\r\n", b"DATA\r\n"))
            client.sendall(b"354 go on\r\n" if in_data else b"250 fine\r\n")
            said = b""

    with raw_server(answer) as port:
        point_to(settings, port)
        assert run() == ["SUCCEEDED"]

    assert record(offered) == ("SENT", "")
