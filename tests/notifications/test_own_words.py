"""Emails to applicants in their company's own words, around what every email has to say."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext

from applicants.models import Applicant
from jobs.companies import name_controller
from jobs.models import Company, JobPosting
from pipeline.domain.states import Outcome, Reason
from pipeline.models import Application, DecisionText, Email, Event
from pipeline.notifications.applicants import Cause, recompose_email, send_email
from pipeline.privacy.erase import erase_person
from pipeline.privacy.my_data import collect
from pipeline.review.decisions import TASK
from pipeline.services.leaving import withdraw
from pipeline.texts import letterheads
from pipeline.texts.kinds import EVERY, KINDS, OFFER
from pipeline.texts.words import save_text
from tasks.models import Task
from tests.support import factories
from tests.support.applicants import decide
from tests.support.decisions import made
from tests.support.task_runs import let_tasks_wait, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def notify(settings: Any) -> None:
    """Events are told by mail."""
    settings.NOTIFY = True
    settings.SITE_URL = "https://line.example"
    settings.DEFAULT_FROM_EMAIL = "Next in Line <no-reply@line.example>"


@pytest.fixture
def company() -> Company:
    return factories.company(name="Harbour Works")


@pytest.fixture
def job(company: Company) -> UUID:
    return factories.job(company_id=company.id)


@pytest.fixture
def undo_seconds(settings: Any) -> int:
    settings.DECISION_UNDO_SECONDS = 10
    return 10


def write(company: Company, kind: str, *, seen: int = 0, **parts: str) -> None:
    save_text(company_id=company.id, kind=KINDS[kind], parts=parts, seen=seen, by=None)


def promoted(job: UUID, **person: str) -> Application:
    """Someone who waited and is offered a seat; older emails are forgotten."""
    holder = factories.application(job)
    waiting = factories.application(job, factories.applicant(**person))
    run_due_tasks()
    mail.outbox.clear()
    Task.objects.all().delete()
    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    return waiting


def one_email() -> Any:
    run_due_tasks()
    [message] = mail.outbox
    return message


def test_own_words_stand_around_what_must_be_said(company: Company, job: UUID) -> None:
    write(company, EVERY, greeting="Moin {name},", signature="Ines\n{company}")
    write(
        company,
        OFFER,
        subject="{name}: your turn as {job}",
        opening="Please answer by {deadline}.",
        closing="See you on the quay.",
    )
    by = factories.UserFactory.create().id
    letterheads.save(company_id=company.id, sender_name="The Harbour", seen=0, by=by)
    name_controller(company_id=company.id, legal_name="Harbour Works GmbH", contact="", by=None)
    promoted(job, name="Ana Li")

    message = one_email()

    assert message.subject == "Ana Li: your turn as Engineer"
    assert message.from_email == "The Harbour via Next in Line <no-reply@line.example>"
    lines = [line for line in str(message.body).split("\n") if line]
    assert lines[0] == "Moin Ana Li,"
    assert lines[1].startswith("Please answer by ")
    assert lines[2].startswith("It is your turn. Confirm by ")
    assert lines[3].startswith("https://line.example/confirm/")
    assert lines[4].startswith("A seat means ")
    assert lines[5].startswith("Times are in ")
    assert "withdraw" in lines[6]
    assert lines[7:12] == [
        "See you on the quay.",
        "Ines",
        "Harbour Works",
        "“Engineer” at Harbour Works",
        "Responsible for your data: Harbour Works GmbH",
    ]
    assert lines[12].startswith("Proof ")


def test_a_text_is_never_html_and_its_links_are_plain_text(company: Company, job: UUID) -> None:
    write(
        company,
        OFFER,
        opening="<a href='https://x.example'>Click</a> <b>now</b>\nhttps://x.example",
    )
    promoted(job, name="Ana Li")

    message = one_email()

    [(html, _)] = message.alternatives
    assert (
        "&lt;a href=&#x27;https://x.example&#x27;&gt;Click&lt;/a&gt; &lt;b&gt;now&lt;/b&gt;<br>"
        in html
    )
    assert 'href="https://x.example' not in html


def test_no_name_and_no_job_gets_into_the_headers_or_is_read_as_a_field(
    company: Company, job: UUID
) -> None:
    JobPosting.objects.filter(job_id=job).update(title="{company}\r\nBcc: all@example.org")
    write(company, OFFER, subject="{name} and {job}", greeting="Hi {name},")
    promoted(job, name="Visit x.example {company}")

    message = one_email()

    assert message.subject == "applicant and {company} Bcc: all@example.org"
    assert "Bcc" not in message.message()


def test_own_words_replace_our_thanks_alone(company: Company, job: UUID) -> None:
    person = factories.application(job)
    run_due_tasks()
    mail.outbox.clear()
    write(company, "REJECTED", opening="This was hard.")

    decide(person, Outcome.REJECTED)

    body = str(one_email().body)
    assert "This was hard.\n\nThe company decided" in body.replace("The company has", "The company")
    assert "Thank you for applying" not in body
    assert "ask the company to look again" in body


def test_an_email_that_waits_has_the_words_of_when_it_is_sent(company: Company, job: UUID) -> None:
    write(company, OFFER, opening="Old words, with a mistake.")
    promoted(job)
    write(company, OFFER, seen=1, opening="New words.")

    body = str(one_email().body)

    assert "New words." in body
    assert "Old words" not in body
    [row] = Email.objects.filter(kind="PROMOTED")
    write(company, OFFER, seen=2)
    again = recompose_email(row)
    assert again is not None
    assert "words" not in again.text


def statements(company: Company) -> int:
    """Send the email of an offer, and count its statements."""
    waiting = promoted(factories.job(company_id=company.id))
    seq = Event.objects.filter(application_id=waiting.id).latest("seq").seq
    with CaptureQueriesContext(connection) as found:
        assert send_email(Cause(waiting.id, seq)) == "SENT"
    return len(found)


def test_own_words_cost_one_statement_and_none_costs_nothing() -> None:
    bare, other = factories.company(), factories.company()
    write(other, EVERY, signature="The crew")
    write(other, OFFER, opening="Hi", subject="Hello")

    usual = statements(bare)

    assert usual == USUAL_STATEMENTS
    assert statements(other) == usual + 1


# Of the email of an offer, before there were texts.
USUAL_STATEMENTS = 14


# Sentences with a decision.


def test_a_sentence_with_a_rejection_is_read_in_the_email_and_nowhere_in_the_log(
    company: Company, job: UUID
) -> None:
    person = factories.application(job, factories.applicant(name="Ana Li"))
    run_due_tasks()
    mail.outbox.clear()

    text = "Dear {name}, {company} looked for another {job}.\nAll the best!"
    decide(person, Outcome.REJECTED, reason=Reason.NOT_A_MATCH, text=text)

    filled = "Dear Ana Li, Harbour Works looked for another Engineer.\nAll the best!"
    assert f"Harbour Works wrote:\n\n{filled}" in str(one_email().body)
    event = Event.objects.get(application_id=person.id, event="REMOVED")
    assert DecisionText.objects.get(application_id=person.id, seq=event.seq).text == filled
    assert set(event.data) & {"text", "sentence"} == set()
    assert "Dear" not in str(event.data)


def test_a_decision_that_waits_keeps_its_sentence_however_texts_change(
    undo_seconds: int, company: Company, job: UUID
) -> None:
    factories.application(job, factories.applicant(name="Ana Li"))
    decision = made(job, "Ana Li", text="As we wrote it.")
    write(company, "WITH_NOT_A_MATCH", sentence="Another sentence.")

    let_tasks_wait(undo_seconds)
    run_due_tasks(TASK)

    assert DecisionText.objects.get().text == "As we wrote it."
    decision.refresh_from_db()
    assert decision.text == ""


def test_a_person_downloads_it_with_who_is_responsible(company: Company, job: UUID) -> None:
    ana = factories.application(job, factories.applicant(name="Ana Li"))
    decide(ana, Outcome.REJECTED, text="Sorry, {name}.")
    name_controller(company_id=company.id, legal_name="Harbour Works GmbH", contact="", by=None)

    [kept] = collect(Applicant.objects.get(applications=ana))["applications"]

    assert [each["what_the_company_wrote"] for each in kept["timeline"]] == [None, "Sorry, Ana Li."]
    assert kept["responsible"]["name"] == "Harbour Works GmbH"


def test_it_goes_with_the_person(company: Company, job: UUID, undo_seconds: int) -> None:
    ana, bo = (
        factories.application(job, factories.applicant(name=name)) for name in ("Ana Li", "Bo Berg")
    )
    decide(ana, Outcome.REMOVED, text="Sorry, Ana.")
    waiting = made(job, "Bo Berg", text="Sorry, Bo.")

    for person in (ana, bo):
        erase_person(applicant_id=Applicant.objects.get(applications=person).id)

    assert not DecisionText.objects.exists()
    waiting.refresh_from_db()
    assert waiting.text == ""
