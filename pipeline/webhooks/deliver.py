"""Runs of deliveries: one process sends to many endpoints at once, and records in batches.

Crash-safe: a delivery whose attempt is not recorded is sent again, under the same `webhook-id`. A
run that dies loses its leases after a minute.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from uuid_utils.compat import uuid7

from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.models.webhooks import webhook_model_message_id
from pipeline.webhooks import sql
from pipeline.webhooks.client import Answer, Failure, Outgoing, WebhookClient
from pipeline.webhooks.endpoints import switch_off_webhook_endpoint
from pipeline.webhooks.lanes import (
    LARGEST_BATCH,
    Lane,
    LaneShares,
    Waiting,
    lane_attempt_row,
    lane_reason_to_switch_off,
    seconds_asked_by_receiver,
)
from pipeline.webhooks.overtime import OvertimeTurn
from pipeline.webhooks.queue import wake_webhook_queue
from pipeline.webhooks.signing import (
    SecretUnreadable,
    decrypt_webhook_signing_secret,
    webhook_signatures,
)
from tasks.json import as_json
from tasks.sql.prepared import PreparedStatement, prepared_row

log = logging.getLogger(__name__)

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

State = WebhookDelivery.State
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
