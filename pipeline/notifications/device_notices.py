"""Notifications on an applicant's devices, in addition to some emails: their words and their task.

They can be read on a locked screen, so they name the job and a time and nothing else.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from applicants.models import Device
from pipeline.domain.states import ACCEPTED_UNTIL, EventType, Outcome
from pipeline.models import Application
from pipeline.notifications.messages import (
    EventForMail,
    event_has_offer_message,
    kind_of_event_email,
)
from pipeline.wording.english import time_in_words
from tasks.enqueue import enqueue

NOTIFY_DEVICES = "devices.notify"  # the type of the task
PRIORITY = 40  # as an offer's email
LONGEST_JOB_TITLE = 80
REMINDER = "REMINDER"
# How long a push service keeps a notification that has no deadline.
KEPT_FOR = timedelta(days=1)

# The titles and texts, by offer, reminder, event or outcome, or the fact of a yes in advance.
WORDS = {
    EventType.PROMOTED: ("Your turn: {job}", "Confirm your seat by {until}."),
    REMINDER: ("Reminder: {job}", "Confirm your seat by {until}, or it goes to the next person."),
    EventType.DEADLINE_EXTENDED: (
        "More time: {job}",
        "You now have until {until} to confirm your seat.",
    ),
    EventType.DECAYED: (
        "You missed the deadline: {job}",
        "The seat went to the next person. You are back in line.",
    ),
    Outcome.LAPSED: (
        "Your application has ended: {job}",
        "You missed too many deadlines.",
    ),
    EventType.PASSED: ("You passed your turn: {job}", "You keep your place in line."),
    EventType.REINSTATED: ("You have your place back: {job}", "You are in line as before."),
    ACCEPTED_UNTIL: ("You have a seat: {job}", "It is confirmed, because you said yes in advance."),
    EventType.CONTEST_ANSWERED: (
        "The company has looked again: {job}",
        "Open your application to read the answer.",
    ),
}
_WITH_DEADLINE = (EventType.PROMOTED, REMINDER, EventType.DEADLINE_EXTENDED)


class DeviceText(NamedTuple):
    """Words of a notification, and whether they are about an open offer."""

    title: str
    body: str
    is_urgent: bool


def with_devices(applications: QuerySet[Application]) -> QuerySet[Application]:
    """Make a query of applications also read whether the person has devices."""
    theirs = Device.objects.filter(applicant_id=OuterRef("applicant_id"))
    return applications.annotate(has_devices=Exists(theirs))


def notify_devices_later(
    application: Application, seq: int, kind: str, *, reminder: str = "", number: int = 0
) -> None:
    """Enqueue the notification about an event if its person has a device; once, if repeated.

    The application comes from `with_devices`. A company that has an email sent again (`number`)
    notifies nobody again.
    """
    has_devices = vars(application)["has_devices"] and settings.VAPID_PRIVATE_KEY
    if has_devices and not number and kind in WORDS:
        enqueue(
            NOTIFY_DEVICES,
            {"application": str(application.id), "seq": seq, "reminder": reminder},
            priority=PRIORITY,
            idempotency_key=f"{application.id}:{seq}:{reminder}",
        )


def kind_of_device_text(event: EventForMail, reminder: str) -> str:
    """Return the kind of the notification about an event, which need not be in WORDS."""
    if reminder:
        return REMINDER if event_has_offer_message(event) else reminder
    if event_has_offer_message(event):
        return EventType.PROMOTED
    if event.event == EventType.ACKNOWLEDGED and ACCEPTED_UNTIL in event.data:
        return ACCEPTED_UNTIL
    return kind_of_event_email(event)


def device_text(
    event: EventForMail, *, reminder: str, job_title: str, deadline: datetime | None, zone: tzinfo
) -> DeviceText | None:
    """Compose the notification about an event; None if there is none."""
    kind = kind_of_device_text(event, reminder)
    if kind not in WORDS or (kind in _WITH_DEADLINE and deadline is None):
        return None
    title, body = WORDS[kind]
    job = " ".join(job_title.split())
    if len(job) > LONGEST_JOB_TITLE:
        job = job[: LONGEST_JOB_TITLE - 1] + "…"
    until = time_in_words(deadline, zone)
    return DeviceText(title.format(job=job), body.format(until=until), kind in _WITH_DEADLINE)
