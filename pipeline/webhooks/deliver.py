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

from django.db import DatabaseError, connection, transaction
from uuid_utils.compat import uuid7

from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.models.webhooks import build_message_id
from pipeline.outgoing.client import Answer, Failure, Outgoing, WebhookClient
from pipeline.outgoing.retries import requested_pause
from pipeline.outgoing.sealed import SecretUnreadable
from pipeline.webhooks import endpoints, queue
from pipeline.webhooks.endpoints import SEAL, sign_delivery
from pipeline.webhooks.lanes import LARGEST_BATCH, Lane, LaneShares, State, Waiting
from tasks.advisory_locks import WEBHOOK_RUN_ENDS
from tasks.json import as_json
from tasks.sql.prepared import PreparedStatement

log = logging.getLogger(__name__)


# Overtime of runs: while one waits for its last answers, the other serves further endpoints.
# Otherwise two runs that began together would end together, and nothing new would be sent for as
# long as receivers hang.


LONGEST_OVERTIME_SECONDS = 30.0


class OvertimeLock:
    """Lock of the run that may end. A context manager; leaving it releases the lock."""

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

    def __enter__(self) -> OvertimeLock:
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
LEASE_SECONDS = 60
RENEW_SECONDS = LEASE_SECONDS / 4
LOOK_SECONDS = 0.05  # between looks for endpoints that have become due
WRITE_SECONDS, MOST_UNWRITTEN = 0.05, 100
GRACE_SECONDS = 3.0  # for answers under way when the task is cancelled or the worker ends
FAILED_AT_ONCE = 5_000
USER_AGENT = "NextInLine-Webhooks/1.0"

# Time is the database's everywhere. Runs share the work by endpoint: only the holder of its lease
# reads and records deliveries to it. A statement that depends on the lease names it, and does
# nothing once it is lost.

_IS_LEASED = (
    "EXISTS (SELECT FROM pipeline_webhookendpoint WHERE id = %(endpoint)s AND lease = %(run)s)"
)

# The locked ids are an array, which is made once. As the inner side of a nested loop they would be
# read again for each endpoint, and pass over those already taken: more than `most` would be leased.
_TAKE = f"""
{{which}}
UPDATE pipeline_webhookendpoint e
SET lease = %(run)s, leased_until = statement_timestamp() + interval '{LEASE_SECONDS} seconds'
WHERE e.id = ANY(ARRAY(
    SELECT id FROM pipeline_webhookendpoint
    WHERE next_due_at <= statement_timestamp()
      AND (leased_until IS NULL OR leased_until <= statement_timestamp()) {{among}}
    ORDER BY next_due_at LIMIT %(most)s FOR NO KEY UPDATE SKIP LOCKED))
RETURNING e.id, e.company_id, e.url, e.is_active, e.secret, e.failures,
          e.last_success_at,
          CASE WHEN e.old_secret_until > statement_timestamp() THEN e.old_secret END
"""

# Take endpoints that are due, those that have been due for longest first.
LEASE = PreparedStatement(_TAKE.format(which="", among=""), Lane)

# The same for companies of which the run has no endpoint: one endpoint of each.
LEASE_OTHERS = PreparedStatement(
    _TAKE.format(
        which="""
WITH first AS MATERIALIZED (
    SELECT DISTINCT ON (company_id) id FROM (
        SELECT id, company_id, next_due_at FROM pipeline_webhookendpoint
        WHERE next_due_at <= statement_timestamp()
          AND (leased_until IS NULL OR leased_until <= statement_timestamp())
          AND company_id <> ALL(%(present)s)
        ORDER BY next_due_at LIMIT %(reach)s) due
    ORDER BY company_id, next_due_at
)""",
        among="AND id = ANY(ARRAY(SELECT id FROM first))",
    ),
    Lane,
)

# Keep the leases. Returns the endpoints that this run still has, whether they are still switched
# on, and their present address and secrets.
RENEW = PreparedStatement(
    f"""
UPDATE pipeline_webhookendpoint e
SET leased_until = statement_timestamp() + interval '{LEASE_SECONDS} seconds'
WHERE e.id = ANY(%(endpoints)s) AND e.lease = %(run)s
RETURNING e.id, e.company_id, e.url, e.is_active, e.secret, e.failures,
          e.last_success_at,
          CASE WHEN e.old_secret_until > statement_timestamp() THEN e.old_secret END
""",
    Lane,
)

# The next due deliveries to an endpoint of the run, except for those that the run has read.
READ_DUE = PreparedStatement(
    f"""
SELECT id, body, attempts, earlier_attempts, round_started_at FROM pipeline_webhookdelivery
WHERE endpoint_id = %(endpoint)s AND state = 'PENDING'
  AND next_attempt_at <= statement_timestamp() AND id <> ALL(%(held)s) AND {_IS_LEASED}
ORDER BY next_attempt_at, id LIMIT %(most)s
""",
    Waiting,
)

# The oldest due delivery to an endpoint at which everything fails: one that is tried until its
# attempts are used up, and not each of a long queue once.
READ_OLDEST = PreparedStatement(
    f"""
WITH due AS MATERIALIZED (
    SELECT id FROM pipeline_webhookdelivery
    WHERE endpoint_id = %(endpoint)s AND state = 'PENDING'
      AND next_attempt_at <= statement_timestamp() AND id <> ALL(%(held)s) AND {_IS_LEASED}
)
SELECT id, body, attempts, earlier_attempts, round_started_at FROM pipeline_webhookdelivery
WHERE id = (SELECT id FROM due ORDER BY id LIMIT %(most)s)
""",
    Waiting,
)

# Record attempts: the state of each delivery, and the log. Returns the endpoints that this run
# still had; attempts at others are not recorded, and are made again.
RECORD = PreparedStatement("""
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(attempts)s::json) AS g(
        id uuid, endpoint_id uuid, number int, at timestamptz, duration_ms int, state text,
        delay_seconds float8, error text, detail text, status int, request_headers jsonb,
        response_headers jsonb, response_body text)
), health AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(health)s::json) AS h(
        id uuid, failures int, succeeded boolean, rest_seconds float8)
), ours AS (
    UPDATE pipeline_webhookendpoint e SET failures = h.failures,
        last_success_at = CASE WHEN h.succeeded THEN statement_timestamp()
                               ELSE e.last_success_at END,
        rests_until = statement_timestamp() + h.rest_seconds * interval '1 second'
    FROM health h WHERE e.id = h.id AND e.lease = %(run)s
    RETURNING e.id
), moved AS (
    UPDATE pipeline_webhookdelivery d SET state = g.state, attempts = g.number,
        last_status = g.status, last_error = g.error,
        next_attempt_at = statement_timestamp() + g.delay_seconds * interval '1 second',
        finished_at = CASE WHEN g.state <> 'PENDING' THEN statement_timestamp() END
    FROM given g JOIN ours ON ours.id = g.endpoint_id
    WHERE d.id = g.id AND d.state = 'PENDING'
    RETURNING d.id
), logged AS (
    INSERT INTO pipeline_webhookattempt (delivery_id, number, at, duration_ms, request_headers,
        error, detail, status, response_headers, response_body)
    SELECT g.id, g.number, g.at, g.duration_ms, g.request_headers, g.error, g.detail, g.status,
           g.response_headers, g.response_body
    FROM given g JOIN moved USING (id)
)
SELECT id FROM ours
""")

# End deliveries that wait for an endpoint that is off, some at a time.
FAIL_WAITING = PreparedStatement("""
UPDATE pipeline_webhookdelivery
SET state = 'FAILED', last_error = 'ENDPOINT_OFF', next_attempt_at = NULL,
    finished_at = statement_timestamp()
WHERE id IN (SELECT id FROM pipeline_webhookdelivery
             WHERE endpoint_id = %(endpoint)s AND state = 'PENDING' LIMIT %(most)s)
""")

# Lock an endpoint that this run has, before it is given back.
LOCK_LEASED = PreparedStatement("""
SELECT id FROM pipeline_webhookendpoint WHERE id = %(endpoint)s AND lease = %(run)s
FOR NO KEY UPDATE
""")

# Give an endpoint back. It is due when its next delivery is, but not while it rests. A statement of
# its own after the lock, so that it sees all that was queued before.
RELEASE = PreparedStatement("""
UPDATE pipeline_webhookendpoint e SET lease = NULL, leased_until = NULL, next_due_at = (
    SELECT greatest(d.next_attempt_at, e.rests_until) FROM pipeline_webhookdelivery d
    WHERE d.endpoint_id = e.id AND d.state = 'PENDING' ORDER BY d.next_attempt_at LIMIT 1)
WHERE e.id = %(endpoint)s
""")

# The time at which the next endpoint becomes due, or is free of a run that has died.
NEXT_DUE = PreparedStatement("""
SELECT min(greatest(next_due_at, leased_until)) FROM pipeline_webhookendpoint
WHERE next_due_at IS NOT NULL
""")


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

    def run_until_nothing_is_due(self, seconds: float, lock: OvertimeLock) -> None:
        """Deliver until nothing is due or the time is over; then wait for requests under way."""
        until, look_at = time.monotonic() + seconds, 0.0
        while not lock.may_end((now := time.monotonic()) - until) and not self._is_cancelled():
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
            found = LEASE.all(run=self._id, most=min(room, MOST_UNDER_WAY))
        elif (kept := room + KEPT_LANES) > 0:
            present = list({lane.company_id for lane in self._lanes.values()})
            found = LEASE_OTHERS.all(run=self._id, most=kept, reach=REACH, present=present)
        self._lanes |= {lane.id: lane for lane in found}

    def _renew(self, now: float) -> None:
        """Keep the leases; forget endpoints that another run has, and note changes to the rest."""
        if now < self._renew_at:
            return
        self._renew_at = now + RENEW_SECONDS
        fresh = {lane.id: lane for lane in RENEW.all(endpoints=list(self._lanes), run=self._id)}
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
                statement = READ_OLDEST if lane.rests else READ_DUE
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
        name, body = build_message_id(waiting.id), waiting.body.encode()
        now = datetime.now(UTC)
        headers = {
            "content-type": "application/json",
            "user-agent": USER_AGENT,
            "webhook-id": name,
            "webhook-timestamp": str(int(now.timestamp())),
        }
        self._sent[waiting.id] = headers, now
        try:
            keys = [SEAL.open(lane.secret, lane.id)]
        except SecretUnreadable:
            lane.under_way += 1
            self._take([Answer(waiting.id, lane.id, failure=Failure.SECRET_UNREADABLE)])
            return None
        if lane.old_secret is not None:
            with suppress(SecretUnreadable):  # the present one signs
                keys.append(SEAL.open(lane.old_secret, lane.id))
        signature = sign_delivery(name, int(now.timestamp()), body, keys)
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
            asked_seconds = requested_pause(answer)
            if asked_seconds:
                lane.pause(asked_seconds)
            row = lane.attempt_row(waiting, answer, asked_seconds=asked_seconds) | {
                "at": began,
                "request_headers": headers,
            }
            if reason := lane.reason_to_switch_off(waiting, answer, row["state"]):
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
        ours = RECORD.all(run=self._id, attempts=as_json(rows), health=as_json(health))
        for lost in {lane.id for lane in lanes} - {key for (key,) in ours}:
            self._forget(lost)
        for row in rows:
            if lane := self._lanes.get(row["endpoint_id"]):
                lane.held.pop(row["id"], None)
        for endpoint_id, reason in self._ends.items():
            if endpoint_id in self._lanes:
                self._lanes[endpoint_id].is_active = False
                endpoints.switch_off(endpoint_id, reason)
        self._ends.clear()

    def _fail_waiting(self, lane: Lane) -> None:
        """End the waiting deliveries of an endpoint that is off, once no request is under way."""
        lane.stop()
        if not lane.held:
            with transaction.atomic():
                if LOCK_LEASED.all(endpoint=lane.id, run=self._id):
                    FAIL_WAITING.all(endpoint=lane.id, most=FAILED_AT_ONCE)
            left = WebhookDelivery.objects.filter(endpoint_id=lane.id, state=State.PENDING)
            lane.has_more = left.exists()

    def _give_back(self, lanes: list[Lane]) -> None:
        for lane in lanes:
            del self._lanes[lane.id]
            self._client.close_pool(lane.id)
            with transaction.atomic():
                if LOCK_LEASED.all(endpoint=lane.id, run=self._id):
                    RELEASE.all(endpoint=lane.id)


def send_due_webhooks(
    *, seconds: float = RUN_SECONDS, is_cancelled: Callable[[], bool] = lambda: False
) -> dict[str, int]:
    """Send due deliveries for at most that time, and leave later ones to a task.

    Returns how many attempts were made, and how many of them succeeded.
    """
    with WebhookClient() as client, OvertimeLock() as lock:
        run = DeliveryRun(client, is_cancelled=is_cancelled)
        run.run_until_nothing_is_due(seconds, lock)
    [[next_due]] = NEXT_DUE.all()
    if next_due is not None:
        queue.wake(next_due)
    return {"attempts": run.attempts, "delivered": run.delivered}
