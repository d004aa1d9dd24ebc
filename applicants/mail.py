"""Emails: handing them to the mail server, and private ones that a background task sends.

A private email (a sign-in code, an invitation) is stored encrypted, and deleted once it is sent.
Its task holds only its id.
"""

from __future__ import annotations

import base64
import json
import logging
import smtplib
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives, get_connection
from django.db import transaction
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from applicants.models import PrivateEmail
from tasks.enqueue import enqueue
from tasks.errors import Retry

logger = logging.getLogger(__name__)

NOWHERE = "django.core.mail.backends.dummy.EmailBackend"
PRIVATE = "email.private"  # the type of the task
# A person is waiting for the code in front of a page, so it goes before other work.
PRIORITY = 80
USUAL_LIFETIME = timedelta(days=1)
# No absence note answers an automatic email (RFC 3834; the second is Exchange's own).
AUTOMATIC = {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "OOF, AutoReply"}
PERMANENT = 500  # the lowest SMTP code of a permanent failure


class Refused(Exception):
    """The mail server refuses an email permanently. `code` is SMTP's code, or a word."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the mail server refused the email: {code}")
        self.code = code


def post_private_email(
    *,
    to: str,
    subject: str,
    text: str,
    lifetime: timedelta = USUAL_LIFETIME,
    **more: str,
) -> None:
    """Send a private email once the current transaction commits, or at once if there is none.

    It never waits for the mail server. The email is not sent once its lifetime is over. `more` may
    have `html`, `sender` (its From) and `reply_to`.
    """
    if settings.EMAIL_BACKEND == NOWHERE:
        logger.warning("An email was dropped: EMAIL_URL is not set")
        return
    whole = [to, subject, text, more] if more else [to, subject, text]
    sealed = _cipher().encrypt(json.dumps(whole).encode())
    with transaction.atomic(savepoint=False):
        row = PrivateEmail.objects.create(
            sealed=sealed, address=mailed_address_digest(to), expires_at=Now() + lifetime
        )
        enqueue(PRIVATE, {"email": str(row.id)}, priority=PRIORITY)


def send_private_email(email_id: UUID) -> str:
    """Send a stored email and delete it; return the outcome in a word.

    Raises tasks.errors.Retry if the mail server cannot be reached or asks to try again later.
    """
    row = PrivateEmail.objects.filter(id=email_id, expires_at__gt=Now()).first()
    if row is None:
        return "expired"  # or sent by an attempt that then died
    try:
        to, subject, text, *more = json.loads(_cipher().decrypt(bytes(row.sealed)))
    except InvalidToken:
        row.delete()
        return "unreadable"  # SECRET_KEY was changed, and the previous one is unknown
    about: dict[str, str] = more[0] if more else {}
    html = about.get("html", "")
    message = compose(to=to, subject=subject, text=text, html=html, email_id=row.id)
    message.from_email = about.get("sender") or message.from_email
    message.reply_to = [about["reply_to"]] if about.get("reply_to") else []
    try:
        deliver(message)
    except Refused as refused:
        logger.error("A private email was refused permanently: %s", refused.code)
        row.delete()
        return "refused"
    row.delete()
    return "sent"


def drop_private_email(email_id: UUID) -> None:
    """Delete a stored email that will not be sent."""
    PrivateEmail.objects.filter(id=email_id).delete()


def forget_private_emails(address: str) -> None:
    """Delete the stored emails to an address."""
    PrivateEmail.objects.filter(address=mailed_address_digest(address)).delete()


def mailed_address_digest(address: str) -> bytes:
    """Return the keyed hash that identifies the stored emails to an address."""
    return salted_hmac("applicants.mail.address", address.lower(), algorithm="sha256").digest()


def compose(
    *, to: str, subject: str, text: str, email_id: UUID, html: str = ""
) -> EmailMultiAlternatives:
    """Build an email. The subject is joined to one line, so that no name can break the headers.

    The Message-ID derives from the id, so that servers and mailboxes can recognise a second copy.
    """
    headers = AUTOMATIC | {"Message-ID": build_message_id(email_id)}
    message = EmailMultiAlternatives(" ".join(subject.split()), text, to=[to], headers=headers)
    if html:
        message.attach_alternative(html, "text/html")
    return message


def build_message_id(email_id: UUID) -> str:
    """Return the Message-ID of an email, which is the same for each attempt to send it."""
    domain = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].strip(" >") or "localhost"
    return f"<{email_id.hex}@{domain}>"


def deliver(message: EmailMessage) -> str:
    """Hand an email to the mail server; return the provider's id, or else the Message-ID.

    Raises Refused if sending can never succeed, and tasks.errors.Retry if it can later. Neither
    contains an address.
    """
    connection = get_connection()
    message.connection = connection
    try:
        connection.open()
        message.send()
    except Exception as error:
        code = _permanent_error_code(error)
        if code:
            raise Refused(code) from None
        raise Retry(f"the mail server could not take the email: {_error_name(error)}") from None
    finally:
        with suppress(Exception):  # the email is accepted: errors while closing do not matter
            connection.close()
    given = getattr(getattr(message, "anymail_status", None), "message_id", None)
    return message.extra_headers["Message-ID"] if given is None else str(given)


def _permanent_error_code(error: Exception) -> str:
    """Return the code of a permanent error, or "" for one that a later attempt may overcome.

    A refusal of the sender or of our credentials is not permanent: the operator can fix it.
    """
    match error:
        case smtplib.SMTPRecipientsRefused():
            codes = [code for code, _ in error.recipients.values()]
            return str(codes[0]) if codes and min(codes) >= PERMANENT else ""
        case smtplib.SMTPDataError() if error.smtp_code >= PERMANENT:
            return str(error.smtp_code)
        case smtplib.SMTPNotSupportedError():
            return "UNSUPPORTED"  # the server does not support the letters of the address
        case UnicodeError():
            return "BAD_ADDRESS"
    # An error class of a library that may not be installed.
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return "REFUSED" if "AnymailRecipientsRefused" in kinds else ""


def _error_name(error: Exception) -> str:
    code = getattr(error, "smtp_code", "")
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code = next((code for code, _ in error.recipients.values()), "")
    return f"{type(error).__name__} {code}".strip()


def _cipher() -> MultiFernet:
    """Return the cipher of stored emails. Fallback keys can still read theirs."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [
        salted_hmac("applicants.mail", "vault", secret=key, algorithm="sha256").digest()
        for key in keys
    ]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
