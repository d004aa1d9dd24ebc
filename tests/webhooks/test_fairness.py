"""Runs whose receivers hang or are slow: other endpoints and companies are served on time.

Each promise has a control, in which the rule behind it is switched off.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from uuid import UUID

import pytest
from django.db import connection

from jobs.models import Company
from pipeline.models import WebhookEndpoint
from pipeline.outgoing import client
from pipeline.webhooks import deliver as runs
from pipeline.webhooks.deliver import OvertimeLock, send_due_webhooks
from pipeline.webhooks.endpoints import MOST_ENDPOINTS
from tests.support import factories
from tests.support.receiver import Receiver, reply
from tests.support.together import started
from tests.support.waiting import PATIENCE_SECONDS, eventually
from tests.support.webhooks import endpoint, queue_many

pytestmark = pytest.mark.django_db(transaction=True)

DELIVERIES = 1_000
COMPANIES = 10
# How long a control waits for what does not happen. On a slow machine it sees even less.
CONTROL_SECONDS = 2.0
RUN_SECONDS = 0.5


class Hold:
    """Requests that are answered only when they are let go, and what arrives beside them."""

    def __init__(self) -> None:
        self._released = threading.Event()
        self.in_time = 0

    def keep(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a request when all are let go."""
        self._released.wait(2 * PATIENCE_SECONDS)
        reply(handler, 204)

    def note(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer at once, and count if the others are still kept."""
        self.in_time += not self.is_over()
        reply(handler, 204)

    def note_and_let_go(self, handler: BaseHTTPRequestHandler) -> None:
        self.note(handler)
        self.let_go()

    def let_go(self) -> None:
        self._released.set()

    def let_go_after(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self.let_go)
        timer.daemon = True  # the end of the tests need not wait for it
        timer.start()

    def is_over(self) -> bool:
        return self._released.is_set()


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hold]:
    """Requests that can be kept for as long as a test likes."""
    monkeypatch.setattr(client, "TIMEOUT_SECONDS", 3 * PATIENCE_SECONDS)
    made = Hold()
    yield made
    made.let_go()


def deliver_beside_a_hanging_endpoint(
    hanging: tuple[Company, Receiver],
    other: tuple[Company, Receiver],
    hold: Hold,
    *,
    seconds: float,
) -> None:
    """Queue 1,000 deliveries for an endpoint that hangs, and for another; wait for the latter.

    The former answers after this many seconds, counted from its first request.
    """
    for company, receiver in (hanging, other):
        endpoint(company.id, receiver.url)
        queue_many(company, DELIVERIES)

    def keep(handler: BaseHTTPRequestHandler) -> None:
        hold.let_go_after(seconds)
        hold.keep(handler)

    hanging[1].answer, other[1].answer = keep, hold.note

    def is_cancelled() -> bool:
        if hold.in_time >= DELIVERIES:
            hold.let_go()
        return hold.is_over()

    send_due_webhooks(seconds=PATIENCE_SECONDS, is_cancelled=is_cancelled)


def test_a_hanging_endpoint_delays_nobody_else(
    company: Company,
    other_company: Company,
    receiver: Receiver,
    second_receiver: Receiver,
    hold: Hold,
) -> None:
    deliver_beside_a_hanging_endpoint(
        (company, receiver), (other_company, second_receiver), hold, seconds=PATIENCE_SECONDS
    )

    assert hold.in_time == DELIVERIES
    assert len(receiver.received) <= 12  # it hangs in a few requests


def test_control_one_endpoint_after_the_other_would_wait_for_the_one_that_hangs(
    company: Company,
    other_company: Company,
    receiver: Receiver,
    second_receiver: Receiver,
    hold: Hold,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "MOST_LANES", 1)
    monkeypatch.setattr(runs, "KEPT_LANES", 0)

    deliver_beside_a_hanging_endpoint(
        (company, receiver), (other_company, second_receiver), hold, seconds=CONTROL_SECONDS
    )

    assert receiver.received
    assert hold.in_time == 0


def deliver_beside_slow_companies(
    newcomer: UUID, slow: Receiver, quick: Receiver, hold: Hold, *, seconds: float
) -> None:
    """Let ten companies have twenty slow endpoints each; then another's event comes.

    It is queued once all their endpoints have a request under way, as far as they are let. After so
    many seconds more, the slow ones answer.
    """
    for _ in range(COMPANIES):
        company = factories.company()
        for _ in range(MOST_ENDPOINTS):
            endpoint(company.id, slow.url)
        queue_many(company, 20)
    endpoint(newcomer, quick.url)
    queued: list[UUID] = []

    def keep(handler: BaseHTTPRequestHandler) -> None:
        if len(slow.received) >= COMPANIES * MOST_ENDPOINTS and not queued:
            queued.append(newcomer)
            queue_many(Company.objects.get(id=newcomer), 1)
            connection.close()  # that of this thread
            hold.let_go_after(seconds)
        hold.keep(handler)

    slow.answer, quick.answer = keep, hold.note_and_let_go

    send_due_webhooks(seconds=PATIENCE_SECONDS, is_cancelled=hold.is_over)

    assert queued


def test_the_slow_endpoints_of_ten_companies_leave_room_for_another(
    company: Company, receiver: Receiver, second_receiver: Receiver, hold: Hold
) -> None:
    deliver_beside_slow_companies(
        company.id, receiver, second_receiver, hold, seconds=PATIENCE_SECONDS
    )

    assert WebhookEndpoint.objects.count() > runs.MOST_LANES
    assert hold.in_time == 1


def test_control_without_lanes_kept_for_companies_that_have_none_it_would_wait(
    company: Company,
    receiver: Receiver,
    second_receiver: Receiver,
    hold: Hold,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "KEPT_LANES", 0)

    deliver_beside_slow_companies(
        company.id, receiver, second_receiver, hold, seconds=CONTROL_SECONDS
    )

    assert hold.in_time == 0


@pytest.mark.parametrize(("kept", "in_time"), [(4, 1), (0, 0)], ids=["kept", "control"])
def test_requests_are_kept_for_companies_that_have_few(
    company: Company,
    receiver: Receiver,
    second_receiver: Receiver,
    hold: Hold,
    monkeypatch: pytest.MonkeyPatch,
    kept: int,
    in_time: int,
) -> None:
    """Three slow companies come one after another, so each gets more than its share of all."""
    monkeypatch.setattr(runs, "MOST_UNDER_WAY", 12)
    monkeypatch.setattr(runs, "KEPT_UNDER_WAY", kept)
    slow = [factories.company() for _ in range(3)]
    for each in slow:
        for _ in range(8):
            endpoint(each.id, receiver.url)
    endpoint(company.id, second_receiver.url)
    # Who comes once that many requests are under way: half of 12, a third, and the rest are taken.
    coming = [(6, slow[1]), (10, slow[2]), (12, company)]
    guard = threading.Lock()

    def keep(handler: BaseHTTPRequestHandler) -> None:
        with guard:
            if coming and len(receiver.received) >= coming[0][0]:
                queue_many(coming.pop(0)[1], 10)
                connection.close()  # that of this thread
                if not coming:
                    hold.let_go_after(PATIENCE_SECONDS if in_time else CONTROL_SECONDS)
        hold.keep(handler)

    receiver.answer, second_receiver.answer = keep, hold.note_and_let_go
    queue_many(slow[0], 10)

    send_due_webhooks(seconds=PATIENCE_SECONDS, is_cancelled=hold.is_over)

    assert not coming
    assert bool(hold.in_time) == bool(in_time)  # two of ten may have come before the rest is let go


@pytest.mark.parametrize("in_turn", [True, False], ids=["in turn", "control"])
def test_while_one_run_waits_for_its_last_answers_another_goes_on(
    company: Company,
    other_company: Company,
    receiver: Receiver,
    second_receiver: Receiver,
    hold: Hold,
    monkeypatch: pytest.MonkeyPatch,
    in_turn: bool,
) -> None:
    """Both runs have a slow endpoint, and their time is over when another's event comes."""
    if not in_turn:
        monkeypatch.setattr(
            OvertimeLock, "may_end", lambda _, overtime_seconds: overtime_seconds >= 0
        )
    monkeypatch.setattr(runs, "MOST_LANES", 1)
    endpoint(other_company.id, second_receiver.url)
    receiver.answer, second_receiver.answer = hold.keep, hold.note_and_let_go
    slow = [endpoint(company.id, receiver.url)[0] for _ in range(2)]
    queue_many(company, 20)

    run = partial(send_due_webhooks, seconds=RUN_SECONDS, is_cancelled=hold.is_over)
    with started(run), started(run):
        leased = WebhookEndpoint.objects.filter(id__in=[each.id for each in slow])
        eventually(lambda: leased.filter(lease__isnull=False).count() == 2 and receiver.received)
        time.sleep(3 * RUN_SECONDS)
        hold.let_go_after(PATIENCE_SECONDS if in_turn else CONTROL_SECONDS)
        queue_many(other_company, 1)
        eventually(hold.is_over, 2 * PATIENCE_SECONDS)

    assert hold.in_time == in_turn
