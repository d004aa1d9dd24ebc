"""Outbox of messages: written with what they are about, and sent by tasks.

A message is a row, and a task that sends what is due is started in the same transaction: neither
is lost when a process dies.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from uuid_utils.compat import uuid7

from pipeline.chat import channels
from pipeline.models import ChatCard, ChatChannel, ChatMessage
from tasks.enqueue import enqueue
from tasks.models import Status, Task

DELIVER = "chat.deliver"


def post(
    card: ChatCard,
    *,
    company_id: UUID,
    about: dict[str, Any],
    source: str,
    job_id: UUID | None = None,
) -> int:
    """Queue a message to each channel of the company that wants the card; return how many.

    A channel of one job gets only what is about that job. `about`: ids, codes and numbers, from
    which the words are made; `source` names the cause, so that a repetition queues nothing. Part
    of the caller's transaction.
    """
    wanting = ChatChannel.objects.filter(
        Q(job=None) | Q(job_id=job_id) if job_id else Q(job=None),
        company_id=company_id,
        is_active=True,
        cards__contains=[card],
    )
    return _queue(wanting.values_list("id", flat=True), card, about, source)


@transaction.atomic
def post_test(*, company_id: UUID, channel_id: UUID) -> None:
    """Queue a test to a channel. Raises ChannelNotFound, ChannelRefused if it is off."""
    row = channels.lock(company_id, channel_id)
    if not row.is_active:
        raise channels.ChannelRefused(_("This channel is off. Switch it on first."))
    _queue([row.id], ChatCard.TEST, {}, f"test:{uuid7()}")


def _queue(channel_ids: Iterable[UUID], card: ChatCard, about: dict[str, Any], source: str) -> int:
    ids = list(channel_ids)
    if not ids:
        return 0
    before = ChatMessage.objects.filter(channel_id__in=ids, source=source)
    known = set(before.values_list("channel_id", flat=True))
    rows = [
        ChatMessage(channel_id=each, card=card, about=about, source=source)
        for each in ids
        if each not in known
    ]
    ChatMessage.objects.bulk_create(rows, ignore_conflicts=True)
    if rows:
        # In this transaction: a task that is waiting may have begun to read before it ends.
        enqueue(DELIVER)
    return len(rows)


def wake(at: datetime) -> None:
    """Start a task that sends what is due at a time, unless one waits already until before it."""
    due = at + timedelta(milliseconds=1)  # a task keeps milliseconds: not a moment too early
    waiting = Task.objects.filter(type__key=DELIVER, status=Status.PENDING, parked=False)
    if not waiting.filter(run_after__lte=due).exists():
        enqueue(DELIVER, run_after=due)
