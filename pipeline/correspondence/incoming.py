"""Emails that come in: answers of applicants, and what only looks like one.

Nothing here ever sends an email. An automatic answer is dropped, a message that came back marks the
message that it brought, and what is not proved to be the applicant's is shown as such.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email import message_from_bytes
from email.errors import MessageError
from email.message import EmailMessage, Message
from email.policy import default as POLICY
from email.utils import parseaddr
from enum import StrEnum
from hashlib import sha256
from typing import Any, cast
from uuid import UUID, uuid5

from django.conf import settings

from applicants.addresses import normal_address
from applicants.models import ERASED_NAME
from pipeline.attachments import uploads
from pipeline.attachments.uploads import holder_of
from pipeline.correspondence import emails, threads
from pipeline.correspondence.bodies import read_answer
from pipeline.correspondence.reply_addresses import read_reply_address
from pipeline.correspondence.senders import is_authenticated, read_sender
from pipeline.correspondence.threads import Draft, Side, Way
from pipeline.domain.errors import (
    ApplicationNotFound,
    AttachmentsAway,
    LineError,
)
from pipeline.models import LONGEST_LEFT_OUT, LONGEST_SENDER, Application, ApplicationMessage

security = logging.getLogger("security")

_NAMES = UUID("0d9e4b5a-7c55-4f0e-9a53-0a2f6f2d1c77")
# What programs say of emails that nobody wrote (RFC 3834, and customs from before it).
_AUTOMATIC_HEADERS = ("X-Autoreply", "X-Autorespond", "X-Autoresponder", "List-Id")
_PRECEDENCES = {"bulk", "junk", "list", "auto_reply"}
_ROBOTS = re.compile(r"(?:mailer-daemon|postmaster|no-?reply)@.*")
# Recipients of one email, and parts of it that are looked at.
_MOST_RECIPIENTS, _MOST_PARTS = 50, 100
Unproved = ApplicationMessage.Unproved
# The parser of Python raises these for some headers and bodies that are no email.
_NO_EMAIL = (
    *(ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError),
    MessageError,
)


class Fate(StrEnum):
    """Fate of an email that came in."""

    SHOWN = "shown"  # as the applicant's message
    UNPROVED = "unproved"  # shown, but not as the applicant's
    AUTOMATIC = "automatic"  # dropped
    CAME_BACK = "came back"  # it was ours, and did not arrive
    DROPPED = "dropped"  # one more that is not proved, of too many


class NotForUs(Exception):
    """No recipient is an address of a thread, or its person is gone."""


class Unreadable(Exception):
    """The email is too large, or cannot be read as one."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """Envelope of an email, as the mail server tells it.

    `sender` is None if it does not say; empty is the null sender, of what must not be answered.
    """

    recipients: Sequence[str] = ()
    sender: str | None = None


def take(raw: bytes, envelope: Envelope) -> Fate:
    """Take an email in. Taking it again changes nothing.

    Raises NotForUs, Unreadable; TooManyMessages and other LineErrors that its sender should know;
    AttachmentsAway if it can be repeated later.
    """
    if len(raw) > settings.INCOMING_EMAIL_BYTES:
        raise Unreadable("the email is too large")
    try:
        email = message_from_bytes(raw, policy=POLICY)
        fate = _take_parsed(email, raw, envelope)
    except (NotForUs, LineError):
        raise
    except _NO_EMAIL as error:
        raise Unreadable(f"the email cannot be read: {type(error).__name__}") from error
    security.info("email.received", extra={"fate": fate.value})
    return fate


def _take_parsed(email: EmailMessage, raw: bytes, envelope: Envelope) -> Fate:
    if email.get_content_type() == "multipart/report" and _note_report(email, envelope):
        return Fate.CAME_BACK
    application = _find_application(email, envelope)
    if _is_automatic(email, envelope):
        return Fate.AUTOMATIC
    sender = read_sender(email)
    unproved = _why_unproved(email, sender, application)
    draft = _draft(email, raw, application, unproved=unproved, sender=sender)
    try:
        threads.write(application_id=application.id, side=Side.APPLICANT, draft=draft)
    except ApplicationNotFound:  # erased meanwhile
        raise NotForUs from None
    except LineError:
        _discard(draft)
        if unproved:  # its sender may be anyone, also someone who has not sent it
            return Fate.DROPPED
        raise
    return Fate.UNPROVED if unproved else Fate.SHOWN


def _find_application(email: EmailMessage, envelope: Envelope) -> Application:
    """Return the application to whose thread an email was sent. Raises NotForUs."""
    for address in _read_recipients(email, envelope):
        if application_id := read_reply_address(address):
            rows = Application.objects.select_related("applicant", "job")
            found = rows.exclude(name=ERASED_NAME).filter(id=application_id).first()
            if found and not found.job.is_test:
                return found
    raise NotForUs


def _read_recipients(email: EmailMessage, envelope: Envelope) -> Iterable[str]:
    """Yield the recipients: those of the envelope, or else those that headers name."""
    if envelope.recipients:
        yield from envelope.recipients[:_MOST_RECIPIENTS]
        return
    for name in ("Delivered-To", "X-Original-To", "Envelope-To"):
        yield from map(str, email.get_all(name, [])[:_MOST_RECIPIENTS])
    for name in ("To", "Cc"):
        for header in email.get_all(name, [])[:_MOST_RECIPIENTS]:
            for address in getattr(header, "addresses", ())[:_MOST_RECIPIENTS]:
                yield address.addr_spec


def _is_automatic(email: EmailMessage, envelope: Envelope) -> bool:
    """Tell whether a program sent an email by itself: an absence note, a bounce, a list."""
    submitted = str(email.get("Auto-Submitted", "no")).partition(";")[0].strip().lower()
    precedence = str(email.get("Precedence", "")).strip().lower()
    path = str(email.get("Return-Path", "")).strip()
    # Postfix writes the null sender as the second one.
    nobody = {"mailer-daemon"} if envelope.sender is None else {"", "mailer-daemon"}
    return (
        submitted != "no"
        or precedence in _PRECEDENCES
        or (envelope.sender or "").strip("<> ").lower().partition("@")[0] in nobody
        or path == "<>"
        or email.get_content_type() == "multipart/report"
        or any(name in email for name in _AUTOMATIC_HEADERS)
        or bool(_ROBOTS.fullmatch(read_sender(email)))
    )


def _note_report(email: EmailMessage, envelope: Envelope) -> bool:
    """Mark the message whose email a report returns; tell whether there is one.

    Anyone can send a report, and many see a Message-ID. So it is believed only of a thread whose
    signed address it names: as its recipient, or in the headers that it returns.
    """
    proved = {read_reply_address(address) for address in _read_recipients(email, envelope)}
    for part in _parts(email):
        kind = part.get_content_type()
        if kind == "message/rfc822":
            returned = part.get_payload()
            about = returned[0] if isinstance(returned, list) and returned else None
        elif kind == "text/rfc822-headers":
            about = message_from_bytes(part.get_payload(decode=True) or b"")  # type: ignore[arg-type]
        else:
            continue
        if isinstance(about, Message) and _is_failure(email):
            answers_to = parseaddr(str(about.get("Reply-To", "")))[1]
            named = proved | {read_reply_address(answers_to)}
            of_threads = [each for each in named if each]
            return emails.note_bounce(str(about.get("Message-ID", "")), of_threads)
    return False


def _is_failure(report: EmailMessage) -> bool:
    """Tell whether a report says that an email did not arrive, not that it is late or was read."""
    statuses = [
        part for part in _parts(report) if part.get_content_type() == "message/delivery-status"
    ]
    return any("action: failed" in part.as_string().lower() for part in statuses)


def _parts(email: Message) -> list[Message]:
    found: list[Message] = []
    for part in email.walk():
        found.append(part)
        if len(found) == _MOST_PARTS:
            break
    return found


def _why_unproved(email: EmailMessage, sender: str, application: Application) -> str:
    """Return why an email is not shown as the applicant's own; empty if it is."""
    if normal_address(sender) != application.applicant.email:
        return Unproved.OTHER_SENDER
    if not is_authenticated(email, sender):
        return Unproved.NOT_AUTHENTICATED
    return ""


def _draft(
    email: EmailMessage, raw: bytes, application: Application, *, unproved: str, sender: str
) -> Draft:
    """Make the message of an email, and store its files. Those of strangers are left out."""
    given = _storable(str(email.get("Message-ID", ""))).strip() or sha256(raw).hexdigest()
    sender = _storable(sender)
    message_id = uuid5(_NAMES, f"{application.id}:{sender}:{given}")
    holder = holder_of("person", application.applicant_id)
    upload_ids: list[UUID] = []
    left_out: list[str] = []
    if not ApplicationMessage.objects.filter(id=message_id).exists():
        for part in _attachments(email):
            name = uploads.clean_file_name(_storable(part.get_filename() or ""))
            if unproved or len(upload_ids) >= settings.ATTACHMENTS_PER_APPLICATION:
                left_out.append(name)
                continue
            try:
                upload_ids.append(_upload(part, name, application, holder))
            except AttachmentsAway:
                raise
            except LineError as error:
                left_out.append(f"{name}: {error}")
    return Draft(
        id=message_id,
        text=read_answer(email),
        way=Way.EMAIL,
        upload_ids=upload_ids,
        holder=holder,
        unproved=unproved,
        sender=sender[:LONGEST_SENDER] if unproved else "",
        left_out="\n".join(left_out)[:LONGEST_LEFT_OUT],
    )


def _storable(text: str) -> str:
    """Return a text of a header without what no database takes: NUL, and bytes of no letter."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _attachments(email: EmailMessage) -> list[EmailMessage]:
    """Return the files of an email, without the pictures inside of its text."""
    if not email.is_multipart():
        return []
    return [
        cast(EmailMessage, part)
        for part in _parts(email)
        if not part.is_multipart()
        and (part.get_content_disposition() == "attachment" or part.get_filename())
        and not part.get("Content-ID")
    ]


def _upload(part: EmailMessage, name: str, application: Application, holder: bytes) -> UUID:
    content = part.get_payload(decode=True)
    data = content if isinstance(content, bytes) else b""
    row = uploads.add(
        company_id=application.job.company_id,
        job_id=application.job_id,
        holder=holder,
        name=name,
        size_bytes=len(data),
        content=[data],
    )
    return row.id


def _discard(draft: Draft) -> None:
    for upload_id in draft.upload_ids:
        uploads.discard(upload_id, holder=draft.holder)


# Emails that a provider receives for us and hands over by its webhook (django-anymail).


def start() -> None:
    """Take in what a provider receives, if django-anymail is installed."""
    with suppress(ImportError):
        from anymail.signals import inbound

        inbound.connect(take_from_provider, dispatch_uid="messages")


def take_from_provider(sender: object, event: Any, **_: Any) -> None:
    """Take in an email. What cannot be taken is dropped; what can later, the provider repeats."""
    email = event.message
    recipients = [email.envelope_recipient] if email.envelope_recipient else []
    try:
        take(email.as_bytes(), Envelope(recipients, email.envelope_sender))
    except AttachmentsAway:
        raise
    except (NotForUs, Unreadable, LineError) as error:
        security.info("email.dropped", extra={"why": type(error).__name__})
