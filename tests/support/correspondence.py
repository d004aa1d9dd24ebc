"""Messages on an application, and emails that come in."""

from __future__ import annotations

from email.message import EmailMessage
from typing import Any

from pipeline.correspondence import threads
from pipeline.correspondence.incoming import Envelope, Fate, take
from pipeline.correspondence.reply_addresses import make_reply_address
from pipeline.correspondence.threads import Draft, Side
from pipeline.models import Application, ApplicationMessage

REPLY_ADDRESS = "jobs+{}@reply.example"


def from_company(application: Application, text: str = "When could you start?", **more: Any) -> Any:
    """Write to the applicant, as the company."""
    draft = Draft(text=text, **more)
    return threads.write(application_id=application.id, side=Side.COMPANY, draft=draft)


def from_applicant(application: Application, text: str = "On Monday.", **more: Any) -> Any:
    """Write to the company, as the applicant."""
    draft = Draft(text=text, **more)
    return threads.write(application_id=application.id, side=Side.APPLICANT, draft=draft)


def answer(application: Application, text: str = "On Monday.", **headers: str) -> EmailMessage:
    """Return the email with which the applicant answers; `headers` with _ for each hyphen."""
    email = EmailMessage()
    given = {
        "From": application.applicant.email,
        "To": make_reply_address(application.id),
        "Subject": "Re: A message",
        "Message-ID": f"<answer-{application.id}@mailbox.example>",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    for name, value in given.items():
        if value:
            email[name] = value
    email.set_content(text)
    return email


def received(email: EmailMessage, *recipients: str, sender: str | None = None) -> Fate:
    """Take an email in."""
    return take(email.as_bytes(), Envelope(recipients, sender))


def texts(application: Application) -> list[str]:
    """Return the texts of a thread, oldest first."""
    rows = ApplicationMessage.objects.filter(application=application)
    return list(rows.order_by("written_at", "id").values_list("text", flat=True))
