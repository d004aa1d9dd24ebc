"""Chat channels of a company: adding, changing, switching, deleting, and what was sent to them."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from uuid_utils.compat import uuid7

from jobs import activity
from jobs.models import Company, Job, JobStatus
from pipeline.chat.addresses import checked_address, masked
from pipeline.models import ChatChannel, ChatMessage, ChatService
from pipeline.outgoing.client import Failure
from pipeline.outgoing.sealed import TAG_BYTES, Seal, SecretUnreadable

security = logging.getLogger("security")

SEAL = Seal("chat addresses")
MOST_CHANNELS = 20
MOST_SHOWN = 30
MOST_JOBS = 500  # among which one is chosen for a channel
OffReason = ChatChannel.OffReason

ADDED = activity.declare("chat.added", activity.Group.KEYS, gettext_lazy("Added a chat channel"))
CHANGED = activity.declare(
    "chat.changed",
    activity.Group.KEYS,
    gettext_lazy("Changed a chat channel, or switched it on or off"),
)
DELETED = activity.declare(
    "chat.deleted", activity.Group.KEYS, gettext_lazy("Deleted a chat channel")
)


class ChannelNotFound(LookupError):
    """The company has no such channel."""


class ChannelRefused(ValueError):
    """The channel cannot be added or posted to; the text says why."""


@transaction.atomic
def add(*, company_id: UUID, address: str, by: UUID | None = None, **given: Any) -> ChatChannel:
    """Add a channel with its service, name, cards, language and, if it hears of one only, job_id.

    Raises AddressRefused, WebhookUrlRefused, ChannelRefused.
    """
    company = Company.objects.select_for_update(no_key=True).get(id=company_id)
    theirs = ChatChannel.objects.filter(company_id=company_id)
    if company.is_test:
        raise ChannelRefused(_("Nothing leaves test mode. Add channels in live mode."))
    if theirs.count() >= MOST_CHANNELS:
        raise ChannelRefused(
            _("A company can have %(limit)d channels. Delete one that is not needed.")
            % {"limit": MOST_CHANNELS}
        )
    url = _new_address(company_id, address, ChatService(given["service"]))
    _check_job(company_id, given.get("job_id"))
    id_ = uuid7()
    sealed = {"address": SEAL.close(url, id_), "hint": masked(url)}
    row = ChatChannel.objects.create(id=id_, company_id=company_id, **sealed, **given)
    security.info("chat.added", extra=row.log_ids)
    activity.note(ADDED, company_id=company_id, by=by)
    return row


@transaction.atomic
def change(
    *, company_id: UUID, channel_id: UUID, changes: dict[str, Any], by: UUID | None = None
) -> ChatChannel:
    """Change some of address, service, name, cards, language, job_id and is_active.

    A channel that is switched on begins without its failures; when it is switched off, what waits
    for it fails. Raises ChannelNotFound, AddressRefused, WebhookUrlRefused, ChannelRefused.
    """
    row = lock(company_id, channel_id)
    changes = dict(changes)
    service = ChatService(changes.get("service", row.service))
    if address := changes.pop("address", ""):
        url = _new_address(company_id, address, service, own=row.id)
        changes |= {"address": SEAL.close(url, row.id), "hint": masked(url)}
    elif service != row.service:
        raise ChannelRefused(_("Enter the address at the other chat too."))
    _check_job(company_id, changes.get("job_id"))
    is_active = changes.pop("is_active", row.is_active)
    if changes:
        ChatChannel.objects.filter(id=row.id).update(**changes)
    if row.is_active and not is_active:
        _switch_off(row, OffReason.BY_HAND)
    elif is_active and not row.is_active:
        _fail_waiting(row)  # queued while it was being switched off
        on = {"off_reason": "", "off_at": None, "failures": 0, "free_at": Now()}
        ChatChannel.objects.filter(id=row.id).update(is_active=True, **on)
    row.refresh_from_db()
    security.info("chat.changed", extra=row.log_ids)
    activity.note(CHANGED, company_id=company_id, by=by)
    return row


@transaction.atomic
def delete(*, company_id: UUID, channel_id: UUID, by: UUID | None = None) -> None:
    """Delete a channel with its address and messages. Raises ChannelNotFound."""
    row = lock(company_id, channel_id)
    security.info("chat.deleted", extra=row.log_ids)
    activity.note(DELETED, company_id=company_id, by=by)
    row.delete()


def lock(company_id: UUID, channel_id: UUID) -> ChatChannel:
    """Lock a channel of a company. Raises ChannelNotFound."""
    theirs = ChatChannel.objects.filter(company_id=company_id, id=channel_id)
    found = theirs.select_for_update(no_key=True).first()
    if found is None:
        raise ChannelNotFound
    return found


@transaction.atomic
def switch_off(channel_id: UUID, reason: OffReason) -> ChatChannel | None:
    """Switch a channel off because of its chat's answers; None if it is off already."""
    rows = ChatChannel.objects.select_for_update(no_key=True)
    row = rows.filter(id=channel_id, is_active=True).first()
    if row is not None:
        _switch_off(row, reason)
        security.warning("chat.switched_off", extra=row.log_ids | {"reason": str(reason)})
    return row


def _switch_off(row: ChatChannel, reason: OffReason) -> None:
    ChatChannel.objects.filter(id=row.id).update(is_active=False, off_reason=reason, off_at=Now())
    _fail_waiting(row)


def _fail_waiting(row: ChatChannel) -> None:
    waiting = row.messages.filter(state=ChatMessage.State.PENDING)
    waiting.update(
        state=ChatMessage.State.FAILED,
        last_error=Failure.ENDPOINT_OFF,
        next_attempt_at=None,
        finished_at=Now(),
    )


def _new_address(
    company_id: UUID, address: str, service: ChatService, *, own: UUID | None = None
) -> str:
    """Check an address, which no other channel of the company may have: each keeps its own pace."""
    url = checked_address(address, service)
    theirs = ChatChannel.objects.filter(company_id=company_id)
    for other in theirs.exclude(id=own) if own else theirs:
        with suppress(SecretUnreadable):
            if SEAL.open(other.address, other.id) == url:
                raise ChannelRefused(
                    _("“%(name)s” has this address already. Make another webhook in the chat.")
                    % {"name": other.name}
                )
    return url


def _check_job(company_id: UUID, job_id: UUID | None) -> None:
    if job_id and not Job.objects.filter(id=job_id, company_id=company_id).exists():
        raise ChannelRefused(_("Choose one of your jobs."))


@transaction.atomic
def reencrypt_addresses() -> int:
    """Encrypt addresses again that an earlier SECRET_KEY has encrypted; return how many."""
    outdated = ChatChannel.objects.extra(
        where=["substr(address, 1, %s) <> %s"], params=[TAG_BYTES, SEAL.tag]
    )
    count = 0
    for row in outdated.select_for_update(no_key=True):
        with suppress(SecretUnreadable):
            anew = SEAL.close(SEAL.open(row.address, row.id), row.id)
            count += ChatChannel.objects.filter(id=row.id).update(address=anew)
    return count


def read_all(company_id: UUID) -> QuerySet[ChatChannel]:
    """Return the company's channels with their jobs, newest first."""
    rows = ChatChannel.objects.filter(company_id=company_id)
    return rows.select_related("job__posting").order_by("-id")


def read(company_id: UUID, channel_id: UUID) -> ChatChannel:
    """Return a channel of the company. Raises ChannelNotFound."""
    found = read_all(company_id).filter(id=channel_id).first()
    if found is None:
        raise ChannelNotFound
    return found


def read_messages(channel: ChatChannel) -> list[ChatMessage]:
    """Return the last messages to a channel, newest first."""
    return list(channel.messages.order_by("-id")[:MOST_SHOWN])


def read_job_titles(company_id: UUID, *, also: UUID | None) -> list[tuple[UUID, str]]:
    """Return the company's jobs that a channel can be for: not closed, or the one that it has."""
    jobs = Job.objects.filter(Q(id=also) | ~Q(status=JobStatus.CLOSED), company_id=company_id)
    return list(jobs.order_by("-id").values_list("id", "posting__title")[:MOST_JOBS])
