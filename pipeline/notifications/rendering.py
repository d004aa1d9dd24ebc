"""Rendering of messages: HTML beside the text, and the file for calendars."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.mime.text import MIMEText
from email.utils import parseaddr
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage
from django.template import Context, Engine

from applicants import mail
from pipeline.mail.links import LinkedOffer
from pipeline.notifications.messages import CalendarNote, Message
from pipeline.wording import language

# How long before its deadline an offer begins in the calendar.
SHOWN = timedelta(minutes=30)
# Read once, with an engine of its own: that of the pages takes a child half a second to set up.
_FOLDERS: Any = settings.TEMPLATES[0]["DIRS"]
_TEMPLATE = Engine(dirs=_FOLDERS).get_template("mail/email.html")
_BUTTON = (
    "display: inline-block; padding: 12px 20px; border-radius: 8px; background: #4046d6;"
    " color: #ffffff; font-weight: bold; text-decoration: none"
)
_SMALL = "margin: 32px 0 0; padding: 12px 0 0; border-top: 1px solid; font-size: 12px"


def render_html(message: Message) -> str:
    """Render a message as a small HTML page, which keeps the reader's colours."""
    page = {"is_from_the_right": language.reads_from_the_right(message.language)}
    context = {"message": message, "button": _BUTTON, "small": _SMALL} | page
    return _TEMPLATE.render(Context(context))


def render_email(message: Message, *, to: str, email_id: UUID) -> EmailMessage:
    """Build the email."""
    html = render_html(message)
    return mail.compose(
        to=to, subject=message.subject, text=message.text, html=html, email_id=email_id
    )


def render_unsubscribe_header(email: EmailMessage, link: str) -> None:
    """Let mail programs offer a button that ends such emails with one click (RFC 8058)."""
    email.extra_headers["List-Unsubscribe"] = f"<{link}>"
    email.extra_headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"


def attach_rendered_deadline(
    email: EmailMessage,
    message: Message,
    *,
    offer: LinkedOffer | None,
    deadline: datetime | None,
    now: datetime,
) -> None:
    """Attach the deadline for calendars, or its cancellation, if the message has one."""
    if message.calendar is None or offer is None or deadline is None:
        return
    text = rendered_calendar_entry(
        message.subject,
        message.calendar,
        offer=offer,
        deadline=deadline,
        now=now,
        attendee=email.to[0],
    )
    part = MIMEText(text, "calendar", "utf-8")
    part.set_param("method", _calendar_method(message.calendar, email.to[0]))
    part.add_header("Content-Disposition", "attachment", filename="deadline.ics")
    email.attach(part)


def rendered_calendar_entry(
    subject: str,
    note: CalendarNote,
    *,
    offer: LinkedOffer,
    deadline: datetime,
    now: datetime,
    attendee: str = "",
) -> str:
    """Return the file for calendars: the half hour before the deadline, or its cancellation.

    Calendars recognise the entry by its UID, and take the one with the highest SEQUENCE. Some
    remove it only if it came as a request to an attendee: the person whom we email (RFC 5546,
    3.2). It has no link: one that works without signing in would confirm the seat for everyone
    who sees the calendar.
    """
    # Imported here, because it takes megabytes in processes that send no emails.
    from icalendar import Alarm, Calendar, Event, vCalAddress

    site = settings.SITE_URL.partition("//")[2].partition("/")[0].partition(":")[0]
    entry = Event()
    entry.add("uid", f"{offer.application_id}-{offer.seq}@{site}")
    entry.add("sequence", note.sequence)
    entry.add("dtstamp", now.astimezone(UTC))
    entry.add("dtstart", (deadline - SHOWN).astimezone(UTC))
    entry.add("dtend", deadline.astimezone(UTC))
    entry.add("summary", subject)
    entry.add("organizer", vCalAddress(f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"))
    if attendee:
        answered = {"PARTSTAT": "ACCEPTED", "RSVP": "FALSE"}  # calendars ask for no answer
        entry.add("attendee", vCalAddress(f"mailto:{attendee}"), parameters=answered)
    if not note.is_over:
        alarm = Alarm()
        alarm.add("action", "DISPLAY")
        alarm.add("description", subject)
        alarm.add("trigger", -SHOWN)
        entry.add_component(alarm)
    entry.add("status", "CANCELLED" if note.is_over else "CONFIRMED")
    entry.add("transp", "TRANSPARENT")
    calendar = Calendar()
    calendar.add("prodid", "-//Next in Line//EN")
    calendar.add("version", "2.0")
    calendar.add("method", _calendar_method(note, attendee))
    calendar.add_component(entry)
    return calendar.to_ical().decode()


def _calendar_method(note: CalendarNote, attendee: str) -> str:
    if note.is_over:
        return "CANCEL"
    return "REQUEST" if attendee else "PUBLISH"
