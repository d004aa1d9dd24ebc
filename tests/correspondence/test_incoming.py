"""Emails that come in: whose they are, what only looks like an answer, and what becomes of each."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.core import mail

from jobs.models import Company
from pipeline.correspondence.bodies import strip_quotes
from pipeline.correspondence.incoming import Envelope, NotForUs, Unreadable, take
from pipeline.correspondence.reply_addresses import make_reply_address
from pipeline.domain.errors import TooManyMessages
from pipeline.models import Application, ApplicationMessage, Attachment
from pipeline.privacy.erase import erase_person
from tests.support import factories
from tests.support.correspondence import answer, from_company, received, texts
from tests.support.documents import PDF
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


def only() -> ApplicationMessage:
    return ApplicationMessage.objects.get()


def test_an_answer_of_the_applicant_is_shown_without_what_it_quotes(
    application: Application,
) -> None:
    sent = from_company(application)
    text = "On Monday.\n\nAm 28.11.2026 um 10:00 schrieb Acme <no-reply@x.org>:\n> When?\n"

    assert received(answer(application, text)) == "shown"

    row = ApplicationMessage.objects.get(side="APPLICANT")
    assert (row.text, row.way, row.unproved, row.sender) == ("On Monday.", "EMAIL", "", "")
    sent.refresh_from_db()
    assert sent.read_at  # whoever answers has read it


@pytest.mark.parametrize("spelling", [str.upper, lambda text: f"Ana <{text}>"])
def test_the_address_counts_in_any_spelling(application: Application, spelling: Any) -> None:
    given = spelling(application.applicant.email)

    assert received(answer(application, From=given)) == "shown"


@pytest.mark.parametrize("from_", ["eve@example.org", "", "ana@example.org, eve@example.org"])
def test_an_email_of_another_sender_is_shown_as_theirs_and_not_as_the_applicants(
    application: Application, from_: str
) -> None:
    email = answer(application, From=from_.replace("ana@example.org", application.applicant.email))
    email.add_attachment(PDF, maintype="application", subtype="pdf", filename="offer.pdf")

    assert received(email) == "unproved"

    row = only()
    assert (row.unproved, row.side) == ("OTHER_SENDER", "APPLICANT")
    assert row.sender == ("eve@example.org" if from_ == "eve@example.org" else "")
    assert (row.left_out, Attachment.objects.count()) == ("offer.pdf", 0)


def test_what_is_not_proved_has_read_nothing_and_is_bounded(application: Application) -> None:
    sent = from_company(application)
    fates = [
        received(answer(application, From="eve@example.org", Message_ID=f"<{n}@x>"))
        for n in range(7)
    ]

    assert fates == ["unproved"] * 5 + ["dropped"] * 2
    sent.refresh_from_db()
    assert sent.read_at is None


OURS = "mx.line.example"


@pytest.mark.parametrize(
    ("results", "fate"),
    [
        ([f"{OURS}; dmarc=pass header.from=example.org"], "shown"),
        ([f"{OURS} 1; spf=fail; dkim=pass (2048 bit) header.d=example.org"], "shown"),
        ([f"{OURS}; dmarc=fail header.from=example.org"], "unproved"),
        ([f"{OURS}; dmarc=pass header.from=evil.example"], "unproved"),
        ([f"{OURS}; dkim=pass header.d=evil.example"], "unproved"),
        ([f"{OURS}; spf=pass smtp.mailfrom=example.org"], "unproved"),
        (["mx.evil.example; dmarc=pass header.from=example.org"], "unproved"),
        ([f"{OURS}.evil.example; dmarc=pass header.from=example.org"], "unproved"),
        # Ours is the newest; what stands below it came with the email.
        ([f"{OURS}; dmarc=fail", f"{OURS}; dmarc=pass header.from=example.org"], "unproved"),
        ([], "unproved"),
    ],
)
def test_with_a_mail_server_that_proves_senders_only_a_proof_of_its_own_counts(
    application: Application, settings: Any, results: list[str], fate: str
) -> None:
    settings.INCOMING_AUTHSERV_ID = OURS
    domain = application.applicant.email.partition("@")[2]
    email = answer(application)
    for each in results:
        email["Authentication-Results"] = each.replace("example.org", domain)

    assert received(email) == fate
    assert only().unproved == ("" if fate == "shown" else "NOT_AUTHENTICATED")


@pytest.mark.parametrize(
    "headers",
    [
        {"Auto-Submitted": "auto-replied"},
        {"Auto-Submitted": "auto-generated; owner=x"},
        {"Precedence": "bulk"},
        {"Precedence": "auto_reply"},
        {"X-Autoreply": "yes"},
        {"Return-Path": "<>"},
        {"List-Id": "<list.example>"},
        {"From": "MAILER-DAEMON@mailbox.example"},
    ],
)
def test_what_a_program_sent_is_neither_shown_nor_answered(
    application: Application, headers: dict[str, str]
) -> None:
    email = answer(application, **{"From": application.applicant.email} | headers)
    run_due_tasks()
    mail.outbox.clear()

    assert received(email) == "automatic"

    run_due_tasks()
    assert (texts(application), mail.outbox) == ([], [])


@pytest.mark.parametrize("sender", ["", "<>", "MAILER-DAEMON", "mailer-daemon@mx.example"])
def test_the_null_sender_of_the_envelope_is_a_program(
    application: Application, sender: str
) -> None:
    assert received(answer(application), sender=sender) == "automatic"
    assert texts(application) == []


def test_auto_submitted_no_is_a_persons(application: Application) -> None:
    assert received(answer(application, Auto_Submitted="no")) == "shown"


def bounce(message_id: str, action: str = "failed", *, answers_to: str = "") -> bytes:
    return (
        "From: MAILER-DAEMON@mx.example\nTo: no-reply@line.example\nSubject: Undelivered\n"
        "MIME-Version: 1.0\n"
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\n'
        "\n--b\nContent-Type: text/plain\n\nSorry.\n"
        "--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\n"
        f"Action: {action}\nStatus: 5.1.1\n"
        f"--b\nContent-Type: message/rfc822\n\nMessage-ID: {message_id}\nSubject: A\n"
        f"Reply-To: {answers_to}\n\nHi\n--b--\n"
    ).encode()


def test_an_email_that_comes_back_marks_the_message_that_it_brought(
    application: Application,
) -> None:
    sent = from_company(application)
    run_due_tasks()
    message_id = mail.outbox[-1].extra_headers["Message-ID"]

    assert take(bounce(message_id, "delayed"), Envelope([make_reply_address(application.id)])) == (
        "automatic"
    )
    sent.refresh_from_db()
    assert sent.email_state == "SENT"

    returned = bounce(message_id, answers_to=mail.outbox[-1].reply_to[0])
    assert take(returned, Envelope(["no-reply@line.example"])) == "came back"
    sent.refresh_from_db()
    assert (sent.email_state, sent.email_problem) == ("BOUNCED", "BOUNCED")
    assert texts(application) == [sent.text]


def test_a_report_that_knows_only_the_message_id_is_not_believed(
    application: Application, company: Company
) -> None:
    sent = from_company(application)
    run_due_tasks()
    message_id = mail.outbox[-1].extra_headers["Message-ID"]
    other = factories.application(factories.job(company_id=company.id))
    of_another_thread = make_reply_address(other.id)

    for answers_to in ("", "jobs@reply.example", of_another_thread):
        with pytest.raises(NotForUs):
            take(bounce(message_id, answers_to=answers_to), Envelope(["no-reply@line.example"]))
    assert take(bounce(message_id), Envelope([of_another_thread])) == "automatic"
    sent.refresh_from_db()
    assert sent.email_state == "SENT"

    assert take(bounce(message_id), Envelope([make_reply_address(application.id)])) == "came back"


def test_a_report_about_nothing_of_ours_is_not_for_us(application: Application) -> None:
    with pytest.raises(NotForUs):
        take(bounce("<somebody@else.example>"), Envelope(["no-reply@line.example"]))


def test_the_same_email_twice_is_one_message(application: Application) -> None:
    email = answer(application)

    assert [received(email), received(email)] == ["shown", "shown"]
    assert texts(application) == ["On Monday."]


def test_a_message_id_of_another_sender_takes_nothing_away(application: Application) -> None:
    received(answer(application, "Forged", From="eve@example.org"))

    assert received(answer(application, "Mine")) == "shown"
    assert texts(application) == ["Forged", "Mine"]


def test_the_envelope_says_to_whom_and_headers_only_without_one(application: Application) -> None:
    address = make_reply_address(application.id)

    assert received(answer(application, To="hidden@x.example"), address) == "shown"
    with pytest.raises(NotForUs):
        received(answer(application), "other@reply.example")


def test_files_are_taken_as_those_of_applications(application: Application) -> None:
    email = answer(application)
    email.add_attachment(PDF, maintype="image", subtype="png", filename="../../cv.pdf")
    email.add_attachment(b"MZ\0\0", maintype="application", subtype="pdf", filename="setup.exe")

    received(email)

    file = Attachment.objects.get()
    assert (file.name, file.content_type) == ("cv.pdf", "application/pdf")
    assert (file.message_id, file.application_id) == (only().id, application.id)
    assert only().left_out.startswith("setup.exe: This kind of file is not accepted.")


def test_too_many_a_day_are_refused_and_leave_no_file(
    application: Application, settings: Any
) -> None:
    settings.MESSAGES_PER_DAY = 1
    received(answer(application))
    email = answer(application, "More", Message_ID="<2@x>")
    email.add_attachment(PDF, maintype="application", subtype="pdf", filename="cv.pdf")

    with pytest.raises(TooManyMessages):
        received(email)
    assert (texts(application), Attachment.objects.count()) == (["On Monday."], 0)


def test_an_erased_person_has_no_address_any_more(application: Application) -> None:
    email = answer(application)
    erase_person(applicant_id=application.applicant_id)

    with pytest.raises(NotForUs):
        received(email)


def test_large_or_broken_emails_are_refused_by_name(
    application: Application, settings: Any
) -> None:
    settings.INCOMING_EMAIL_BYTES = 100

    with pytest.raises(Unreadable, match="too large"):
        received(answer(application))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0\xff\n\n",
        b"From: \n",
        b"To: " + b"a@b.example, " * 5_000,
        b"Content-Type: ;;;=\n\nx",
    ],
)
def test_no_bytes_make_it_fail_in_another_way(raw: bytes) -> None:
    with pytest.raises((NotForUs, Unreadable)):
        take(raw, Envelope())


def test_html_without_text_is_read_as_text(application: Application) -> None:
    email = answer(application)
    html = (
        "<style>p{}</style><p>On <b>Monday</b> &amp; Tuesday</p><script>alert(1)</script><p>Ana</p>"
    )
    email.set_content(html, subtype="html")

    received(email)

    assert only().text == "On Monday & Tuesday\nAna"


def test_an_email_of_quotes_alone_is_shown_whole(application: Application) -> None:
    received(answer(application, "> When could you start?\n"))

    assert only().text == "> When could you start?"


def test_a_name_with_a_line_break_becomes_no_header(application: Application) -> None:
    raw = answer(application, "Hi").as_bytes()
    forged = raw.replace(b"Subject: Re:", b"Subject: =?utf-8?q?a=0AAuto-Submitted=3A_no?=\nX:")

    assert take(forged, Envelope()) == "shown"


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Yes.\n\nOn Mon, 5 Jan 2026 at 10:00, Acme\n<no-reply@x.org> wrote:\n> Hi", "Yes."),
        ("Oui.\n\nLe lun. 5 janv. 2026 à 10:00, Acme <a@b.fr> a écrit :\n> Bonjour", "Oui."),
        (
            "Fine.\n\nFrom: Acme <a@b.de>\nSent: Monday\nTo: Ana <a@x.org>\nSubject: A\n\nHi",
            "Fine.",
        ),
        ("On Mon, 5 Jan 2026 at 10:00, Acme <a@x.org> wrote:\n> Hi\n\nBelow.", "Below."),
        ("I left on Monday and wrote: a lot.", "I left on Monday and wrote: a lot."),
        ("Above\n\n> When?\n\nBelow", "Above\n\n\nBelow"),
        ("x" * 3_000, "x" * 3_000),
    ],
)
def test_quotes_are_left_out(text: str, own: str) -> None:
    assert strip_quotes(text) == own


@pytest.mark.parametrize(
    "piece", ["\n", " \n", ">\n", "> \n\n", "On x wrote\n", "a\n\n", "From: a\n"]
)
def test_no_text_keeps_the_parser_busy(piece: str) -> None:
    began = time.process_time()

    strip_quotes(piece * (20_000 // len(piece)))

    assert time.process_time() - began < 5  # some of these took minutes


def test_a_provider_hands_emails_over(application: Application, settings: Any) -> None:
    from anymail.inbound import AnymailInboundMessage
    from anymail.signals import AnymailInboundEvent, inbound
    from anymail.webhooks.base import AnymailBaseWebhookView

    from pipeline.correspondence import incoming

    incoming.start()
    email = AnymailInboundMessage.parse_raw_mime_bytes(
        answer(application, To="hidden@x.example").as_bytes()
    )
    email.envelope_recipient = make_reply_address(application.id)
    email.envelope_sender = application.applicant.email
    for each in (email, AnymailInboundMessage.parse_raw_mime_bytes(b"To: x@y.example\n\nHi")):
        event = AnymailInboundEvent(event_type="inbound", message=each)
        inbound.send(sender=AnymailBaseWebhookView, event=event, esp_name="test")

    assert texts(application) == ["On Monday."]
