"""Runs of deliveries: one process sends to many endpoints at once, and records in batches.

Crash-safe: a delivery whose attempt is not recorded is sent again, under the same `webhook-id`. A
run that dies loses its leases after a minute.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from uuid_utils.compat import uuid7

from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.models.webhooks import webhook_model_message_id
from pipeline.outgoing.client import Answer, Failure, Outgoing, WebhookClient
from pipeline.webhooks import sql
from pipeline.webhooks.endpoints import (
    SecretUnreadable,
    decrypt_webhook_signing_secret,
    switch_off_webhook_endpoint,
    webhook_signatures,
)
from pipeline.webhooks.queue import wake_webhook_queue
from tasks.advisory_locks import WEBHOOK_RUN_ENDS
from tasks.json import as_json
from tasks.sql.prepared import PreparedStatement, prepared_row

log = logging.getLogger(__name__)


# Endpoints that a run has leased, with the requests under way to each; times of repetitions. A lane
# begins slowly, and sends more at once while the receiver answers. When attempt after attempt
# fails, the endpoint rests, and then one delivery is tried. So a hanging endpoint takes up hardly
# any capacity, and its own deliveries do not use up their attempts in one outage.


# Seconds between attempts, as Standard Webhooks advises: ten attempts in three days.
DELAYS_SECONDS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
MOST_ATTEMPTS = len(DELAYS_SECONDS) + 1
JITTER = 0.1  # of the delay, so that what failed together is not repeated together

MOST_AT_ONCE, FIRST_AT_ONCE = 10, 2  # requests under way to one endpoint
REST_AFTER = 5  # failed attempts in a row
FIRST_REST_SECONDS, LONGEST_REST_SECONDS = 5.0, 300.0
LONGEST_ASKED_SECONDS = 3_600  # of the pauses that a receiver asks for
LARGEST_BATCH = 50  # deliveries read at one time

State = WebhookDelivery.State


@dataclass(frozen=True, slots=True)
class Waiting:
    """Delivery that a lane has read."""

    id: UUID
    body: str
    attempts: int
    earlier_attempts: int
    round_started_at: datetime


@dataclass(slots=True)
class Lane:
    """Endpoint that this run has leased.

    `held`: deliveries that were read and are not recorded yet.
    """

    id: UUID
    company_id: UUID
    url: str
    is_active: bool
    secret: bytes
    failures: int
    last_success_at: datetime | None
    old_secret: bytes | None
    at_once: int = FIRST_AT_ONCE
    under_way: int = 0
    has_more: bool = True
    has_succeeded: bool = False  # in this run
    is_success_unwritten: bool = False
    asked_until: float = 0.0  # by a receiver's Retry-After; on this process's clock
    waiting: deque[Waiting] = field(default_factory=deque)
    held: dict[UUID, Waiting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.rests:
            self.at_once = 1

    @property
    def rests(self) -> bool:
        """Tell whether only one delivery at a time is tried, after a rest."""
        return self.failures >= REST_AFTER

    @property
    def rest_seconds(self) -> float | None:
        """Return how long the endpoint rests now; None if it does not."""
        asked = self.asked_until - time.monotonic()
        if not self.rests:
            return asked if asked > 0 else None
        doublings = min(self.failures - REST_AFTER, 20)
        return max(asked, min(LONGEST_REST_SECONDS, FIRST_REST_SECONDS * 2.0**doublings))

    @property
    def room(self) -> int:
        """Count the requests that can be sent now."""
        return self.at_once - self.under_way

    @property
    def is_done(self) -> bool:
        """Tell whether to give the endpoint back: no request is under way, and nothing is left."""
        return not self.held and not self.has_more

    def count_attempt(self, failure: Failure | None) -> None:
        """Count an attempt, and then send more or fewer at once."""
        if failure is None:
            self.failures = 0
            self.has_succeeded = self.is_success_unwritten = True
            self.at_once = min(MOST_AT_ONCE, self.at_once * 2)
            return
        self.failures += 1
        self.at_once = max(1, self.at_once // 2)
        if self.rests:
            self.stop()

    def pause(self, seconds: float) -> None:
        """Send nothing more, and let the endpoint rest for that long, as its receiver asked."""
        self.asked_until = max(self.asked_until, time.monotonic() + seconds)
        self.stop()

    def stop(self) -> None:
        """Send nothing more; deliveries that were read and not sent stay for the next run."""
        self.has_more = False
        for each in self.waiting:
            del self.held[each.id]
        self.waiting.clear()

    def health(self) -> dict[str, Any]:
        """Return what to record about the endpoint."""
        succeeded, self.is_success_unwritten = self.is_success_unwritten, False
        return {
            "id": self.id,
            "failures": self.failures,
            "succeeded": succeeded,
            "rest_seconds": self.rest_seconds,
        }


class LaneShares:
    """Requests under way of each company in a run, and which company may send another.

    No company has more than its share of `most`. `kept` more are for companies that have fewer than
    FIRST_AT_ONCE, once all of those are under way.
    """

    def __init__(self, lanes: Iterable[Lane], *, most: int, kept: int) -> None:
        self._of_company = Counter[UUID]()
        for lane in lanes:
            self._of_company[lane.company_id] += lane.under_way
        self._most, self._kept = most, kept
        self._under_way = self._of_company.total()
        self._share = most // (len(self._of_company) + 1)  # one is left for who comes next

    def may_send(self, company_id: UUID) -> bool:
        """Tell whether a company may send another request now."""
        share = self._share if self._under_way < self._most else FIRST_AT_ONCE
        is_full = self._under_way >= self._most + self._kept
        return not is_full and self._of_company[company_id] < share

    def count_request(self, company_id: UUID) -> None:
        """Count a request that was sent."""
        self._of_company[company_id] += 1
        self._under_way += 1


def lane_delay_after_attempt(attempts: int) -> float | None:
    """Return the seconds from a round's n-th attempt to its next one; None after the last."""
    if attempts >= MOST_ATTEMPTS:
        return None
    return DELAYS_SECONDS[attempts - 1] * (1 + random.random() * JITTER)  # noqa: S311  no secret


def seconds_asked_by_receiver(answer: Answer) -> float:
    """Return the pause that a receiver asks for in a Retry-After of 429 or 503; 0 if for none.

    Either a number of seconds or a date; at most LONGEST_ASKED_SECONDS.
    """
    text = answer.headers.get("retry-after", "").strip()
    if answer.status not in (429, 503) or not text:
        return 0.0
    if re.fullmatch(r"[0-9]{1,20}", text):
        return float(min(int(text), LONGEST_ASKED_SECONDS))
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(0.0, (at - datetime.now(UTC)).total_seconds()), LONGEST_ASKED_SECONDS)


def lane_attempt_row(
    lane: Lane, waiting: Waiting, answer: Answer, *, asked_seconds: float = 0.0
) -> dict[str, Any]:
    """Describe how an attempt ended, and how the delivery continues, not before it is asked to."""
    number = waiting.attempts + 1
    delay = lane_delay_after_attempt(number - waiting.earlier_attempts)
    delay = delay and max(delay, asked_seconds)
    state = State.PENDING if delay else State.FAILED
    if answer.failure is None:
        state = State.DELIVERED
    elif answer.failure is Failure.GONE:
        state = State.FAILED
    return {
        "id": waiting.id,
        "endpoint_id": lane.id,
        "number": number,
        "duration_ms": answer.duration_ms,
        "state": state,
        "delay_seconds": delay if state == State.PENDING else None,
        "error": answer.failure or "",
        "detail": answer.detail[:200].replace("\0", ""),
        "status": answer.status,
        "response_headers": answer.headers if answer.status else None,
        "response_body": answer.body,
    }


def lane_reason_to_switch_off(
    lane: Lane, waiting: Waiting, answer: Answer, state: str
) -> WebhookEndpoint.OffReason | None:
    """Return why the endpoint must be switched off, if it must.

    It must after a last attempt that failed, unless something has arrived since that delivery's
    first attempt: then the receiver refuses only this one.
    """
    if answer.failure is Failure.GONE:
        return WebhookEndpoint.OffReason.GONE
    arrived = lane.has_succeeded or (
        lane.last_success_at is not None and lane.last_success_at >= waiting.round_started_at
    )
    return WebhookEndpoint.OffReason.FAILING if state == State.FAILED and not arrived else None


# Overtime of runs: while one waits for its last answers, the other serves further endpoints.
# Otherwise two runs that began together would end together, and nothing new would be sent for as
# long as receivers hang.


LONGEST_OVERTIME_SECONDS = 30.0


class OvertimeTurn:
    """Turn of a run to end. A context manager; leaving it gives the turn back."""

    def __init__(self) -> None:
        self._is_mine = False

    def may_end(self, overtime_seconds: float) -> bool:
        """Tell whether a run that is over its time may end now."""
        if overtime_seconds < 0:
            return False
        if not self._is_mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_lock(%s)", [WEBHOOK_RUN_ENDS])
                (self._is_mine,) = cursor.fetchone()
        return self._is_mine or overtime_seconds > LONGEST_OVERTIME_SECONDS

    def __enter__(self) -> OvertimeTurn:
        return self

    def __exit__(self, *_: object) -> None:
        # If the connection was lost, the lock is gone too, and the run itself has done its work.
        if self._is_mine:
            with suppress(DatabaseError), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [WEBHOOK_RUN_ENDS])


RUN_SECONDS = 60.0
MOST_LANES, MOST_UNDER_WAY = 200, 400
# In addition: a lane for each company that has none, and a few requests for each that has few.
KEPT_LANES, KEPT_UNDER_WAY = 100, 200
REACH = 1_000  # due endpoints among which those of other companies are looked for
RENEW_SECONDS = sql.LEASE_SECONDS / 4
LOOK_SECONDS = 0.05  # between looks for endpoints that have become due
WRITE_SECONDS, MOST_UNWRITTEN = 0.05, 100
GRACE_SECONDS = 3.0  # for answers under way when the task is cancelled or the worker ends
FAILED_AT_ONCE = 5_000
USER_AGENT = "NextInLine-Webhooks/1.0"

_LEASE, _RENEW = PreparedStatement(sql.LEASE, Lane), PreparedStatement(sql.RENEW, Lane)
_LEASE_OTHERS = PreparedStatement(sql.LEASE_OTHERS, Lane)
_READ_DUE, _READ_OLDEST = (
    PreparedStatement(sql.READ_DUE, Waiting),
    PreparedStatement(sql.READ_OLDEST, Waiting),
)
_RECORD, _LOCK_LEASED = (
    PreparedStatement(sql.RECORD, prepared_row),
    PreparedStatement(sql.LOCK_LEASED, prepared_row),
)
_RELEASE, _NEXT_DUE = (
    PreparedStatement(sql.RELEASE, prepared_row),
    PreparedStatement(sql.NEXT_DUE, prepared_row),
)
_FAIL_WAITING = PreparedStatement(sql.FAIL_WAITING, prepared_row)


class DeliveryRun:
    """One run: leases endpoints, sends their due deliveries, and gives them back."""

    def __init__(self, client: WebhookClient, *, is_cancelled: Callable[[], bool]) -> None:
        self._client = client
        self._is_cancelled = is_cancelled
        self._id = uuid7()
        self._lanes: dict[UUID, Lane] = {}
        self._sent: dict[UUID, tuple[dict[str, str], datetime]] = {}
        self._unwritten: list[dict[str, Any]] = []
        self._ends: dict[UUID, WebhookEndpoint.OffReason] = {}
        self._write_at = 0.0
        self._renew_at = time.monotonic() + RENEW_SECONDS
        self.attempts = 0
        self.delivered = 0

    def run_until_nothing_is_due(self, seconds: float, turn: OvertimeTurn) -> None:
        """Deliver until nothing is due or the time is over; then wait for requests under way."""
        until, look_at = time.monotonic() + seconds, 0.0
        while not turn.may_end((now := time.monotonic()) - until) and not self._is_cancelled():
            self._renew(now)
            if now >= look_at or not self._lanes:
                self._lease()
                look_at = now + LOOK_SECONDS
            if not self._lanes:
                return
            self._send()
            self._take(self._client.answers(LOOK_SECONDS if self._under_way else 0))
            is_full = len(self._unwritten) >= MOST_UNWRITTEN
            if now >= self._write_at or is_full or not self._under_way:
                self._write(now)
            self._give_back([lane for lane in self._lanes.values() if lane.is_done])
        for lane in self._lanes.values():
            lane.stop()
        self._finish()

    @property
    def _under_way(self) -> int:
        return sum(lane.under_way for lane in self._lanes.values())

    def _finish(self) -> None:
        """Wait for the answers under way, not for long if the task was cancelled."""
        cancelled_at: float | None = None
        while self._under_way:
            now = time.monotonic()
            if self._is_cancelled():
                cancelled_at = cancelled_at or now
                if now - cancelled_at > GRACE_SECONDS:
                    break
            self._renew(now)
            self._take(self._client.answers(LOOK_SECONDS))
        self._write(0.0)
        self._give_back(list(self._lanes.values()))

    def _lease(self) -> None:
        """Lease due endpoints; once the lanes are taken, one of each company that has none here.

        So the slow endpoints of some companies do not keep out the others.
        """
        room, found = MOST_LANES - len(self._lanes), []
        if room > 0:
            found = _LEASE.all(run=self._id, most=min(room, MOST_UNDER_WAY))
        elif (kept := room + KEPT_LANES) > 0:
            present = list({lane.company_id for lane in self._lanes.values()})
            found = _LEASE_OTHERS.all(run=self._id, most=kept, reach=REACH, present=present)
        self._lanes |= {lane.id: lane for lane in found}

    def _renew(self, now: float) -> None:
        """Keep the leases; forget endpoints that another run has, and note changes to the rest."""
        if now < self._renew_at:
            return
        self._renew_at = now + RENEW_SECONDS
        fresh = {lane.id: lane for lane in _RENEW.all(endpoints=list(self._lanes), run=self._id)}
        for lane in list(self._lanes.values()):
            if lane.id not in fresh:
                self._forget(lane.id)
                continue
            seen = fresh[lane.id]
            lane.url, lane.is_active = seen.url, seen.is_active
            lane.secret, lane.old_secret = seen.secret, seen.old_secret

    def _forget(self, endpoint_id: UUID) -> None:
        """Send nothing more to an endpoint that was deleted, or that another run has."""
        log.warning("the lease of webhook endpoint %s is lost", endpoint_id)
        del self._lanes[endpoint_id]

    def _send(self) -> None:
        """Send what the lanes and companies' shares allow; a few requests are reserved for each."""
        shares = LaneShares(self._lanes.values(), most=MOST_UNDER_WAY, kept=KEPT_UNDER_WAY)
        for lane in list(self._lanes.values()):
            if not lane.is_active:
                self._fail_waiting(lane)
                continue
            if lane.has_more and len(lane.waiting) < lane.room:
                most = 1 if lane.rests else LARGEST_BATCH
                statement = _READ_OLDEST if lane.rests else _READ_DUE
                held = list(lane.held)
                found = statement.all(endpoint=lane.id, run=self._id, held=held, most=most)
                lane.has_more = len(found) == LARGEST_BATCH
                lane.waiting.extend(found)
                lane.held |= {each.id: each for each in found}
            requests = []
            while lane.waiting and lane.room > 0 and shares.may_send(lane.company_id):
                waiting = lane.waiting.popleft()
                if request := self._request(lane, waiting):
                    requests.append(request)
                    lane.under_way += 1
                    shares.count_request(lane.company_id)
            if requests:
                self._client.send(requests)
                self._lanes[lane.id] = self._lanes.pop(lane.id)  # the others go first next time

    def _request(self, lane: Lane, waiting: Waiting) -> Outgoing | None:
        """Sign a delivery; if its secret cannot be read, it fails unsent."""
        name, body = webhook_model_message_id(waiting.id), waiting.body.encode()
        now = datetime.now(UTC)
        headers = {
            "content-type": "application/json",
            "user-agent": USER_AGENT,
            "webhook-id": name,
            "webhook-timestamp": str(int(now.timestamp())),
        }
        self._sent[waiting.id] = headers, now
        try:
            keys = [decrypt_webhook_signing_secret(lane.secret, lane.id)]
        except SecretUnreadable:
            lane.under_way += 1
            self._take([Answer(waiting.id, lane.id, failure=Failure.SECRET_UNREADABLE)])
            return None
        if lane.old_secret is not None:
            with suppress(SecretUnreadable):  # the present one signs
                keys.append(decrypt_webhook_signing_secret(lane.old_secret, lane.id))
        signature = webhook_signatures(name, int(now.timestamp()), body, keys)
        signed = headers | {"webhook-signature": signature}
        return Outgoing(waiting.id, lane.company_id, lane.id, lane.url, signed, body)

    def _take(self, answers: Iterable[Answer]) -> None:
        """Note how attempts ended, for endpoints that this run still has; `_write` records it."""
        for answer in answers:
            headers, began = self._sent.pop(answer.key, ({}, None))
            lane = self._lanes.get(answer.endpoint_id)
            if lane is None or began is None or answer.key not in lane.held:
                continue
            waiting = lane.held[answer.key]
            lane.under_way -= 1
            if answer.is_unsent:
                del lane.held[answer.key]
                lane.stop()
                continue
            lane.count_attempt(answer.failure)
            asked_seconds = seconds_asked_by_receiver(answer)
            if asked_seconds:
                lane.pause(asked_seconds)
            row = lane_attempt_row(lane, waiting, answer, asked_seconds=asked_seconds) | {
                "at": began,
                "request_headers": headers,
            }
            if reason := lane_reason_to_switch_off(lane, waiting, answer, row["state"]):
                self._ends[lane.id] = reason
            self._unwritten.append(row)
            self.attempts += 1
            self.delivered += answer.failure is None

    def _write(self, now: float) -> None:
        """Record attempts, many in one statement, and switch off endpoints where due."""
        rows, self._unwritten, self._write_at = self._unwritten, [], now + WRITE_SECONDS
        if not rows:
            return
        lanes = [
            self._lanes[key] for key in {row["endpoint_id"] for row in rows} & set(self._lanes)
        ]
        health = [lane.health() for lane in lanes]
        ours = _RECORD.all(run=self._id, attempts=as_json(rows), health=as_json(health))
        for lost in {lane.id for lane in lanes} - {key for (key,) in ours}:
            self._forget(lost)
        for row in rows:
            if lane := self._lanes.get(row["endpoint_id"]):
                lane.held.pop(row["id"], None)
        for endpoint_id, reason in self._ends.items():
            if endpoint_id in self._lanes:
                self._lanes[endpoint_id].is_active = False
                switch_off_webhook_endpoint(endpoint_id, reason)
        self._ends.clear()

    def _fail_waiting(self, lane: Lane) -> None:
        """End the waiting deliveries of an endpoint that is off, once no request is under way."""
        lane.stop()
        if not lane.held:
            with transaction.atomic():
                if _LOCK_LEASED.all(endpoint=lane.id, run=self._id):
                    _FAIL_WAITING.all(endpoint=lane.id, most=FAILED_AT_ONCE)
            left = WebhookDelivery.objects.filter(endpoint_id=lane.id, state=State.PENDING)
            lane.has_more = left.exists()

    def _give_back(self, lanes: list[Lane]) -> None:
        for lane in lanes:
            del self._lanes[lane.id]
            self._client.close_pool(lane.id)
            with transaction.atomic():
                if _LOCK_LEASED.all(endpoint=lane.id, run=self._id):
                    _RELEASE.all(endpoint=lane.id)


def deliver_due_webhooks(
    *, seconds: float = RUN_SECONDS, is_cancelled: Callable[[], bool] = lambda: False
) -> dict[str, int]:
    """Send due deliveries for at most that time, and leave later ones to a task.

    Returns how many attempts were made, and how many of them succeeded.
    """
    with WebhookClient() as client, OvertimeTurn() as turn:
        run = DeliveryRun(client, is_cancelled=is_cancelled)
        run.run_until_nothing_is_due(seconds, turn)
    [[next_due]] = _NEXT_DUE.all()
    if next_due is not None:
        wake_webhook_queue(next_due)
    return {"attempts": run.attempts, "delivered": run.delivered}
