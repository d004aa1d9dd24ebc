"""Webhook endpoints of a company: changes, signatures, reads and redelivery."""

from __future__ import annotations

import hmac
import logging
import secrets
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from uuid_utils.compat import uuid7

from jobs import activity
from jobs.models import Company
from pipeline.domain.errors import (
    TooManyWebhooks,
    WebhookAlreadyMade,
    WebhookAlreadyRotated,
    WebhookDeliveryNotFound,
    WebhookNotFound,
    WebhookOff,
)
from pipeline.line.clock import read_company_clock
from pipeline.models import ChangeKind, WebhookAttempt, WebhookDelivery, WebhookEndpoint
from pipeline.notifications.companies import email_alert
from pipeline.outgoing.addresses import checked_webhook_url
from pipeline.outgoing.sealed import TAG_BYTES, Seal, SecretUnreadable
from pipeline.selectors.pages import Page
from pipeline.services.changes import record_change
from pipeline.webhooks import queue
from pipeline.webhooks.queue import TEST, QueuedOccurrence, make_due
from tasks.enqueue import Enqueued, enqueue

security = logging.getLogger("security")


# Secrets of endpoints, and signatures according to Standard Webhooks 1.0. Unlike a key, a secret
# has to be known to sign with it, so it is kept sealed; `reencrypt_secrets` seals again what an
# earlier SECRET_KEY has sealed.


PREFIX = "whsec_"
SECRET_BYTES = 32
SEAL = Seal("webhook secrets")


def generate_secret() -> str:
    """Return a random secret: whsec_ and 32 bytes in base64."""
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sign_delivery(message_id: str, timestamp: int, body: bytes, keys: Iterable[str]) -> str:
    """Return the value of `webhook-signature`: one signature for each secret."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    made = (hmac.digest(b64decode(key.removeprefix(PREFIX)), signed, sha256) for key in keys)
    return " ".join(f"v1,{b64encode(each).decode()}" for each in made)


MOST_ENDPOINTS = 20
# The alert to members that a receiver's answers have switched an endpoint off.
ALERT = "WEBHOOK_DISABLED"
# How long the secret before the last rotation signs too.
OLD_SECRET_FOR = timedelta(hours=24)
# The number of rotations that are known again when their request is repeated.
KEPT_ROTATIONS = 50
# How long an unchanged request that is sent twice is answered with the secret again.
SHOWN_AGAIN_FOR = timedelta(minutes=5)

OffReason = WebhookEndpoint.OffReason

WEBHOOK_ADDED = activity.declare("webhook.created", activity.Group.KEYS, _("Added a webhook"))
WEBHOOK_CHANGED = activity.declare(
    "webhook.changed", activity.Group.KEYS, _("Changed a webhook, or switched it on or off")
)
WEBHOOK_ROTATED = activity.declare(
    "webhook.secret_rotated", activity.Group.KEYS, _("Gave a webhook a new secret")
)
WEBHOOK_DELETED = activity.declare("webhook.deleted", activity.Group.KEYS, _("Deleted a webhook"))


@transaction.atomic
def create(
    *,
    company_id: UUID,
    url: str,
    description: str = "",
    types: list[str] | None = None,
    endpoint_id: UUID | None = None,
    by: UUID | None = None,
) -> tuple[WebhookEndpoint, str]:
    """Create an endpoint of a company; return it and its secret.

    With an `endpoint_id`, it is created once. The same call within SHOWN_AGAIN_FOR returns it with
    its secret; anything else under this id raises WebhookAlreadyMade. Raises WebhookUrlRefused,
    TooManyWebhooks.
    """
    Company.objects.select_for_update(no_key=True).get(id=company_id)
    given = {"url": checked_webhook_url(url), "description": description, "types": types or []}
    theirs = WebhookEndpoint.objects.filter(company_id=company_id)
    same = theirs.filter(created_at__gt=Now() - SHOWN_AGAIN_FOR, old_secret_until=None, **given)
    if endpoint_id and (made := same.filter(id=endpoint_id).first()):
        security.info("webhook.secret_shown_again", extra=made.log_ids)
        return made, SEAL.open(made.secret, made.id)
    if endpoint_id and WebhookEndpoint.objects.filter(id=endpoint_id).exists():
        raise WebhookAlreadyMade(existing_id=endpoint_id)
    if theirs.count() >= MOST_ENDPOINTS:
        raise TooManyWebhooks(limit=MOST_ENDPOINTS)
    secret, endpoint_id = generate_secret(), endpoint_id or uuid7()
    try:
        with transaction.atomic():
            endpoint = WebhookEndpoint.objects.create(
                id=endpoint_id,
                company_id=company_id,
                secret=SEAL.close(secret, endpoint_id),
                **given,
            )
    except IntegrityError:  # another company has taken the id since the look above
        raise WebhookAlreadyMade from None
    endpoint.refresh_from_db()
    security.info("webhook.created", extra=endpoint.log_ids)
    activity.note(WEBHOOK_ADDED, company_id=company_id, by=by)
    return endpoint, secret


@transaction.atomic
def change(
    *, company_id: UUID, endpoint_id: UUID, changes: dict[str, Any], by: UUID | None = None
) -> WebhookEndpoint:
    """Change some of url, description, types and is_active; all or nothing.

    When switched on, an endpoint begins without its failures. When it is switched off, waiting
    deliveries fail. Raises WebhookNotFound, WebhookUrlRefused.
    """
    endpoint = lock(company_id, endpoint_id)
    if "url" in changes:
        changes = changes | {"url": checked_webhook_url(changes["url"])}
    if not changes.get("is_active", True) and endpoint.is_active:
        _switch_off(endpoint, OffReason.BY_HAND)
    elif changes.get("is_active") and not endpoint.is_active:
        changes = changes | {"off_reason": "", "off_at": None, "failures": 0, "rests_until": None}
    if changes:
        WebhookEndpoint.objects.filter(id=endpoint.id).update(**changes)
    endpoint.refresh_from_db()
    security.info("webhook.changed", extra=endpoint.log_ids)
    activity.note(WEBHOOK_CHANGED, company_id=company_id, by=by)
    return endpoint


@transaction.atomic
def rotate_secret(
    *,
    company_id: UUID,
    endpoint_id: UUID,
    rotation_id: UUID | None = None,
    by: UUID | None = None,
) -> tuple[WebhookEndpoint, str]:
    """Give an endpoint a new secret, and return both; the previous one also signs for a day.

    One that can no longer be read is dropped at once. With a `rotation_id`, this happens once: the
    same call within SHOWN_AGAIN_FOR, before another rotation, returns the same secret; later it
    raises WebhookAlreadyRotated. Raises WebhookNotFound.
    """
    endpoint = lock(company_id, endpoint_id)
    if rotation_id in endpoint.rotation_ids:
        fresh = WebhookEndpoint.objects.filter(rotated_at__gt=Now() - SHOWN_AGAIN_FOR)
        is_last = rotation_id == endpoint.rotation_ids[-1]
        if not is_last or not fresh.filter(id=endpoint.id).exists():
            raise WebhookAlreadyRotated(existing_id=endpoint.id)
        security.info("webhook.secret_shown_again", extra=endpoint.log_ids)
        return endpoint, SEAL.open(endpoint.secret, endpoint.id)
    secret = generate_secret()
    is_readable = SEAL.is_readable(endpoint.secret, endpoint.id)
    WebhookEndpoint.objects.filter(id=endpoint.id).update(
        old_secret=endpoint.secret if is_readable else None,
        old_secret_until=Now() + OLD_SECRET_FOR if is_readable else Now(),
        secret=SEAL.close(secret, endpoint.id),
        rotation_ids=[*endpoint.rotation_ids, rotation_id or uuid7()][-KEPT_ROTATIONS:],
        rotated_at=Now(),
    )
    endpoint.refresh_from_db()
    security.info("webhook.secret_rotated", extra=endpoint.log_ids)
    activity.note(WEBHOOK_ROTATED, company_id=company_id, by=by)
    return endpoint, secret


@transaction.atomic
def delete(*, company_id: UUID, endpoint_id: UUID, by: UUID | None = None) -> None:
    """Delete an endpoint with its secrets; its deliveries are removed by age.

    Raises WebhookNotFound.
    """
    endpoint = lock(company_id, endpoint_id)
    endpoint.delete()
    security.info("webhook.deleted", extra=endpoint.log_ids)
    activity.note(WEBHOOK_DELETED, company_id=company_id, by=by)


def send_test(*, company_id: UUID, endpoint_id: UUID) -> WebhookDelivery:
    """Send a `webhook.test`, whatever types the endpoint wants. Raises WebhookNotFound, WebhookOff.

    Must not be called inside a transaction.
    """
    with transaction.atomic():
        endpoint = lock(company_id, endpoint_id)
        if not endpoint.is_active:
            raise WebhookOff
        clock = read_company_clock(company_id)
        test = QueuedOccurrence(
            source=f"test:{uuid7()}",
            type=TEST,
            at=clock.now,
            data={"company_id": company_id, "endpoint_id": endpoint.id},
        )
        delivery = WebhookDelivery.objects.create(
            endpoint_id=endpoint.id,
            source=test.source,
            type=test.type,
            body=test.body(is_test=clock.is_test),
            next_attempt_at=Now(),
        )
        make_due(endpoint.id)
    queue.wake()
    delivery.refresh_from_db()
    return delivery


@transaction.atomic
def reencrypt_secrets() -> int:
    """Re-encrypt secrets that an earlier key encrypted; return how many endpoints.

    So a fallback can be removed after a while. A secret that no key decrypts stays as it is; the
    endpoint's other secret is still re-encrypted.
    """
    tag, columns = SEAL.tag, ("secret", "old_secret")
    outdated = WebhookEndpoint.objects.extra(
        where=["substr(secret, 1, %s) <> %s OR substr(old_secret, 1, %s) <> %s"],
        params=[TAG_BYTES, tag] * 2,
    )
    count = 0
    for endpoint in outdated.select_for_update(no_key=True):
        anew: dict[str, bytes] = {}
        for column in columns:
            sealed = getattr(endpoint, column)
            if sealed is not None and bytes(sealed[:TAG_BYTES]) != tag:
                with suppress(SecretUnreadable):
                    secret = SEAL.open(sealed, endpoint.id)
                    anew[column] = SEAL.close(secret, endpoint.id)
        if anew:
            WebhookEndpoint.objects.filter(id=endpoint.id).update(**anew)
            count += 1
    return count


@transaction.atomic
def switch_off(endpoint_id: UUID, reason: OffReason) -> None:
    """Switch an endpoint off because of its answers, and tell the company's owners."""
    endpoint = WebhookEndpoint.objects.select_for_update(no_key=True).filter(id=endpoint_id).first()
    if endpoint is not None and endpoint.is_active:
        _switch_off(endpoint, reason)
        email_alert(endpoint.company_id, ALERT, about=f"{endpoint.id}")
        facts = endpoint.log_ids | {"reason": str(reason)}
        security.warning("webhook.switched_off", extra=facts)


def _switch_off(endpoint: WebhookEndpoint, reason: OffReason) -> None:
    record_change(
        ChangeKind.WEBHOOK_SWITCHED_OFF, company_id=endpoint.company_id, webhook_id=endpoint.id
    )
    WebhookEndpoint.objects.filter(id=endpoint.id).update(
        is_active=False, off_reason=reason, off_at=Now(), next_due_at=Now()
    )
    transaction.on_commit(queue.wake, robust=True)


def lock(company_id: UUID, endpoint_id: UUID) -> WebhookEndpoint:
    """Lock an endpoint of a company. Raises WebhookNotFound."""
    theirs = WebhookEndpoint.objects.filter(company_id=company_id, id=endpoint_id)
    found = theirs.select_for_update(no_key=True).first()
    if found is None:
        raise WebhookNotFound
    return found


# Reads of a company's webhook endpoints and deliveries.


# Attempts of one delivery that are shown, the newest.
MOST_ATTEMPTS_SHOWN = 100


def read_page(company_id: UUID, *, after: UUID | None, limit: int) -> Page[WebhookEndpoint]:
    """Return the company's endpoints, newest first."""
    rows = WebhookEndpoint.objects.filter(company_id=company_id)
    if after:
        rows = rows.filter(id__lt=after)
    return Page.cut(list(rows.order_by("-id")[: limit + 1]), limit)


def read(company_id: UUID, endpoint_id: UUID) -> WebhookEndpoint:
    """Return an endpoint of the company. Raises WebhookNotFound."""
    found = WebhookEndpoint.objects.filter(company_id=company_id, id=endpoint_id).first()
    if found is None:
        raise WebhookNotFound
    return found


def read_deliveries(
    endpoint: WebhookEndpoint,
    *,
    state: str | None = None,
    type_: str | None = None,
    after: UUID | None,
    limit: int,
) -> Page[WebhookDelivery]:
    """Return the deliveries to an endpoint, newest first, of a state and a type if given."""
    chosen = Q(endpoint_id=endpoint.id)
    if state:
        chosen &= Q(state=state)
    if type_:
        chosen &= Q(type=type_)
    if after:
        chosen &= Q(id__lt=after)
    rows = WebhookDelivery.objects.filter(chosen).order_by("-id")
    return Page.cut(list(rows[: limit + 1]), limit)


def read_delivery(endpoint: WebhookEndpoint, delivery_id: UUID) -> WebhookDelivery:
    """Return a delivery to an endpoint. Raises WebhookDeliveryNotFound."""
    found = WebhookDelivery.objects.filter(endpoint_id=endpoint.id, id=delivery_id).first()
    if found is None:
        raise WebhookDeliveryNotFound
    return found


def read_attempts(delivery_ids: Collection[UUID]) -> list[WebhookAttempt]:
    """Return the attempts of deliveries, newest first; at most MOST_ATTEMPTS_SHOWN."""
    found = WebhookAttempt.objects.filter(delivery_id__in=delivery_ids)
    return list(found.order_by("-number", "-id")[:MOST_ATTEMPTS_SHOWN])


# Services that send deliveries again: one, or all that failed since a time.


# The type of the task that sends all failed deliveries again.
REDELIVER = "webhooks.redeliver"
# The most deliveries that one task sends again, and that one transaction does.
MOST_REDELIVERED, AT_ONCE = 100_000, 1_000

State = WebhookDelivery.State


def redeliver_one(*, company_id: UUID, endpoint_id: UUID, delivery_id: UUID) -> WebhookDelivery:
    """Send a delivery again at once, in a new round of attempts, under the same `webhook-id`.

    One that waits is tried now. Raises WebhookNotFound, WebhookDeliveryNotFound, WebhookOff. Must
    not be called inside a transaction.
    """
    with transaction.atomic():
        endpoint = lock(company_id, endpoint_id)
        if not endpoint.is_active:
            raise WebhookOff
        theirs = WebhookDelivery.objects.filter(endpoint_id=endpoint.id, id=delivery_id)
        if not _begin_redelivery_round(theirs):
            raise WebhookDeliveryNotFound
        make_due(endpoint.id)
    queue.wake()
    return theirs.get()


def start_redelivering(
    *, company_id: UUID, endpoint_id: UUID, since: datetime, producer: str = ""
) -> Enqueued:
    """Start a task that sends all failed deliveries again that were created since a time.

    Raises WebhookNotFound, WebhookOff.
    """
    with transaction.atomic():
        if not lock(company_id, endpoint_id).is_active:
            raise WebhookOff
        payload = {"endpoint_id": str(endpoint_id), "since": since.isoformat()}
        return enqueue(REDELIVER, payload, owner_id=company_id, producer=producer)


def redeliver_failed(*, company_id: UUID, endpoint_id: UUID, since: datetime) -> int:
    """Send failed deliveries again, oldest first, at most MOST_REDELIVERED; return how many.

    Raises WebhookNotFound. An endpoint that is switched off in the meantime gets no more.
    """
    sent = 0
    while sent < MOST_REDELIVERED:
        with transaction.atomic():
            endpoint = lock(company_id, endpoint_id)
            failed = WebhookDelivery.objects.filter(
                endpoint_id=endpoint.id, state=State.FAILED, created_at__gte=since
            )
            ids = list(failed.order_by("id").values_list("id", flat=True)[:AT_ONCE])
            if not ids or not endpoint.is_active:
                break
            _begin_redelivery_round(WebhookDelivery.objects.filter(id__in=ids, state=State.FAILED))
            make_due(endpoint.id)
        queue.wake()
        sent += len(ids)
    return sent


def _begin_redelivery_round(deliveries: QuerySet[WebhookDelivery]) -> int:
    return deliveries.update(
        state=State.PENDING,
        earlier_attempts=F("attempts"),
        round_started_at=Now(),
        next_attempt_at=Now(),
        finished_at=None,
    )
