"""Private emails: stored encrypted with their cause, sent by a task, and gone afterwards."""

from __future__ import annotations

import json
from datetime import timedelta
from smtplib import SMTPDataError, SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.db import connection, transaction

from applicants import mail as sending
from applicants.addresses import masked_address
from applicants.models import PrivateEmail
from pipeline.config.checks import warn_discarded_emails
from tasks.models import Task, TaskEvent
from tests.support.task_runs import make_retries_due, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)

ANN = "ann@example.org"


def post() -> None:
    sending.post_private_email(to=ANN, subject="Hello", text="12345678 is your code.")


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(self: EmailMultiAlternatives, **_: Any) -> int:
        raise error

    monkeypatch.setattr(EmailMultiAlternatives, "send", fail)


def test_nobody_waits_for_the_mail_server() -> None:
    post()
    assert mail.outbox == []

    run_due_tasks()

    assert [message.to for message in mail.outbox] == [[ANN]]


def test_it_goes_before_all_other_work() -> None:
    post()

    assert Task.objects.get().priority == 80


def test_what_is_rolled_back_sends_nothing() -> None:
    with transaction.atomic():
        post()
        transaction.set_rollback(True)

    assert run_due_tasks() == []
    assert not PrivateEmail.objects.exists()


def test_neither_code_nor_address_can_be_read_anywhere_while_it_waits() -> None:
    post()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT t::text FROM tasks_task t UNION ALL SELECT e::text FROM"
            " tasks_taskevent e UNION ALL SELECT p::text FROM applicants_privateemail p"
        )
        rows = " ".join(row for (row,) in cursor.fetchall())
    sealed = bytes(PrivateEmail.objects.get().sealed)
    for secret in ("12345678", ANN):
        assert secret not in rows
        assert secret.encode() not in sealed
        assert secret.encode().hex() not in rows


def test_nothing_of_it_is_left_when_it_is_sent() -> None:
    post()
    run_due_tasks()

    assert not PrivateEmail.objects.exists()
    assert Task.objects.get().result == {"outcome": "sent"}
    kept = json.dumps(list(TaskEvent.objects.values_list("data", flat=True)))
    assert ANN not in kept


def test_a_failure_tells_no_address_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as away:
        failing(away, SMTPRecipientsRefused({ANN: (450, b"greylisted, ann@example.org")}))
        post()
        assert run_due_tasks() == ["PENDING"]
    assert "SMTPRecipientsRefused 450" in str(Task.objects.get().errors)
    assert ANN not in str(Task.objects.get().errors)
    make_retries_due()

    assert run_due_tasks() == ["SUCCEEDED"]

    assert len(mail.outbox) == 1


@pytest.mark.parametrize(
    "error",
    [
        SMTPRecipientsRefused({ANN: (550, b"no such user")}),
        SMTPDataError(554, b"we do not want this"),
        UnicodeEncodeError("ascii", "é", 0, 1, "no"),
    ],
)
def test_a_refusal_for_good_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    failing(monkeypatch, error)
    post()

    assert run_due_tasks() == ["SUCCEEDED"]

    assert Task.objects.get().result == {"outcome": "refused"}
    assert "refused permanently" in caplog.text
    assert ANN not in caplog.text
    assert not PrivateEmail.objects.exists()


def test_after_the_last_attempt_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, SMTPServerDisconnected("gone"))
    post()
    Task.objects.update(max_attempts=1)

    assert run_due_tasks() == ["DEAD"]

    assert not PrivateEmail.objects.exists()


def test_an_expired_one_is_not_sent() -> None:
    sending.post_private_email(
        to=ANN, subject="Hello", text="Late.", lifetime=timedelta(seconds=-1)
    )

    run_due_tasks()

    assert Task.objects.get().result == {"outcome": "expired"}
    assert mail.outbox == []


def test_the_key_can_be_changed_while_one_waits(settings: Any) -> None:
    post()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of more than thirty-two characters"

    run_due_tasks()

    assert len(mail.outbox) == 1


def test_without_the_key_it_was_made_with_it_is_dropped(settings: Any) -> None:
    post()
    settings.SECRET_KEY = "another key of more than thirty-two characters"

    run_due_tasks()

    assert Task.objects.get().result == {"outcome": "unreadable"}
    assert not PrivateEmail.objects.exists()


def test_a_person_who_is_erased_takes_theirs_along() -> None:
    post()
    sending.forget_private_emails("other@example.org")
    assert PrivateEmail.objects.exists()

    sending.forget_private_emails(ANN)

    assert not PrivateEmail.objects.exists()


def test_without_a_mail_server_it_is_said_that_nothing_is_sent(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert warn_discarded_emails() == []
    settings.EMAIL_BACKEND = sending.NOWHERE

    post()

    assert [warning.id for warning in warn_discarded_emails()] == ["applicants.W001"]
    assert "EMAIL_URL is not set" in caplog.text
    assert ANN not in caplog.text
    assert not Task.objects.exists()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("anna@example.org", "a…a@example.org"),
        ("an@example.org", "a…@example.org"),
        ("a@example.org", "a…@example.org"),
    ],
)
def test_a_masked_address_tells_its_owner_and_nobody_else(address: str, shown: str) -> None:
    assert masked_address(address) == shown


def test_an_automatic_email_asks_for_no_automatic_answer() -> None:
    post()
    run_due_tasks()

    sent = mail.outbox[0].message()
    assert sent["Auto-Submitted"] == "auto-generated"
    assert sent["X-Auto-Response-Suppress"] == "OOF, AutoReply"
