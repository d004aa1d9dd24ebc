"""Handing mails to the mail server, off the path of whoever causes them.

A mail waits in this process's memory and is tried once. That is enough for codes, which can be
asked for again, and which must not lie in a table to be read. The durable engine of background
tasks replaces this module: then a mail outlives its process and is tried until it is accepted.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
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
    """Send a mail after the commit of the transaction that runs, at once if none does.

    The caller waits for nothing. A mail that cannot be handed over (within EMAIL_TIMEOUT seconds
    for each step of it) is logged, without the address.
    """
    message = _message(to, subject, text)
    transaction.on_commit(partial(_hand_over, message), robust=True)


def send(*, to: str, subject: str, text: str) -> None:
    """Send a mail before coming back, for who already is off everybody's path.

    Like `post` it is tried once, and a failure is logged, without the address.
    """
    if settings.EMAIL_BACKEND != NOWHERE:
        _send(_message(to, subject, text))


def masked(address: str) -> str:
    """An address as it may be shown to who only may be its owner: a…n@example.org."""
    local, _, domain = address.rpartition("@")
    shown = f"{local[:1]}…{local[-1:]}" if len(local) > 2 else f"{local[:1]}…"
    return f"{shown}@{domain}"


def _message(to: str, subject: str, text: str) -> EmailMessage:
    """The subject is on one line: no name can end a header by it, or keep its mail from going."""
    return EmailMessage(" ".join(subject.split()), text, to=[to])


def _hand_over(message: EmailMessage) -> None:
    if settings.EMAIL_BACKEND == NOWHERE:
        logger.warning("A mail was thrown away: EMAIL_URL is not set")
    elif not _room.acquire(blocking=False):
        logger.error("A mail was thrown away: %d are waiting already", MOST_WAITING)
    else:
        sending = _sender.submit(copy_context().run, _send, message)
        sending.add_done_callback(_make_room)


def _send(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception as error:  # its words may hold the address
        logger.error("A mail could not be handed over: %s", type(error).__name__)


def _make_room(_sent: Future[None]) -> None:
    _room.release()
