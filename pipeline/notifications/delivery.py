"""Delivery of emails about committed changes, off the request's path.

Pending emails are kept in this process's memory: they are lost if the process dies, and each is
tried once. The durable engine of background tasks replaces this module: then the emails are rows
that are written together with the events.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import BoundedSemaphore
from typing import Any

from django.conf import settings
from django.db import connection

from applicants import mail
from applicants.models import ERASED, Applicant
from pipeline.line.signals import committed
from pipeline.mail import dev_mailbox, links
from pipeline.models import Application
from pipeline.notifications.messages import EventForMail, Facts, may_have_mail, message_for

logger = logging.getLogger(__name__)

MOST_WAITING = 1_000  # committed changes whose emails wait; each is one event or a cascade

_pending: set[Future[None]] = set()
_sender = ThreadPoolExecutor(max_workers=2, thread_name_prefix="notify")
_room = BoundedSemaphore(MOST_WAITING)


def start_notifying() -> None:
    """Send emails about every change that this process commits from now on."""
    committed.connect(after_commit, dispatch_uid="notifications")


def after_commit(sender: object, *, entries: Iterable[EventForMail], **_: Any) -> None:
    """Queue the emails about a committed change; quick, and never fails the change."""
    events = [entry for entry in entries if may_have_mail(entry)]
    if not events or not settings.NOTIFY or settings.EMAIL_BACKEND == mail.NOWHERE:
        return
    if not _room.acquire(blocking=False):
        logger.error("Emails about %d events were dropped: too many are waiting", len(events))
        return
    delivery = _sender.submit(_deliver, events)
    _pending.add(delivery)
    delivery.add_done_callback(_make_room)


def wait_until_sent(seconds: float) -> int:
    """Wait at most this long until all queued emails are sent; return the changes still left.

    For callers that cause very many emails, or whose process is about to end: otherwise the emails
    fill the memory, or are lost.
    """
    return len(wait(list(_pending), timeout=seconds).not_done)


def _deliver(events: list[EventForMail]) -> None:
    try:
        rows = Application.objects.select_related("applicant", "job__posting", "job__company")
        known = rows.in_bulk({event.application_id for event in events if event.application_id})
        for event in events:
            application = known.get(event.application_id) if event.application_id else None
            if application is None or application.applicant.is_erased:
                continue
            job = application.job
            facts = Facts(
                job_title=job.posting.title,
                company=job.company.name,
                confirm_link=links.confirm_link(links.Offer(application.id, event.seq)),
                application_link=links.application_link(application.id),
                openings_link=links.openings_link(),
                data_link=links.data_link(),
                asks_first_seats=job.acknowledge_first_seat,
            )
            if message := message_for(event, facts):
                address = application.applicant.email
                mail.send(to=address, subject=message.subject, text=message.text)
        if settings.DEV_MAIL:
            _forget_erased([row.applicant for row in known.values()])
    except Exception as error:  # its text may hold an address
        logger.error("Emails about events could not be composed: %s", type(error).__name__)
    finally:
        connection.close()


def _forget_erased(recipients: list[Applicant]) -> None:
    """Delete stored emails to people who were erased while these emails were composed.

    The erasure could not delete them because they did not exist yet.
    """
    ids = [person.id for person in recipients if not person.is_erased]
    left = Applicant.objects.filter(id__in=ids).exclude(email__startswith=ERASED)
    erased = set(ids) - set(left.values_list("id", flat=True))
    for person in recipients:
        if person.id in erased:
            dev_mailbox.forget(person.email)


def _make_room(done: Future[None]) -> None:
    _pending.discard(done)
    _room.release()
