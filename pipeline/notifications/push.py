"""Sending of notifications to a person's devices, through the HTTP client of webhooks.

So each goes only to an address that was checked just before.
"""

from __future__ import annotations

import logging
import time
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID, uuid5

from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse

from applicants.models import Device, DeviceNotice
from pipeline.database import instants
from pipeline.domain.states import EventType
from pipeline.models import Application, Event
from pipeline.notifications.applicants import (
    email_zone,
    in_their_language,
    is_offer_open,
    is_offer_over,
)
from pipeline.notifications.devices import (
    KEPT_FOR,
    NOTIFY_DEVICES,
    DeviceText,
    Owner,
    compose_device_text,
    encrypt_push_message,
    is_push_enabled,
    vapid_authorization,
    vapid_key_id,
)
from pipeline.notifications.messages import offers_seat
from pipeline.outgoing.client import Answer, Outgoing, WebhookClient
from pipeline.web import rate_limit
from pipeline.web.rate_limit import Rate
from tasks.errors import Retry
from tasks.json import as_json
from tasks.registry import task_type
from tasks.retry import Backoff
from tasks.signature import JsonSchema, Positive

log = logging.getLogger(__name__)


USER_AGENT = "NextInLine-Push/1.0"
REQUEST_SECONDS, RUN_SECONDS = 10.0, 40.0
MOST_WAIT_SECONDS = 3_600.0  # that a push service may ask for
REFUSED = Rate(1, 3_600)  # how often the log says the same about a push service
State = DeviceNotice.State


@dataclass(frozen=True, slots=True)
class PushReason:
    """Reason of a notification: an event of an application, and the reminder if it is one."""

    application_id: UUID
    seq: int
    reminder: str = ""

    @property
    def key(self) -> str:
        """Return the name of the reason, the same in each attempt."""
        return f"{self.application_id}:{self.seq}:{self.reminder}"


class Notification(NamedTuple):
    """Notification to a person: its words, the page that it opens, and how long it is true.

    `key` names the reason, the same in each attempt; of two that are `about` the same, the newer
    one replaces the one that waits.
    """

    key: str
    text: DeviceText
    about: UUID
    path: str
    ends_at: datetime


def notice_id(device: Device, key: str) -> UUID:
    """Return the id of the notification to a device, the same in each attempt."""
    return uuid5(device.id, key)


def deliver(reason: PushReason) -> dict[str, int]:
    """Send a notification to each device that did not get it yet: {"sent"}.

    Raises tasks.errors.Retry when a push service cannot take it now.
    """
    application, text, ends_at = _read_text(reason)
    if application is None or text is None:
        return {"sent": 0}
    path = reverse("my_application", args=[application.id])
    notification = Notification(reason.key, text, application.id, path, ends_at)
    return send(Owner(applicant_id=application.applicant_id), notification)


def send(owner: Owner, notification: Notification) -> dict[str, int]:
    """Send a notification to each of a person's devices that did not get it yet: {"sent"}.

    Raises tasks.errors.Retry when a push service cannot take it now.
    """
    if not is_push_enabled():
        return {"sent": 0}
    now = instants.now()
    theirs = owner.devices().filter(site_key=vapid_key_id()).order_by("id")
    devices = {notice_id(device, notification.key): device for device in theirs}
    notices = [DeviceNotice(id=each, device=device) for each, device in devices.items()]
    DeviceNotice.objects.bulk_create(notices, ignore_conflicts=True)
    waiting = DeviceNotice.objects.filter(state=State.WAITING)
    made = [_build_request(each, device, notification, now) for each, device in devices.items()]
    with transaction.atomic():  # all are claimed or none: nothing fails before they are sent
        requests = [
            each
            for each in made
            if waiting.filter(id=each.key).update(state=State.SENDING, at=Now())
        ]
    waits: list[float | None] = []
    until = time.monotonic() + RUN_SECONDS
    if requests:
        with WebhookClient(timeout_seconds=REQUEST_SECONDS) as client:
            client.send(requests)
            while len(waits) < len(requests) and time.monotonic() < until:
                waits += [_note_answer(each, devices[each.key]) for each in client.answers(0.2)]
    asked = [wait for wait in waits if wait is not None]
    if asked:
        # The soonest: a service that is asked too early says so again, and holds up no other
        # device.
        raise Retry("a push service cannot take it now", after_seconds=min(asked) or None)
    return {"sent": len(requests)}


def give_up(owner: Owner, key: str) -> None:
    """Record that a notification will not be tried again."""
    ids = [notice_id(each, key) for each in owner.devices()]
    DeviceNotice.objects.filter(id__in=ids, state=State.WAITING).update(state=State.FAILED)


def _read_text(
    reason: PushReason,
) -> tuple[Application | None, DeviceText | None, datetime]:
    """Return the application, the notification's text if still true, and how long it will be."""
    rows = Application.objects.select_related("applicant", "job__posting")
    application = rows.filter(id=reason.application_id).first()
    events = Event.objects.filter(application_id=reason.application_id)
    event = events.filter(seq=reason.seq).first()
    ends_at = instants.now() + KEPT_FOR
    if application is None or event is None or application.applicant.is_erased:
        return None, None, ends_at
    if reason.reminder:
        is_over = not is_offer_open(application, reason.seq)
    elif offers_seat(event) or event.event == EventType.DEADLINE_EXTENDED:
        is_over = is_offer_over(application, event)
    else:  # something newer has its own notification, which this one would replace
        is_over = events.filter(seq__gt=reason.seq).exists()
    if is_over:
        return application, None, ends_at
    with in_their_language(application):
        text = compose_device_text(
            event,
            reminder=reason.reminder,
            job_title=application.job.posting.title,
            deadline=application.acknowledge_by,
            zone=email_zone(application.applicant, application.job),
        )
    deadline = application.acknowledge_by if text and text.is_urgent else None
    return application, text, deadline or ends_at


def _build_request(
    notice: UUID, device: Device, notification: Notification, now: datetime
) -> Outgoing:
    """Make the request; a newer one about the same thing replaces one that waits.

    The topic tells the push service nothing, because each device has its own.
    """
    text, about = notification.text, notification.about
    topic = blake2b(about.bytes, key=device.id.bytes, digest_size=16).digest()
    seconds = max(0, int((notification.ends_at - now).total_seconds()))
    shown: dict[str, Any] = {
        "title": text.title,
        "body": text.body,
        "tag": str(about),
        "path": notification.path,
    }
    body = encrypt_push_message(
        as_json(shown).encode(),
        public_key=bytes(device.public_key),
        secret=bytes(device.secret),
    )
    headers = {
        "authorization": vapid_authorization(device.endpoint, now),
        "content-encoding": "aes128gcm",
        "content-type": "application/octet-stream",
        "ttl": str(seconds),
        "topic": urlsafe_b64encode(topic).rstrip(b"=").decode(),
        "urgency": "high" if text.is_urgent else "normal",
        "user-agent": USER_AGENT,
    }
    # One person's devices count as one for the client's limits.
    owner = device.applicant_id or device.user_id or device.id
    return Outgoing(notice, owner, device.id, device.endpoint, headers, body)


def _note_answer(answer: Answer, device: Device) -> float | None:
    """Record the fate of a notification.

    Returns the seconds until the next attempt, 0 for the usual time, None for never.
    """
    notice = DeviceNotice.objects.filter(id=answer.key)
    status = answer.status or 0
    if answer.failure is None and not answer.is_unsent:
        notice.update(state=State.SENT, at=Now())
        Device.objects.filter(id=device.id).update(notified_at=Now())
        return None
    if status in (404, 410):  # switched off in the browser
        device.delete()
        return None
    if not answer.is_begun or status == 429 or status >= 500:
        notice.update(state=State.WAITING, at=Now())
        asked = answer.headers.get("retry-after", "")
        seconds = float(asked) if asked.isascii() and asked.isdecimal() else 0.0
        return min(seconds, MOST_WAIT_SECONDS)
    notice.update(state=State.FAILED, at=Now())
    service = urlsplit(device.endpoint).hostname
    said = "".join(each if each.isprintable() else " " for each in answer.body)
    if rate_limit.count("push_refused", f"{service} {answer.failure} {status}", REFUSED).allowed:
        log.warning(
            "A push service refused a notification: %s %s (%s)",
            service,
            status or answer.failure,
            " ".join(said.split())[:200],
        )
    return None


# Task that sends notifications to devices.


def give_up_delivery(application: UUID, seq: int, reminder: str) -> None:
    """Record that a notification will not be tried again."""
    found = Application.objects.filter(id=application)
    if person_id := found.values_list("applicant_id", flat=True).first():
        give_up(Owner(applicant_id=person_id), PushReason(application, seq, reminder).key)


@task_type(
    key=NOTIFY_DEVICES,
    queue="email",
    urgent=True,
    timeout_seconds=60,
    max_attempts=12,
    cap=4,  # push services that answer slowly, or impostors, keep no more slots than this
    backoff=Backoff(base_seconds=15, cap_seconds=3_600, jitter_seconds=5),
    on_fail=give_up_delivery,
    waits_for_service=True,
)
def notify_devices(
    application: UUID, seq: Positive, reminder: Annotated[str, JsonSchema(maxLength=20)]
) -> dict[str, int]:
    """Notify a person's devices of an event: {"sent"}."""
    return deliver(PushReason(application, seq, reminder))
