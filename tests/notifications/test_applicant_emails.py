"""Emails about events: written with the event as a task, sent once, recorded, and sent again."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from django.core import mail
from django.test import Client

from applicants import mail as sending
from applicants.models import ERASED, Applicant
from pipeline.domain.states import Outcome
from pipeline.mail.links import read_offer_token
from pipeline.models import Application, Email
from pipeline.notifications import applicants, reviewers
from pipeline.services.joining import verify
from pipeline.services.leaving import withdraw
from tasks.errors import Retry
from tasks.models import Task
from tests.support import factories
from tests.support.applicants import confirm, decide, leave
from tests.support.clock import let_time_pass
from tests.support.task_runs import make_retries_due, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def notify(settings: Any) -> None:
    """Events are told by mail."""
    settings.NOTIFY = True
    settings.SITE_URL = "https://line.example"


def sent(count: int) -> list[Any]:
    """The mails, after all that is due has run."""
    assert "PENDING" not in run_due_tasks()
    assert len(mail.outbox) == count, [message.subject for message in mail.outbox]
    return mail.outbox


def promote() -> Application:
    """Someone who waited and is offered a seat; older emails are forgotten."""
    holder, waiting = factories.applications(factories.job(), 2)
    run_due_tasks()
    mail.outbox.clear()
    Task.objects.all().delete()
    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    return waiting


def kinds(application_id: UUID) -> list[tuple[str, str]]:
    rows = Email.objects.filter(application_id=application_id).order_by("created_at")
    return list(rows.values_list("kind", "state"))


def test_who_is_promoted_gets_a_link_that_takes_the_seat() -> None:
    waiting = promote()

    [message] = sent(1)
    person = Applicant.objects.get(id=waiting.applicant_id)
    assert message.to == [person.email]
    path = re.search(r"https://line\.example(/confirm/(\S+)/)", str(message.body))
    assert path is not None
    offer = read_offer_token(path[2])
    assert offer is not None
    assert offer.application_id == waiting.id
    assert "It is your turn" in Client().get(path[1]).content.decode()


def test_the_task_holds_ids_only_and_is_written_with_the_event() -> None:
    waiting = promote()

    payloads = Task.objects.filter(type__key="email.event").values_list("payload", flat=True)
    [payload] = payloads
    assert payload == {"application": str(waiting.id), "seq": 6}
    assert not Email.objects.filter(application_id=waiting.id, kind="PROMOTED").exists()


def test_a_miss_and_the_offer_to_the_next_are_told_to_each() -> None:
    job = factories.job(acknowledge_first_seat=True)
    first, second = factories.applications(job, 2)
    sent(2)  # an offer, and a place in line
    mail.outbox.clear()
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()

    to = {each.to[0]: each.subject for each in sent(2)}

    emails = [Applicant.objects.get(id=each.applicant_id).email for each in (first, second)]
    assert "You missed the deadline" in to[emails[0]]
    assert "Your turn" in to[emails[1]]
    assert kinds(first.id) == [("APPLIED", "SENT"), ("DECAYED", "SENT")]


def test_who_applies_gets_a_receipt_with_the_place() -> None:
    job = factories.job()
    factories.applications(job, 3)

    bodies = [str(message.body) for message in sent(3)]

    assert "A seat was free" in bodies[0]
    assert "Your place in line now: 1." in bodies[1]
    assert "Your place in line now: 2." in bodies[2]


def test_who_proves_the_address_and_is_offered_a_seat_gets_the_offer_alone() -> None:
    job = factories.job()
    person = factories.applicant()
    application = factories.application(job, person, verified=False)
    sent(0)  # the address may be a stranger's

    verify(application_id=application.id, actor=factories.owner_of(application))

    [message] = sent(1)
    assert "Your turn" in message.subject


def test_what_they_did_themselves_comes_back_as_a_receipt() -> None:
    waiting = promote()
    confirm(waiting)

    assert [message.subject.partition(" for ")[0] for message in sent(1)] == ["Your seat"]
    assert kinds(waiting.id)[-2:] == [("PROMOTED", "FAILED"), ("ACKNOWLEDGED", "SENT")]


def test_a_withdrawal_is_told_only_if_a_deadline_ran() -> None:
    waiting = promote()
    _, third = factories.applications(waiting.job_id, 2)
    sent(3)
    leave(third)
    sent(3)

    leave(waiting)

    new = [message.subject for message in sent(5)][3:]
    assert sorted(subject.partition(" ")[0] for subject in new) == ["You", "Your"]


def test_a_mail_holds_no_words_of_who_applied() -> None:
    job = factories.job(acknowledge_first_seat=True)
    person = factories.applicant(name="Buy at http://evil.example")

    factories.application(job, person)

    [message] = sent(1)
    assert "evil" not in f"{message.subject} {message.body} {message.alternatives}"


def test_an_email_goes_out_once_however_often_its_task_runs() -> None:
    promote()
    sent(1)
    Task.objects.filter(type__key="email.event").update(status="PENDING", finished_at=None)

    assert run_due_tasks("email.event") == ["SUCCEEDED"]

    assert len(mail.outbox) == 1


def test_a_crash_before_the_record_sends_it_again_under_the_same_message_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting = promote()
    note = applicants._note_state

    def die(*_: Any, **__: Any) -> str:
        raise RuntimeError("killed")

    monkeypatch.setattr(applicants, "_note_state", die)
    run_due_tasks("email.event")
    monkeypatch.setattr(applicants, "_note_state", note)
    assert kinds(waiting.id)[-1] == ("PROMOTED", "QUEUED")
    make_retries_due()

    first, second = sent(2)

    assert first.extra_headers["Message-ID"] == second.extra_headers["Message-ID"]
    assert kinds(waiting.id)[-1] == ("PROMOTED", "SENT")


def test_the_mail_server_can_be_away_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = promote()
    hand_mail_to_server = sending.deliver

    def away(_email: Any) -> str:
        raise Retry("the mail server could not take the email: ConnectionRefusedError")

    monkeypatch.setattr(sending, "deliver", away)
    assert run_due_tasks("email.event") == ["PENDING"]
    assert kinds(waiting.id)[-1] == ("PROMOTED", "QUEUED")
    monkeypatch.setattr(sending, "deliver", hand_mail_to_server)
    make_retries_due()

    sent(1)

    assert kinds(waiting.id)[-1] == ("PROMOTED", "SENT")


def test_after_the_last_attempt_it_is_recorded_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = promote()
    Task.objects.update(max_attempts=1)

    def away(_email: Any) -> str:
        raise Retry("the mail server could not take the email: TimeoutError")

    monkeypatch.setattr(sending, "deliver", away)
    assert run_due_tasks("email.event") == ["DEAD"]

    row = Email.objects.get(application_id=waiting.id, kind="PROMOTED")
    assert (row.state, row.problem) == ("FAILED", "UNREACHABLE")


def test_a_refusal_is_recorded_and_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = promote()

    def refuse(_email: Any) -> str:
        raise sending.Refused("550")

    monkeypatch.setattr(sending, "deliver", refuse)
    assert run_due_tasks("email.event") == ["SUCCEEDED"]

    row = Email.objects.get(application_id=waiting.id, kind="PROMOTED")
    assert (row.state, row.problem) == ("FAILED", "550")


def test_an_offer_that_is_over_is_not_sent_any_more() -> None:
    waiting = promote()
    let_time_pass(waiting.job_id, factories.WINDOW)
    factories.settle_all()

    subjects = [message.subject for message in sent(1)]

    assert "You missed the deadline" in subjects[0]
    row = Email.objects.get(application_id=waiting.id, kind="PROMOTED")
    assert (row.state, row.problem) == ("FAILED", "OVER")


def test_who_was_erased_gets_no_mail() -> None:
    application = factories.application(factories.job())
    Applicant.objects.update(email=f"{ERASED}{application.applicant_id}")

    decide(application, Outcome.REJECTED)

    sent(0)
    assert not Email.objects.exists()


def test_tests_send_nothing_unless_they_ask(settings: Any) -> None:
    settings.NOTIFY = False

    factories.applications(factories.job(), 2)

    assert not Task.objects.exists()


def test_without_a_mail_server_only_the_task_of_the_rota_is_written(settings: Any) -> None:
    settings.EMAIL_BACKEND = sending.NOWHERE

    factories.applications(factories.job(), 2)

    assert list(Task.objects.values_list("type__key", flat=True)) == [reviewers.SEATS]
