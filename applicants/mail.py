"""Sending of emails in background threads.

An email waits in this process's memory and is tried once. That is enough for codes, which people
can request again and which must not be stored in a table. It is not enough for other emails: one
that is still waiting when the process dies is lost.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from threading import BoundedSemaphore

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction

logger = logging.getLogger(__name__)

MOST_WAITING = 1_000
NOWHERE = "django.core.mail.backends.dummy.EmailBackend"

_sender = ThreadPoolExecutor(max_workers=4, thread_name_prefix="mail")
_room = BoundedSemaphore(MOST_WAITING)


def post(*, to: str, subject: str, text: str) -> None:
    """Send an email after the current transaction commits, or immediately if there is none.

    It never blocks. A failure, or a step longer than EMAIL_TIMEOUT seconds, is logged without the
    address.
    """
    message = _message(to, subject, text)
    transaction.on_commit(partial(_hand_over, message), robust=True)


def send(*, to: str, subject: str, text: str) -> None:
    """Send an email before returning, for callers that already run in the background.

    As with `post`, it is tried once, and a failure is logged without the address.
    """
    if settings.EMAIL_BACKEND != NOWHERE:
        _send(_message(to, subject, text))


def masked(address: str) -> str:
    """Mask an address for a reader who may not be its owner: a…n@example.org."""
    local, _, domain = address.rpartition("@")
    shown = f"{local[:1]}…{local[-1:]}" if len(local) > 2 else f"{local[:1]}…"
    return f"{shown}@{domain}"


def _message(to: str, subject: str, text: str) -> EmailMessage:
    """Build an email. The subject is joined to one line, so that no name can break the headers."""
    return EmailMessage(" ".join(subject.split()), text, to=[to])


def _hand_over(message: EmailMessage) -> None:
    if settings.EMAIL_BACKEND == NOWHERE:
        logger.warning("An email was dropped: EMAIL_URL is not set")
    elif not _room.acquire(blocking=False):
        logger.error("An email was dropped: %d are already waiting", MOST_WAITING)
    else:
        sending = _sender.submit(copy_context().run, _send, message)
        sending.add_done_callback(lambda _sent: _room.release())


def _send(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception as error:  # its text may contain the address
        logger.error("An email could not be sent: %s", type(error).__name__)
