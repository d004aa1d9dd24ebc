"""Runs of deliveries: signed, repeated, given up, and never held up by one endpoint."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from uuid import UUID

import pytest
import standardwebhooks
from django.db.models.functions import Now

from jobs.models import Company, Role
from pipeline.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from pipeline.notifications.companies import ALERT_TASK
from pipeline.outgoing.retries import DELAYS_SECONDS, LONGEST_ASKED_SECONDS, MOST_ATTEMPTS
from pipeline.webhooks import endpoints
from pipeline.webhooks.deliver import send_due_webhooks
from pipeline.webhooks.endpoints import rotate_secret, send_test
from pipeline.webhooks.queue import DELIVER
from tasks.models import Task
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.clock import database_now
from tests.support.receiver import Receiver, reply
from tests.support.webhooks import (
    deliver,
    delivery_states,
    endpoint,
    make_all_due,
    only_delivery,
    queue_all,
    queue_many,
)

pytestmark = pytest.mark.django_db(transaction=True)


def fail_until_last(receiver: Receiver, status: int = 500) -> None:
    """Make all attempts of what waits but the last one fail."""
    receiver.answers(status)
    for _ in range(MOST_ATTEMPTS - 1):
        send_due_webhooks()
        make_all_due()


def test_an_event_arrives_signed(company: Company, job: UUID, receiver: Receiver) -> None:
    made, secret = endpoint(company.id, receiver.url)
    factories.application(job)

    counts = deliver()

    assert counts == {"attempts": 1, "delivered": 1}
    [got] = receiver.received
    assert standardwebhooks.Webhook(secret).verify(got.body, got.headers)["data"]["seq"] == 3
    delivery = only_delivery()
    assert (delivery.state, delivery.attempts, delivery.last_status) == ("DELIVERED", 1, 204)
    assert delivery.webhook_id == got.id
    fresh = WebhookEndpoint.objects.get(id=made.id)
    assert fresh.last_success_at is not None
    assert (fresh.lease, fresh.next_due_at) == (None, None)


def test_the_log_has_request_and_answer_but_no_signature(
    company: Company, job: UUID, receiver: Receiver
) -> None:
    receiver.answer = lambda handler: reply(handler, 200, b"x" * 5_000, x_trace="7")
    _, secret = endpoint(company.id, receiver.url)
    factories.application(job)

    deliver()

    attempt = WebhookAttempt.objects.get()
    assert attempt.request_headers["webhook-id"] == only_delivery().webhook_id
    assert "webhook-signature" not in attempt.request_headers
    assert attempt.response_headers["x-trace"] == "7"
    assert len(attempt.response_body) == 2_048
    assert secret not in str(list(WebhookAttempt.objects.values()))


def test_ten_attempts_over_three_days_then_it_is_off(
    company: Company, job: UUID, receiver: Receiver
) -> None:
    made, _ = endpoint(company.id, receiver.url)
    factories.application(job)
    queue_all()
    fail_until_last(receiver)
    before = only_delivery()

    send_due_webhooks()

    assert (before.state, before.attempts) == ("PENDING", 9)
    delivery = only_delivery()
    assert (delivery.state, delivery.attempts, delivery.last_error) == ("FAILED", 10, "STATUS")
    assert len({each.id for each in receiver.received}) == 1  # the same in every attempt
    assert len(receiver.received) == 10
    off = WebhookEndpoint.objects.get(id=made.id)
    assert (off.is_active, off.off_reason) == (False, "FAILING")
    assert timedelta(days=3) < timedelta(seconds=sum(DELAYS_SECONDS)) < timedelta(days=3.5)


def test_after_a_failure_it_is_tried_again_at_its_time(
    company: Company, job: UUID, receiver: Receiver
) -> None:
    endpoint(company.id, receiver.url)
    factories.application(job)
    receiver.answers(503)

    deliver()

    delivery = only_delivery()
    assert delivery.next_attempt_at is not None
    seconds = (delivery.next_attempt_at - WebhookAttempt.objects.get().at).total_seconds()
    assert DELAYS_SECONDS[0] <= seconds < DELAYS_SECONDS[0] * 1.1 + 1
    task = Task.objects.get(type__key=DELIVER, status="PENDING", run_after__gt=Now())
    assert timedelta(0) <= task.run_after - delivery.next_attempt_at < timedelta(milliseconds=2)
    assert send_due_webhooks() == {"attempts": 0, "delivered": 0}


def in_seconds(seconds: float) -> str:
    """Return an HTTP date."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("40", 40),
        (600, 600),
        ("999999999999", LONGEST_ASKED_SECONDS),
        (86_400, LONGEST_ASKED_SECONDS),
        *((text, DELAYS_SECONDS[0]) for text in ("0", "-5", "soon", "1e9", -60)),
    ],
)
def test_a_receivers_retry_after_is_honoured_within_bounds(
    company: Company, receiver: Receiver, status: int, asked: str | int, seconds: float
) -> None:
    endpoint(company.id, receiver.url)
    queue_many(company, 1)
    retry_after = asked if isinstance(asked, str) else in_seconds(asked)
    receiver.answers(status, retry_after=retry_after)
    began = database_now()

    send_due_webhooks()

    due = only_delivery().next_attempt_at
    assert due is not None
    wait = (due - began).total_seconds()
    assert seconds - 5 <= wait <= seconds * 1.1 + 10


def test_nothing_is_sent_to_an_endpoint_that_asked_for_a_pause(
    company: Company, receiver: Receiver
) -> None:
    made, _ = endpoint(company.id, receiver.url)
    queue_many(company, 1)
    receiver.answers(429, retry_after="900")
    send_due_webhooks()

    receiver.answers(204)
    queue_many(company, 3, start=1)
    in_the_pause = send_due_webhooks()
    make_all_due()
    afterwards = send_due_webhooks()

    assert in_the_pause == {"attempts": 0, "delivered": 0}
    assert afterwards == {"attempts": 4, "delivered": 4}
    assert WebhookEndpoint.objects.get(id=made.id).failures == 0


def test_a_retry_after_of_another_answer_means_nothing(
    company: Company, receiver: Receiver
) -> None:
    endpoint(company.id, receiver.url)
    queue_many(company, 1)
    receiver.answers(500, retry_after="900")
    began = database_now()

    send_due_webhooks()

    assert only_delivery().next_attempt_at < began + timedelta(seconds=60)


def test_a_delivery_that_one_receiver_refuses_does_not_switch_it_off(
    company: Company, job: UUID, receiver: Receiver
) -> None:
    made, _ = endpoint(company.id, receiver.url)
    factories.application(job)
    queue_all()
    fail_until_last(receiver)
    receiver.answer = lambda handler: reply(
        handler, 500 if receiver.received[-1].json["type"].startswith("application") else 204
    )
    WebhookDelivery.objects.update(next_attempt_at=Now() + timedelta(hours=1))
    queue_many(company, 1)
    send_due_webhooks()
    make_all_due()

    send_due_webhooks()

    assert delivery_states() == {"FAILED": 1, "DELIVERED": 1}
    assert WebhookEndpoint.objects.get(id=made.id).is_active


def test_410_switches_it_off_and_what_waits_fails(
    company: Company, job: UUID, receiver: Receiver
) -> None:
    made, _ = endpoint(company.id, receiver.url)
    queue_many(company, 20)
    receiver.answers(410)

    send_due_webhooks()

    off = WebhookEndpoint.objects.get(id=made.id)
    assert (off.is_active, off.off_reason, off.next_due_at) == (False, "GONE", None)
    assert delivery_states() == {"FAILED": 20}
    assert len(receiver.received) < 5
    errors = set(WebhookDelivery.objects.values_list("last_error", flat=True))
    assert errors == {"GONE", "ENDPOINT_OFF"}


def test_switching_it_off_by_hand_fails_what_waits(company: Company, receiver: Receiver) -> None:
    made, _ = endpoint(company.id, receiver.url)
    queue_many(company, 3)

    endpoints.change(company_id=company.id, endpoint_id=made.id, changes={"is_active": False})
    send_due_webhooks()

    assert delivery_states() == {"FAILED": 3}
    assert receiver.received == []


def test_switched_on_it_begins_without_its_failures(company: Company, receiver: Receiver) -> None:
    made, _ = endpoint(company.id, receiver.url)
    queue_many(company, 1)
    receiver.answers(410)
    send_due_webhooks()
    receiver.answers(204)

    on = endpoints.change(company_id=company.id, endpoint_id=made.id, changes={"is_active": True})
    send_test(company_id=company.id, endpoint_id=made.id)
    send_due_webhooks()

    assert (on.is_active, on.off_reason, on.off_at, on.failures) == (True, "", None, 0)
    assert receiver.types[-1] == "webhook.test"


def test_after_a_rotation_both_secrets_sign_for_a_day(company: Company, receiver: Receiver) -> None:
    made, old = endpoint(company.id, receiver.url)
    _, new = rotate_secret(company_id=company.id, endpoint_id=made.id)
    queue_many(company, 1)
    send_due_webhooks()
    WebhookEndpoint.objects.update(old_secret_until=Now())
    queue_many(company, 1, start=1)
    send_due_webhooks()

    during, after = receiver.received
    for secret in (old, new):
        assert standardwebhooks.Webhook(secret).verify(during.body, during.headers)
    assert standardwebhooks.Webhook(new).verify(after.body, after.headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(old).verify(after.body, after.headers)


def test_a_secret_that_cannot_be_read_fails_with_a_name(
    company: Company, receiver: Receiver
) -> None:
    endpoint(company.id, receiver.url)
    queue_many(company, 1)
    WebhookEndpoint.objects.update(secret=b"x" * 60)

    send_due_webhooks()

    assert only_delivery().last_error == "SECRET_UNREADABLE"
    assert receiver.received == []


def test_members_who_want_alerts_are_told_when_it_is_switched_off(
    company: Company, receiver: Receiver, settings: Any
) -> None:
    settings.NOTIFY = True
    member_of(company, Role.OWNER)
    endpoint(company.id, receiver.url)
    queue_many(company, 1)
    receiver.answers(410)

    send_due_webhooks()

    [task] = Task.objects.filter(type__key=ALERT_TASK)
    assert task.payload["kind"] == "WEBHOOK_DISABLED"


def test_a_rotation_helps_at_once_when_the_secret_cannot_be_read(
    company: Company, receiver: Receiver
) -> None:
    made, _ = endpoint(company.id, receiver.url)
    queue_many(company, 1)
    WebhookEndpoint.objects.update(secret=b"x" * 60)
    row, new = rotate_secret(company_id=company.id, endpoint_id=made.id)

    send_due_webhooks()

    [got] = receiver.received
    assert standardwebhooks.Webhook(new).verify(got.body, got.headers)
    assert row.old_secret is None


def test_an_old_secret_that_cannot_be_read_does_not_stop_the_new_one(
    company: Company, receiver: Receiver
) -> None:
    made, _ = endpoint(company.id, receiver.url)
    queue_many(company, 1)
    _, new = rotate_secret(company_id=company.id, endpoint_id=made.id)
    WebhookEndpoint.objects.update(old_secret=b"x" * 60)

    send_due_webhooks()

    [got] = receiver.received
    assert standardwebhooks.Webhook(new).verify(got.body, got.headers)
    assert got.headers["webhook-signature"].count("v1,") == 1
