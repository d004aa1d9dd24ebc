"""Endpoints that a run has leased, with the requests under way to each.

A lane begins slowly, and sends more at once while the receiver answers. When attempt after attempt
fails, the endpoint rests, and then one delivery is tried. So a hanging endpoint takes up hardly any
capacity, and its own deliveries do not use up their attempts in one outage.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.outgoing.client import Answer, Failure
from pipeline.outgoing.retries import delay_after_attempt

MOST_AT_ONCE, FIRST_AT_ONCE = 10, 2  # requests under way to one endpoint
REST_AFTER = 5  # failed attempts in a row
FIRST_REST_SECONDS, LONGEST_REST_SECONDS = 5.0, 300.0
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

    def attempt_row(
        self, waiting: Waiting, answer: Answer, *, asked_seconds: float = 0.0
    ) -> dict[str, Any]:
        """Describe how an attempt ended, and how the delivery continues, no earlier than asked."""
        number = waiting.attempts + 1
        delay = delay_after_attempt(number - waiting.earlier_attempts)
        delay = delay and max(delay, asked_seconds)
        state = State.PENDING if delay else State.FAILED
        if answer.failure is None:
            state = State.DELIVERED
        elif answer.failure is Failure.GONE:
            state = State.FAILED
        return {
            "id": waiting.id,
            "endpoint_id": self.id,
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

    def reason_to_switch_off(
        self, waiting: Waiting, answer: Answer, state: str
    ) -> WebhookEndpoint.OffReason | None:
        """Return why the endpoint must be switched off, if it must.

        It must after a last attempt that failed, unless something has arrived since that delivery's
        first attempt: then the receiver refuses only this one.
        """
        if answer.failure is Failure.GONE:
            return WebhookEndpoint.OffReason.GONE
        arrived = self.has_succeeded or (
            self.last_success_at is not None and self.last_success_at >= waiting.round_started_at
        )
        return WebhookEndpoint.OffReason.FAILING if state == State.FAILED and not arrived else None


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
