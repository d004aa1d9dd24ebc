"""Emails that bring a company's messages to applicants, and the marks of those sent back."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applicants import mail
from applicants.models import Applicant
from pipeline.consents import pool
from pipeline.correspondence.reply_addresses import make_reply_address
from pipeline.domain.amounts import Amount
from pipeline.mail import dev_mailbox
from pipeline.mail.links import leave_pool_url, messages_url, opening_url
from pipeline.models import ApplicationMessage, Attachment, EmailState
from pipeline.notifications.applicants import MEANINGS, OVER, UNREACHABLE
from pipeline.notifications.messages import Message, Paragraph
from pipeline.notifications.rendering import render_email, render_unsubscribe_header
from pipeline.texts.fields import greeted_name
from pipeline.texts.letterheads import from_header
from pipeline.web.languages import in_language_of
from pipeline.wording.english import isolated, subject_line

# The source of applications that come by a message to the talent pool.
POOL_SOURCE = "talent-pool"


def send(message_id: UUID) -> str:
    """Send the email that brings a company's message, unless it was sent before; return its state.

    NONE if the message or its person is gone. Raises tasks.errors.Retry when the mail server cannot
    take it now.
    """
    rows = ApplicationMessage.objects.select_related(
        *("author", "application__applicant", "job__posting", "job__company__letterhead"),
        "about_job__posting",
    )
    row = rows.filter(id=message_id).first()
    if row is None or row.application.applicant.is_erased:
        return "NONE"
    if row.email_state != EmailState.QUEUED:
        return row.email_state
    person = row.application.applicant
    if row.about_job_id and not _is_in_pool(row):  # they have left since
        return _note(row.id, EmailState.FAILED, email_problem=OVER)
    try:
        provider_id = mail.deliver(build(row, to=person.email))
    except mail.Refused as refused:
        return _note(row.id, EmailState.FAILED, email_problem=refused.code)
    finally:  # the person may have been erased meanwhile, when there was no copy to delete yet
        if settings.DEV_MAIL and Applicant.objects.get(id=person.id).is_erased:
            dev_mailbox.forget(person.email)
    return _note(row.id, EmailState.SENT, email_message_id=provider_id[:255])


def _is_in_pool(row: ApplicationMessage) -> bool:
    with transaction.atomic():
        return pool.hold(row.application, row.job.company)


def give_up(message_id: UUID) -> None:
    """Record that the email of a message failed for the last time."""
    _note(message_id, EmailState.FAILED, email_problem=UNREACHABLE)


def _note(message_id: UUID, state: EmailState, **columns: str) -> str:
    queued = ApplicationMessage.objects.filter(id=message_id, email_state=EmailState.QUEUED)
    queued.update(email_state=state, **columns)
    return state


def build(row: ApplicationMessage, *, to: str) -> EmailMessage:
    """Build the email that brings a message. Answers go to the thread, if the site takes them."""
    with in_language_of(*row.application.languages, row.job.posting.language):
        email = render_email(compose(row), to=to, email_id=row.id)
    email.from_email = from_header(row.job.company)
    if answers_to := make_reply_address(row.application_id):
        email.reply_to = [answers_to]
    thread = mail.build_message_id(row.application_id)  # of no email: what holds it together
    email.extra_headers |= {"References": thread, "In-Reply-To": thread}
    if row.about_job_id:
        render_unsubscribe_header(email, leave_pool_url(row.application_id))
    return email


def compose(row: ApplicationMessage) -> Message:
    """Compose the email that brings a message. Its files are on the page."""
    about = row.about_job or row.job
    title, company = isolated(about.posting.title), isolated(row.job.company.name)
    said = {"writer": _name_writer(row), "job": title, "company": company}
    page = messages_url(row.application_id)
    how = (
        _("Answer this email, or write on the page:")
        if settings.REPLY_ADDRESS
        else _("Answer on the page. Nobody reads answers to this email:")
    )
    files = Attachment.objects.filter(message_id=row.id).count()
    number = ngettext(
        "%(number)s file came with this message. It is on the page.",
        "%(number)s files came with this message. They are on the page.",
        files,
    )
    return Message(
        subject_line(_("A message from %(company)s about “%(job)s”") % said),
        (
            Paragraph(_("%(writer)s wrote to you about “%(job)s”:") % said),
            Paragraph(row.text, is_written=True),
            *([_job_paragraph(about.id)] if row.about_job_id else ()),
            *([Paragraph(number % {"number": Amount(files)})] if files else ()),
            Paragraph(how, page, _("Open the messages")),
            *([_stop_paragraph(row, company)] if row.about_job_id else ()),
        ),
        name=greeted_name(row.application.name),
        about=_("“%(job)s” at %(company)s") % said,
    )


def _job_paragraph(job_id: UUID) -> Paragraph:
    link = opening_url(job_id, source=POOL_SOURCE)
    return Paragraph(_("Read about the job, and apply if you like:"), link, _("See the job"))


def _stop_paragraph(row: ApplicationMessage, company: str) -> Paragraph:
    why = _(
        "You get this email because you agreed that %(company)s may write to you about other jobs."
        " You can stop that at once:"
    )
    stop = _("Stop emails about other jobs")
    return Paragraph(why % {"company": company}, leave_pool_url(row.application_id), stop)


def _name_writer(row: ApplicationMessage) -> str:
    """Return who wrote a company's message: the member's name, if they gave one, and the company.

    Never the member's address.
    """
    company = isolated(row.job.company.name)
    name = row.author.name if row.author else ""
    if not name:
        return company
    return _("%(name)s, %(company)s") % {"name": isolated(name), "company": company}


# Bounces and complaints that django-anymail's webhooks report, or that come as emails.


def start_tracking() -> None:
    """Follow a provider's reports, if django-anymail is installed."""
    with suppress(ImportError):
        from anymail.signals import tracking

        tracking.connect(note_tracked, dispatch_uid="messages")


def note_tracked(sender: object, event: Any, **_: Any) -> None:
    """Record what became of a message's email; reports about others change nothing."""
    meaning = MEANINGS.get(event.event_type)
    if meaning and event.message_id:
        state, problem = meaning
        taken = ApplicationMessage.objects.filter(email_message_id=event.message_id)
        taken.filter(email_state=EmailState.SENT).update(email_state=state, email_problem=problem)


def note_bounce(email_id: str, of_threads: Collection[UUID]) -> bool:
    """Record that the email with this Message-ID came back; return whether it brought a message.

    `of_threads`: the applications among whose messages it can be.
    """
    with suppress(ValueError):
        message_id = UUID(hex=email_id.strip("<> ").split("@")[0])
        threads = [each for each in of_threads if each]
        brought = ApplicationMessage.objects.filter(id=message_id, application_id__in=threads)
        state, problem = MEANINGS["bounced"]
        came_back = brought.filter(email_state__in=[EmailState.SENT, EmailState.QUEUED])
        return bool(came_back.update(email_state=state, email_problem=problem))
    return False
