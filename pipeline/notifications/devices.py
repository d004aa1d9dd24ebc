"""Devices of applicants and members: adding them, encryption, keys, and what they show.

The push service cannot read them. Written here on `cryptography`, and tested with the
RFC's own example; docs/decisions/0018 says why no library does it.
"""

from __future__ import annotations

import logging
import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime, timedelta, tzinfo
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    ECDSA,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    derive_private_key,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.signals import post_delete, post_save
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from applicants.models import Applicant, Device
from jobs.models import Membership, User
from pipeline.domain.errors import WebhookUrlRefused
from pipeline.domain.states import ACCEPTED_UNTIL, EventType, Outcome
from pipeline.models import Application
from pipeline.notifications.messages import EventForMail, event_email_kind, offers_seat
from pipeline.outgoing.addresses import checked_webhook_url
from pipeline.wording.english import format_time, isolated
from tasks.enqueue import enqueue
from tasks.json import as_json

security = logging.getLogger("security")


RECORD_BYTES = 4_096
PUBLIC_KEY_BYTES, SECRET_BYTES = 65, 16
# Messages are filled up to this, so that their length says nothing about them.
USUAL_BYTES = 1_024
_LAST_RECORD = b"\2"


def encrypt_push_message(
    text: bytes,
    *,
    public_key: bytes,
    secret: bytes,
    usual_bytes: int = USUAL_BYTES,
    salt: bytes = b"",
    key: EllipticCurvePrivateKey | None = None,
) -> bytes:
    """Encrypt a message for the browser with this public key and secret.

    `salt` and `key` are for the RFC's example; they are random otherwise. Raises ValueError if the
    public key is invalid, or the message does not fit into one record.
    """
    salt, key = salt or os.urandom(16), key or generate_private_key(SECP256R1())
    ours = raw_encryption_key(key.public_key())
    shared = key.exchange(ECDH(), browser_encryption_key(public_key))
    material = _derive_encryption_key(shared, secret, b"WebPush: info\0" + public_key + ours, 32)
    content_key = _derive_encryption_key(material, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive_encryption_key(material, salt, b"Content-Encoding: nonce\0", 12)
    filled = (text + _LAST_RECORD).ljust(usual_bytes, b"\0")
    sealed = AESGCM(content_key).encrypt(nonce, filled, None)
    header = salt + struct.pack("!IB", RECORD_BYTES, len(ours)) + ours
    if len(header) + len(sealed) > RECORD_BYTES:
        raise ValueError("the message is too long for one record")
    return header + sealed


def browser_encryption_key(raw: bytes) -> EllipticCurvePublicKey:
    """Return the public key of these 65 bytes.

    Raises ValueError if they are not a point of P-256.
    """
    if len(raw) != PUBLIC_KEY_BYTES:
        raise ValueError("a public key has 65 bytes")
    return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), raw)


def raw_encryption_key(key: EllipticCurvePublicKey) -> bytes:
    """Return a public key as its 65 bytes."""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _derive_encryption_key(material: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length=length, salt=salt, info=info).derive(material)


# The site's key towards push services (VAPID, RFC 8292), and the signature of a request.


# At most 24 hours are allowed; a request may wait a while, and clocks differ.
SIGNED_FOR = timedelta(hours=12)


def is_push_enabled() -> bool:
    """Tell whether the site has a key to send notifications with."""
    return bool(settings.VAPID_PRIVATE_KEY)


def vapid_public_key() -> str:
    """Return the site's public key as browsers take it: base64 for URLs, without padding."""
    return encode_base64(raw_encryption_key(_vapid_key(settings.VAPID_PRIVATE_KEY).public_key()))


def vapid_key_id() -> str:
    """Return a short name of the site's key."""
    return sha256(vapid_public_key().encode()).hexdigest()[:16]


def vapid_authorization(endpoint: str, now: datetime) -> str:
    """Return the Authorization header of a request to a push service."""
    parts = urlsplit(endpoint)
    claims = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int((now + SIGNED_FOR).timestamp()),
        "sub": settings.VAPID_SUBJECT,
    }
    signed = ".".join(
        encode_base64(as_json(part).encode()) for part in ({"typ": "JWT", "alg": "ES256"}, claims)
    )
    made = _vapid_key(settings.VAPID_PRIVATE_KEY).sign(signed.encode(), ECDSA(SHA256()))
    signature = b"".join(number.to_bytes(32) for number in decode_dss_signature(made))
    return f"vapid t={signed}.{encode_base64(signature)}, k={vapid_public_key()}"


def encode_base64(raw: bytes) -> str:
    """Encode bytes in base64 for URLs, without padding."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@cache
def _vapid_key(raw: bytes) -> EllipticCurvePrivateKey:
    return derive_private_key(int.from_bytes(raw), SECP256R1())


# Devices on which a person wants notifications: switched on, listed, removed.


MOST_DEVICES = 5
# Names of browsers and systems by their own descriptions; the first that matches counts.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS", "Mac"),
    ("Linux", "Linux"),
)


class DeviceRefused(Exception):
    """A device cannot be added; the message says why."""


class Owner(NamedTuple):
    """Person whose devices they are: an applicant, or the account of a member."""

    applicant_id: UUID | None = None
    user_id: UUID | None = None

    def devices(self) -> QuerySet[Device]:
        """Return their devices."""
        if self.user_id:
            return Device.objects.filter(user_id=self.user_id)
        return Device.objects.filter(applicant_id=self.applicant_id or UUID(int=0))

    def lock(self) -> None:
        """Lock the person, because two additions at once would both find room for one more.

        Raises DeviceRefused if they may have no devices any more.
        """
        if self.user_id:
            members = User.objects.select_for_update(no_key=True, of=("self",))
            members = members.filter(is_active=True, memberships__isnull=False)
            if not members.filter(id=self.user_id):
                raise DeviceRefused(_("Your account is in no company’s team."))
            return
        people = Applicant.objects.select_for_update(no_key=True)
        person = people.get(id=self.applicant_id or UUID(int=0))
        if person.is_erased:
            raise DeviceRefused(_("Your data has been erased."))

    def log_ids(self) -> dict[str, str]:
        """Return the person's id for the security log."""
        if self.user_id:
            return {"member": str(self.user_id)}
        return {"applicant": str(self.applicant_id)}


_FULL = ngettext_lazy(
    "You already have %(most)s device. Remove one first.",
    "You already have %(most)s devices. Remove one first.",
    "most",
)


def add_device(
    owner: Owner,
    *,
    endpoint: str,
    public_key: str,
    secret: str,
    user_agent: str,
    here: UUID | None = None,
) -> Device:
    """Store a browser's subscription; the keys are in base64 for URLs.

    A browser has one subscription, which belongs to the last person who switched it on there; the
    browser's earlier device (`here`) is removed. Adding it again changes its keys. Devices
    of a former key of the site do not count. Raises DeviceRefused.
    """
    try:
        url = checked_webhook_url(endpoint)
        key, auth = (urlsafe_b64decode(each + "==") for each in (public_key, secret))
        browser_encryption_key(key)
    except (WebhookUrlRefused, ValueError):
        url, key, auth = "", b"", b""
    if len(auth) != SECRET_BYTES:
        raise DeviceRefused(_("This browser’s push service cannot be used."))
    digest = sha256(url.encode()).digest()
    with transaction.atomic():
        owner.lock()
        if here:
            Device.objects.filter(id=here).exclude(digest=digest).delete()
        others = owner.devices().filter(site_key=vapid_key_id())
        if others.exclude(digest=digest).count() >= MOST_DEVICES:
            raise DeviceRefused(_FULL % {"most": MOST_DEVICES})
        Device.objects.filter(digest=digest).exclude(id__in=owner.devices()).delete()
        device, is_new = Device.objects.update_or_create(
            digest=digest,
            defaults={
                **owner._asdict(),
                "endpoint": url,
                "public_key": key,
                "secret": auth,
                "site_key": vapid_key_id(),
                "name": browser_name(user_agent),
            },
        )
    if is_new:
        security.info("device.added", extra=owner.log_ids())
    return device


def remove_device(owner: Owner, device_id: UUID) -> None:
    """Send a device of this person no more notifications. Harmless if it is gone already."""
    if owner.devices().filter(id=device_id).delete()[0]:
        security.info("device.removed", extra=owner.log_ids())


def read_devices(owner: Owner) -> list[Device]:
    """Return a person's devices, the oldest first."""
    return list(owner.devices().order_by("created_at", "id"))


def start() -> None:
    """Have the devices of members go with the last membership, or with a closed account."""
    post_delete.connect(_forget_member, sender=Membership, dispatch_uid="devices.membership")
    post_save.connect(_forget_closed, sender=User, dispatch_uid="devices.account")


def _forget_member(instance: Membership, **__: Any) -> None:
    if not Membership.objects.filter(user_id=instance.user_id).exists():
        Owner(user_id=instance.user_id).devices().delete()


def _forget_closed(instance: User, created: bool, **__: Any) -> None:
    if not (created or instance.is_active):
        Owner(user_id=instance.id).devices().delete()


def browser_name(user_agent: str) -> str:
    """Name a browser for its owner, without a word of any language: Chrome (Android).

    An unknown one is only (Android), or empty: `shown_name` has the words.
    """
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    return f"{browser} ({system})".strip() if system else browser


def shown_name(device: Device) -> str:
    """Return the name of a device in the language of the reader."""
    is_known = device.name and not device.name.startswith("(")
    return device.name if is_known else f"{_('Unknown browser')} {device.name}".strip()


# Notifications on an applicant's devices, in addition to some emails: their words and their task.
# They can be read on a locked screen, so they name the job and a time and nothing else.


NOTIFY_DEVICES = "devices.notify"  # the type of the task
PRIORITY = 40  # as an offer's email
LONGEST_JOB_TITLE = 80
REMINDER = "REMINDER"
# How long a push service keeps a notification that has no deadline.
KEPT_FOR = timedelta(days=1)

# The titles and texts, by offer, reminder, event or outcome, or the fact of a yes in advance.
WORDS = {
    EventType.PROMOTED: (
        gettext_lazy("Your turn: %(job)s"),
        gettext_lazy("Confirm your seat by %(until)s."),
    ),
    REMINDER: (
        gettext_lazy("Reminder: %(job)s"),
        gettext_lazy("Confirm your seat by %(until)s, or it goes to the next person."),
    ),
    EventType.DEADLINE_EXTENDED: (
        gettext_lazy("More time: %(job)s"),
        gettext_lazy("You now have until %(until)s to confirm your seat."),
    ),
    EventType.DECAYED: (
        gettext_lazy("You missed the deadline: %(job)s"),
        gettext_lazy("The seat went to the next person. You are back in line."),
    ),
    Outcome.LAPSED: (
        gettext_lazy("Your application has ended: %(job)s"),
        gettext_lazy("You missed too many deadlines."),
    ),
    EventType.PASSED: (
        gettext_lazy("You passed your turn: %(job)s"),
        gettext_lazy("You keep your place in line."),
    ),
    EventType.REINSTATED: (
        gettext_lazy("You have your place back: %(job)s"),
        gettext_lazy("You are in line as before."),
    ),
    ACCEPTED_UNTIL: (
        gettext_lazy("You have a seat: %(job)s"),
        gettext_lazy("It is confirmed, because you said yes in advance."),
    ),
    EventType.CONTEST_ANSWERED: (
        gettext_lazy("The company has looked again: %(job)s"),
        gettext_lazy("Open your application to read the answer."),
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


def notify_later(
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


def text_kind(event: EventForMail, reminder: str) -> str:
    """Return the kind of the notification about an event, which need not be in WORDS."""
    if reminder:
        return REMINDER if offers_seat(event) else reminder
    if offers_seat(event):
        return EventType.PROMOTED
    if event.event == EventType.ACKNOWLEDGED and ACCEPTED_UNTIL in event.data:
        return ACCEPTED_UNTIL
    return event_email_kind(event)


def compose_device_text(
    event: EventForMail, *, reminder: str, job_title: str, deadline: datetime | None, zone: tzinfo
) -> DeviceText | None:
    """Compose the notification about an event; None if there is none."""
    kind = text_kind(event, reminder)
    if kind not in WORDS or (kind in _WITH_DEADLINE and deadline is None):
        return None
    title, body = WORDS[kind]
    job = short_title(job_title)
    until = format_time(deadline, zone)
    return DeviceText(
        str(title) % {"job": job}, str(body) % {"until": until}, kind in _WITH_DEADLINE
    )


def short_title(job_title: str) -> str:
    """Return the title of a job as notifications show it."""
    job = " ".join(job_title.split())
    if len(job) > LONGEST_JOB_TITLE:
        job = job[: LONGEST_JOB_TITLE - 1] + "…"
    return isolated(job)
