"""Runs that post what is due: to each channel one message at a time, and at most one a second.

A run takes a channel by making it busy until after the longest post, in one statement. So two runs
never post to one channel at once, and a run that dies leaves its message to the next one: a message
whose post is not recorded is posted again.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import translation

from pipeline.chat.addresses import is_allowed
from pipeline.chat.cards import Card, body_of
from pipeline.chat.channels import SEAL, OffReason, switch_off
from pipeline.chat.queue import wake
from pipeline.database import instants
from pipeline.models import ChatChannel, ChatMessage, ChatService
from pipeline.outgoing.client import Answer, Failure, Outgoing, WebhookClient
from pipeline.outgoing.retries import DELAYS_SECONDS, delay_after_attempt, requested_pause
from pipeline.outgoing.sealed import SecretUnreadable
from tasks.json import as_json
from tasks.sql.prepared import PreparedStatement

log = logging.getLogger(__name__)

USER_AGENT = "NextInLine-Chat/1.0"
POST_SECONDS = 10.0
BUSY_SECONDS = 30  # longer than a post, and than recording its answer
RUN_SECONDS = 50.0
MOST_UNDER_WAY, MOST_OF_COMPANY = 50, 5
LOOK_SECONDS = 0.1
# Slack takes one message a second from an incoming webhook, Teams four.
PACE_SECONDS = 1.0
State = ChatMessage.State


class Claimed(NamedTuple):
    """Channel that this run may post one message to."""

    channel_id: UUID
    company_id: UUID
    message_id: UUID | None


# Take the next messages that are due, of channels that can be posted to now: one of each.
_CLAIM = PreparedStatement(
    """
UPDATE pipeline_chatchannel c
SET free_at = statement_timestamp() + %(busy)s * interval '1 second'
WHERE c.id = ANY(ARRAY(
    SELECT id FROM pipeline_chatchannel
    WHERE is_active AND free_at <= statement_timestamp() AND company_id <> ALL(%(full)s)
      AND EXISTS (SELECT FROM pipeline_chatmessage m
                  WHERE m.channel_id = pipeline_chatchannel.id AND m.state = 'PENDING'
                    AND m.next_attempt_at <= statement_timestamp())
    ORDER BY free_at LIMIT %(most)s FOR NO KEY UPDATE SKIP LOCKED))
RETURNING c.id, c.company_id, (
    SELECT m.id FROM pipeline_chatmessage m
    WHERE m.channel_id = c.id AND m.state = 'PENDING'
      AND m.next_attempt_at <= statement_timestamp()
    ORDER BY m.id LIMIT 1)
""",
    Claimed,
)

NEXT_DUE = PreparedStatement("""
SELECT min(greatest(m.next_attempt_at, c.free_at)) FROM pipeline_chatmessage m
JOIN pipeline_chatchannel c ON c.id = m.channel_id
WHERE m.state = 'PENDING' AND c.is_active
""")

Compose = Callable[[ChatMessage], Card | None]
TellOff = Callable[[ChatChannel], object]


@dataclass(slots=True)
class Run:
    """One run; `compose` makes a message's words, `tell_off` tells that a channel is off."""

    client: WebhookClient
    compose: Compose
    tell_off: TellOff
    under_way: dict[UUID, ChatMessage]
    sent: int = 0

    def look(self) -> int:
        """Take what is due, and post it; return how much was taken."""
        most = max(0, min(MOST_UNDER_WAY - len(self.under_way), MOST_OF_COMPANY))
        claimed = _CLAIM.all(most=most, full=self._full_companies(), busy=float(BUSY_SECONDS))
        ids = [each.message_id for each in claimed if each.message_id]
        rows = ChatMessage.objects.select_related("channel__company", "channel__job__posting")
        for message in rows.filter(id__in=ids):
            self._post(message)
        for each in claimed:
            if each.message_id is None:  # another run has just posted it
                _free(each.channel_id, 0.0)
        return len(claimed)

    def _full_companies(self) -> list[UUID]:
        of = [each.channel.company_id for each in self.under_way.values()]
        return [each for each in set(of) if of.count(each) >= MOST_OF_COMPANY]

    def _post(self, message: ChatMessage) -> None:
        channel = message.channel
        try:
            url = SEAL.open(channel.address, channel.id)
        except SecretUnreadable:
            self._record(message, Answer(message.id, channel.id, failure=Failure.SECRET_UNREADABLE))
            return
        if not is_allowed(urlsplit(url).hostname or ""):  # the setting has changed
            self._record(message, Answer(message.id, channel.id, failure=Failure.ADDRESS_REFUSED))
            return
        try:
            with translation.override(channel.language):
                card = self.compose(message)
        except Exception:  # of one message: the others are sent
            log.exception("the words of chat message %s cannot be made", message.id)
            self._write(message, Answer(message.id, channel.id), _unmade(message))
            return
        if card is None:
            self._end(message, State.OVER)
            _free(channel.id, 0.0)
            return
        body = as_json(body_of(card, ChatService(channel.service))).encode()
        headers = {"content-type": "application/json", "user-agent": USER_AGENT}
        self.under_way[message.id] = message
        self.client.send([Outgoing(message.id, channel.company_id, channel.id, url, headers, body)])

    def take(self, seconds: float) -> None:
        """Record the answers that have come."""
        for answer in self.client.answers(seconds):
            if (message := self.under_way.pop(answer.key, None)) is not None:
                self._record(message, answer)

    def _record(self, message: ChatMessage, answer: Answer) -> None:
        """Record an answer: the message's fate, and when its channel can be posted to again."""
        channel = message.channel
        if answer.is_unsent:
            _free(channel.id, PACE_SECONDS)
            return
        age = (instants.now() - message.created_at).total_seconds()
        outcome = judge(answer, ChatService(channel.service), message.attempts + 1, age)
        self._write(message, answer, outcome)

    def _write(self, message: ChatMessage, answer: Answer, outcome: Outcome) -> None:
        with transaction.atomic():
            channels = ChatChannel.objects.filter(id=message.channel_id)
            if outcome.state == State.SENT:
                channels.update(failures=0, last_success_at=Now())
            elif outcome.is_counted:
                channels.update(failures=F("failures") + 1)
            message.attempts += outcome.is_counted
            facts = {"last_status": answer.status, "last_error": outcome.failure or ""}
            if outcome.state == State.PENDING:
                waiting = ChatMessage.objects.filter(id=message.id, state=State.PENDING)
                at = _seconds_from_now(outcome.delay_seconds)
                waiting.update(attempts=message.attempts, next_attempt_at=at, **facts)
            else:
                self._end(message, outcome.state, **facts)
            _free(message.channel_id, max(PACE_SECONDS, outcome.pause_seconds))
            if outcome.off is not None and (row := _switched_off(message, outcome.off)):
                self.tell_off(row)
        self.sent += outcome.state == State.SENT

    @staticmethod
    def _end(message: ChatMessage, state: ChatMessage.State, **facts: object) -> None:
        ChatMessage.objects.filter(id=message.id, state=State.PENDING).update(
            state=state,
            attempts=message.attempts,
            next_attempt_at=None,
            finished_at=Now(),
            **facts,
        )


def _free(channel_id: UUID, seconds: float) -> None:
    ChatChannel.objects.filter(id=channel_id).update(free_at=_seconds_from_now(seconds))


def _seconds_from_now(seconds: float) -> datetime:
    return instants.now() + timedelta(seconds=seconds)


def _switched_off(message: ChatMessage, reason: OffReason) -> ChatChannel | None:
    """Switch the channel off, unless something has arrived since the message was queued."""
    rows = ChatChannel.objects.filter(id=message.channel_id)
    arrived = rows.filter(last_success_at__gte=message.created_at).exists()
    if reason is OffReason.FAILING and arrived:
        return None
    return switch_off(message.channel_id, reason)


# Answers of the chats. Pure.


@dataclass(frozen=True, slots=True)
class Outcome:
    """Fate of a message after an attempt, and what it means for its channel."""

    state: ChatMessage.State
    failure: Failure | None = None
    delay_seconds: float = 0.0
    pause_seconds: float = 0.0
    off: OffReason | None = None
    is_counted: bool = True


# By these the chats say that the address will never work again.
_GONE_STATUS = (404, 410)
_GONE_WORDS = re.compile(
    r"\A(no_service|no_service_id|no_team|team_disabled|invalid_token|channel_not_found"
    r"|channel_is_archived)\s*\Z"
)
# The connectors of Teams answer 200 when Teams itself refuses, and say so in the text.
_TEAMS_REFUSAL = re.compile(r"returned HTTP error (\d{3})")
_USUAL_PAUSE = 30.0  # when a chat says that there are too many, and not for how long


def judge(answer: Answer, service: ChatService, attempt: int, age_seconds: float) -> Outcome:
    """Decide what the answer to a message's n-th attempt means, so long after it was queued.

    An attempt that the chat refused for its pace does not count: the message comes again after the
    pause, for as long as other messages are tried.
    """
    status, failure = answer.status or 0, answer.failure
    refusal = _TEAMS_REFUSAL.search(answer.body) if service == ChatService.TEAMS else None
    if failure is None and refusal:
        status, failure = int(refusal[1]), Failure.STATUS
    if failure is None:
        return Outcome(State.SENT)
    if status in _GONE_STATUS or (status >= 400 and _GONE_WORDS.match(answer.body)):
        return Outcome(State.FAILED, Failure.GONE, off=OffReason.GONE)
    if status in (400, 413):  # this message is refused, and would be each time
        return Outcome(State.FAILED, failure)
    pause = requested_pause(answer) or (_USUAL_PAUSE if status == 429 else 0.0)
    if status == 429 and age_seconds < sum(DELAYS_SECONDS):
        return Outcome(State.PENDING, failure, pause, pause, is_counted=False)
    delay = delay_after_attempt(attempt)
    if delay is None:
        return Outcome(State.FAILED, failure, pause_seconds=pause, off=OffReason.FAILING)
    return Outcome(State.PENDING, failure, max(delay, pause), pause)


def _unmade(message: ChatMessage) -> Outcome:
    """Return the fate of a message whose words cannot be made now."""
    delay = delay_after_attempt(message.attempts + 1)
    return Outcome(State.PENDING if delay else State.FAILED, delay_seconds=delay or 0.0)


def deliver_due(
    compose: Compose,
    tell_off: TellOff,
    *,
    seconds: float = RUN_SECONDS,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> int:
    """Post what is due for at most that time; leave the rest to a task. Return how many arrived."""
    until = time.monotonic() + seconds
    with WebhookClient(timeout_seconds=POST_SECONDS) as client:
        run = Run(client, compose, tell_off, {})
        while time.monotonic() < until and not is_cancelled():
            taken = run.look()
            run.take(LOOK_SECONDS if run.under_way else 0.0)
            if not taken and not run.under_way and not _is_due_soon():
                break
            if not run.under_way:
                time.sleep(LOOK_SECONDS)
        ends_at = time.monotonic() + POST_SECONDS + 1
        while run.under_way and time.monotonic() < ends_at and not is_cancelled():
            run.take(LOOK_SECONDS)
    if (due := _next_due()) is not None:
        wake(due)
    return run.sent


def _next_due() -> datetime | None:
    [[due]] = NEXT_DUE.all()
    found: datetime | None = due
    return found


def _is_due_soon() -> bool:
    """Tell whether something is due within the pace of a channel, for which a run waits."""
    due = _next_due()
    return due is not None and due <= _seconds_from_now(PACE_SECONDS)
