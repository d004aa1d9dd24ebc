"""Emails that bring a company's messages."""

from __future__ import annotations

from typing import Any

import pytest
from anymail.signals import AnymailTrackingEvent, tracking
from anymail.webhooks.base import AnymailBaseWebhookView
from django.core import mail
from django.urls import reverse

from jobs.models import Company, JobPosting, Role, User
from pipeline.correspondence import emails
from pipeline.correspondence.reply_addresses import make_reply_address
from pipeline.mail.links import messages_url
from pipeline.models import Application, ApplicationMessage
from pipeline.notifications.applicants import OF_COMPANY
from pipeline.web import rate_limit
from tests.support.accounts import member_of
from tests.support.correspondence import from_company, texts
from tests.support.smtp import Mailbox, mail_server
from tests.support.task_runs import make_retries_due, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)
TASK = "message.email"


@pytest.fixture
def bo(company: Company) -> User:
    return member_of(company, Role.RECRUITER, name="Bo Berg")


def sent(application: Application, text: str, **more: Any) -> Any:
    """Write a message, and return its email."""
    from_company(application, text, **more)
    mail.outbox.clear()
    run_due_tasks(TASK)
    [email] = mail.outbox
    return email


def test_it_has_the_words_of_the_member_and_says_how_to_answer(
    application: Application, bo: User
) -> None:
    JobPosting.objects.filter(job=application.job_id).update(title="Boat builder")

    email = sent(application, "Hello,\nsee https://x.example/a.", author_id=bo.id)

    assert email.subject == "A message from Acme about “Boat builder”"
    assert email.body == (
        "Hello Ana Li,\n\n"
        "Bo Berg, Acme wrote to you about “Boat builder”:\n\n"
        "Hello,\nsee https://x.example/a.\n\n"
        "Answer this email, or write on the page:\n"
        f"https://line.example/me/applications/{application.id}/messages/\n\n"
        "“Boat builder” at Acme\n"
    )
    html, _kind = email.alternatives[0]
    assert '<a class="any" href="https://x.example/a" rel="noopener' in html
    assert email.from_email == "Acme via Next in Line <no-reply@line.example>"
    assert email.reply_to == [make_reply_address(application.id)]
    assert email.extra_headers["Auto-Submitted"] == "auto-generated"  # no absence note answers it


def test_without_a_reply_address_it_says_to_answer_on_the_page(
    application: Application, settings: Any
) -> None:
    settings.REPLY_ADDRESS = ""

    email = sent(application, "Hello")

    assert email.reply_to == []
    assert "Answer on the page. Nobody reads answers to this email:" in email.body


def test_all_emails_of_a_thread_hang_together(application: Application) -> None:
    first, second = (sent(application, text) for text in ("One", "Two"))

    assert first.extra_headers["References"] == second.extra_headers["References"]
    assert first.extra_headers["Message-ID"] != second.extra_headers["Message-ID"]


@pytest.mark.parametrize(
    "name", ["Bo\r\nBcc: eve@x.example", 'Bo" <eve@x.example>, "', "boss@bank.example", "Bö 北"]
)
def test_no_name_becomes_a_header_or_an_address(
    application: Application, company: Company, name: str
) -> None:
    author = member_of(company, Role.RECRUITER)
    User.objects.filter(id=author.id).update(name=name)

    message = sent(application, "Hello", author_id=author.id).message()

    assert message["Bcc"] is None
    assert message["To"] == application.applicant.email
    assert str(message["From"]).count("@") == 1
    assert str(message["From"]).endswith("<no-reply@line.example>")


def test_the_link_leads_to_the_thread(application: Application) -> None:
    path = reverse("my_messages", args=[application.id])

    assert messages_url(application.id) == f"https://line.example{path}"


def state(application: Application) -> tuple[str, str]:
    row = ApplicationMessage.objects.get(application=application)
    return row.email_state, row.email_problem


def test_a_refused_mailbox_shows_on_the_message(application: Application, settings: Any) -> None:
    from_company(application)
    mailbox = Mailbox()
    mailbox.rcpt_answers = ["550 no such user here"]

    with mail_server(settings, mailbox):
        run_due_tasks(TASK)

    assert state(application) == ("FAILED", "550")


def test_a_busy_mail_server_is_asked_again_under_the_same_id(
    application: Application, settings: Any
) -> None:
    from_company(application)
    mailbox = Mailbox()
    mailbox.data_answers = ["451 later", "250 OK"]

    with mail_server(settings, mailbox):
        run_due_tasks(TASK)
        assert state(application) == ("QUEUED", "")
        make_retries_due()
        run_due_tasks(TASK)
        run_due_tasks(TASK)

    assert (state(application), len(mailbox.taken)) == (("SENT", ""), 1)


def test_the_last_attempt_gives_up_by_name(application: Application) -> None:
    row = from_company(application)

    emails.give_up(row.id)

    assert state(application) == ("FAILED", "UNREACHABLE")


def test_it_counts_among_the_emails_of_a_company_to_a_person(application: Application) -> None:
    subject = f"{application.job.company_id} {application.applicant_id}"
    while rate_limit.count("email_of_company", subject, OF_COMPANY).allowed:
        pass

    from_company(application)

    assert state(application) == ("FAILED", "TOO_MANY")
    assert len(texts(application)) == 1  # it is on the page


def test_what_a_provider_reports_shows_on_the_message(
    application: Application, settings: Any
) -> None:
    emails.start_tracking()
    settings.EMAIL_BACKEND = "anymail.backends.test.EmailBackend"
    from_company(application)
    run_due_tasks(TASK)
    event = AnymailTrackingEvent(
        event_type="bounced", message_id=ApplicationMessage.objects.get().email_message_id
    )

    tracking.send(sender=AnymailBaseWebhookView, event=event, esp_name="test")

    assert state(application) == ("BOUNCED", "BOUNCED")


def test_a_site_without_a_mail_server_keeps_the_message_on_the_page(
    application: Application, settings: Any
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"

    from_company(application)

    assert state(application) == ("", "")
