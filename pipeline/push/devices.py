"""Devices on which an applicant wants notifications: switched on, listed, removed."""

from __future__ import annotations

import logging
from base64 import urlsafe_b64decode
from hashlib import sha256
from uuid import UUID

from django.db import transaction

from applicants.models import Applicant, Device
from pipeline.domain.errors import WebhookUrlRefused
from pipeline.push.encryption import SECRET_BYTES, browser_encryption_key
from pipeline.push.vapid import vapid_key_id
from pipeline.webhooks.addresses import checked_webhook_url

security = logging.getLogger("security")

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


def add_device(
    *,
    applicant_id: UUID,
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
        raise DeviceRefused("This browser’s push service cannot be used.")
    digest = sha256(url.encode()).digest()
    with transaction.atomic():
        # Otherwise, two at once would both find room for one more.
        person = Applicant.objects.select_for_update(no_key=True).get(id=applicant_id)
        if person.is_erased:
            raise DeviceRefused("Your data has been erased.")
        if here:
            Device.objects.filter(id=here).exclude(digest=digest).delete()
        others = Device.objects.filter(applicant_id=applicant_id, site_key=vapid_key_id())
        if others.exclude(digest=digest).count() >= MOST_DEVICES:
            raise DeviceRefused(f"You already have {MOST_DEVICES} devices. Remove one first.")
        Device.objects.filter(digest=digest).exclude(applicant_id=applicant_id).delete()
        device, is_new = Device.objects.update_or_create(
            digest=digest,
            defaults={
                "applicant_id": applicant_id,
                "endpoint": url,
                "public_key": key,
                "secret": auth,
                "site_key": vapid_key_id(),
                "name": device_name(user_agent),
            },
        )
    if is_new:
        security.info("device.added", extra={"applicant": str(applicant_id)})
    return device


def remove_device(*, applicant_id: UUID, device_id: UUID) -> None:
    """Send a device of this person no more notifications. Harmless if it is gone already."""
    if Device.objects.filter(id=device_id, applicant_id=applicant_id).delete()[0]:
        security.info("device.removed", extra={"applicant": str(applicant_id)})


def devices_of(applicant_id: UUID) -> list[Device]:
    """Return a person's devices, the oldest first."""
    return list(Device.objects.filter(applicant_id=applicant_id).order_by("created_at", "id"))


def device_name(user_agent: str) -> str:
    """Name a browser for its owner, like "Chrome on Android"."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "A browser")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    return f"{browser} on {system}" if system else browser
