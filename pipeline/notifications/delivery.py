"""Sending the mails about what was just committed, off the path of whoever caused it.

What waits is kept in this process's memory: a process that dies loses it, and each mail is tried
once. The durable engine of background tasks replaces this module: then the mails are rows that are
written together with the events.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import BoundedSemaphore
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from applicants import mail
from applicants.models import ERASED, Applicant
from pipeline.line.signals import committed
from pipeline.mail import dev_mailbox, links
from pipeline.models import Application
from pipeline.notifications.messages import Facts, Told, is_told_by_mail, message_for

logger = logging.getLogger(__name__)

MOST_WAITING = 1_000
"""Changes of lines whose mails wait; each is one event or a cascade."""

_going_on: set[Future[None]] = set()
_sender = ThreadPoolExecutor(max_workers=2, thread_name_prefix="notify")
_room = BoundedSemaphore(MOST_WAITING)


def start_notifying() -> None:
    """From now on send mails about what this process commits."""
    committed.connect(after_commit, dispatch_uid="notifications")


def after_commit(sender: object, *, entries: Iterable[Told], **_: Any) -> None:
    """Hand over what was just committed; quick, and never a failure of the change."""
    told = [entry for entry in entries if is_told_by_mail(entry)]
    if not told or not settings.NOTIFY or settings.EMAIL_BACKEND == mail.NOWHERE:
        return
    if not _room.acquire(blocking=False):
        logger.error("The mails about %d events were given up: too many wait", len(told))
        return
    delivery = _sender.submit(_deliver, told)
    _going_on.add(delivery)
    delivery.add_done_callback(_make_room)


def wait_until_sent(seconds: float) -> int:
    """Wait until the mails about what this process has committed were handed over, at most so long;
    says about how many changes there are some left.

    For who causes very many, or ends with its work: else they wait in memory, or are lost.
    """
    return len(wait(list(_going_on), timeout=seconds).not_done)


def _deliver(told: list[Told]) -> None:
    try:
        _send_all(told)
    except Exception as error:  # its words may hold an address
        logger.error("Mails about events could not be made: %s", type(error).__name__)
    finally:
        connection.close()


def _send_all(told: list[Told]) -> None:
    known = _read({event.application_id for event in told if event.application_id})
    for event in told:
        application = known.get(event.application_id) if event.application_id else None
        if application is None or application.applicant.is_erased:
            continue
        message = message_for(event, _facts(event, application))
        if message:
            mail.send(to=application.applicant.email, subject=message.subject, text=message.text)
    if settings.DEV_MAIL:
        _forget_erased([row.applicant for row in known.values()])


def _forget_erased(told: list[Applicant]) -> None:
    """Keep no mail to who was erased while it was written: erasing did not see it yet."""
    ids = [person.id for person in told if not person.is_erased]
    left = Applicant.objects.filter(id__in=ids).exclude(email__startswith=ERASED)
    erased = set(ids) - set(left.values_list("id", flat=True))
    for person in told:
        if person.id in erased:
            dev_mailbox.forget(person.email)


def _read(ids: set[UUID]) -> dict[UUID, Application]:
    related = ("applicant", "job__posting", "job__company")
    return Application.objects.select_related(*related).in_bulk(ids)


def _facts(event: Told, application: Application) -> Facts:
    return Facts(
        job_title=application.job.posting.title,
        company=application.job.company.name,
        confirm_link=links.confirm_link(links.Offer(application.id, event.seq)),
        application_link=links.application_link(application.id),
        openings_link=links.openings_link(),
        data_link=links.data_link(),
        asks_first_seats=application.job.acknowledge_first_seat,
    )


def _make_room(done: Future[None]) -> None:
    _going_on.discard(done)
    _room.release()
