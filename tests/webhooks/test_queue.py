"""From an event to a delivery: in the event's own statement, once for each endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from jobs.models import Company
from pipeline.domain.states import EventType
from pipeline.line import lock
from pipeline.models import Event, WebhookDelivery, WebhookEndpoint
from pipeline.services.leaving import withdraw
from pipeline.webhooks import endpoints, queue
from pipeline.webhooks.deliver import send_due_webhooks
from pipeline.webhooks.endpoints import rotate_secret
from pipeline.webhooks.queue import DELIVER, QUEUE, TYPES, public_type
from tasks.models import Task, TaskType
from tasks.sql.prepared import PreparedStatement, run_statements
from tests.support import factories
from tests.support.round_trips import round_trips_of
from tests.support.together import (
    held_lock,
    started,
    wait_until_somebody_waits_for_a_lock,
)
from tests.support.webhooks import endpoint, queue_all

pytestmark = pytest.mark.django_db(transaction=True)

URL = "http://127.0.0.1:9/hook"


def queued() -> list[tuple[str, Any]]:
    return list(WebhookDelivery.objects.order_by("id").values_list("type", "source"))


def tasks(key: str = QUEUE) -> int:
    return Task.objects.filter(type__key=key, status="PENDING").count()


def test_without_endpoints_nothing_is_queued(job: UUID) -> None:
    factories.application(job)

    assert tasks() == 0


def test_an_event_is_queued_once_for_each_endpoint(company: Company, job: UUID) -> None:
    first, _ = endpoint(company.id, URL)
    second, _ = endpoint(company.id, URL)
    application = factories.application(job)

    made = queue_all()
    again = queue.add_events(company_id=company.id, job_id=job, first_seq=1, last_seq=9)

    assert (made, again) == (2, 0)
    rows = WebhookDelivery.objects.order_by("endpoint_id")
    assert [row.endpoint_id for row in rows] == [first.id, second.id]
    assert {row.source for row in rows} == {f"event:{job}:3"}
    assert factories.fresh(application)


def test_a_body_is_thin_and_names_the_place_in_the_log(company: Company, job: UUID) -> None:
    endpoint(company.id, URL)
    person = factories.applicant(name="Ana Li", email="ana@example.org")
    application = factories.application(job, person)

    queue_all()

    body = WebhookDelivery.objects.get().body
    event = Event.objects.get(job_id=job, seq=3)
    assert "Ana" not in body
    assert "example.org" not in body
    assert json.loads(body) == {
        "type": "application.applied",
        "timestamp": event.at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "data": {
            "company_id": str(company.id),
            "job_id": str(job),
            "application_id": str(application.id),
            "seq": 3,
            "chain_head": bytes(event.hash).hex(),
            "event": "APPLIED",
            "status": "ACTIVE",
            "outcome": None,
        },
    }


def test_only_wanted_types_are_queued_and_nothing_from_before(company: Company) -> None:
    job = factories.job(company_id=company.id)
    holder, waiting = factories.applications(job, 2)
    endpoint(company.id, URL, "application.withdrawn")
    withdraw(application_id=holder.id, actor=factories.owner_of(holder))

    queue_all()
    queue.add_events(company_id=company.id, job_id=job, first_seq=1, last_seq=99)

    assert [name for name, _ in queued()] == ["application.withdrawn"]
    assert factories.status_of(waiting) == "PENDING_ACKNOWLEDGMENT"


def test_a_change_without_a_wanted_event_writes_no_task(company: Company, job: UUID) -> None:
    endpoint(company.id, URL, "job.closed")

    factories.application(job)

    assert tasks() == 0


def test_another_companys_endpoints_hear_nothing(
    company: Company, other_company: Company, job: UUID
) -> None:
    endpoint(other_company.id, URL)
    factories.application(job)

    assert tasks() == 0
    assert queue.add_events(company_id=other_company.id, job_id=job, first_seq=1, last_seq=9) == 0


def test_an_endpoint_that_is_off_hears_nothing(company: Company, job: UUID) -> None:
    made, _ = endpoint(company.id, URL)
    endpoints.change(company_id=company.id, endpoint_id=made.id, changes={"is_active": False})

    factories.application(job)

    assert tasks() == 0


def test_the_task_travels_in_the_statement_that_writes_the_events(
    company: Company, job: UUID
) -> None:
    endpoint(company.id, URL)
    holder, _ = factories.applications(job, 2)

    trips = round_trips_of(
        lambda: withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    )

    assert trips == 3  # as without webhooks: see tests/line/test_round_trips.py
    newest = Task.objects.filter(type__key=QUEUE).latest("id")
    assert (newest.payload["first_seq"], newest.payload["last_seq"]) == (5, 6)


@pytest.mark.parametrize("is_known", [True, False])
def test_a_task_whose_type_has_no_row_is_in_the_log(
    company: Company, job: UUID, caplog: pytest.LogCaptureFixture, is_known: bool
) -> None:
    endpoint(company.id, URL)
    if not is_known:
        TaskType.objects.filter(key=QUEUE).update(key="gone")
    try:
        factories.application(job)
    finally:
        TaskType.objects.filter(key="gone").update(key=QUEUE)

    lost = [each.getMessage() for each in caplog.records if "are lost" in each.getMessage()]
    assert (tasks(), len(lost)) == ((1, 0) if is_known else (0, 1))
    assert all(QUEUE in each for each in lost)


def test_every_kind_of_event_has_a_type() -> None:
    assert {public_type(each) for each in EventType} <= set(TYPES)
    assert public_type("APPLIED") == "application.applied"
    assert public_type("JOB_RESUMED") == "job.resumed"
    assert public_type("CAPACITY_CHANGED") == "job.capacity_changed"


def test_one_task_delivers_however_much_becomes_due(company: Company) -> None:
    queue.wake()
    queue.wake()

    assert tasks(DELIVER) == 1


def test_a_hundred_runs_leave_one_task_for_what_is_due_later(company: Company) -> None:
    made, _ = endpoint(company.id, URL)
    later = datetime.now(UTC).replace(microsecond=123_456) + timedelta(hours=1)
    WebhookEndpoint.objects.filter(id=made.id).update(next_due_at=later)

    for _ in range(100):
        send_due_webhooks(seconds=1)

    [task] = Task.objects.filter(type__key=DELIVER, status="PENDING")
    assert later <= task.run_after <= later + timedelta(milliseconds=1)


def test_what_is_due_earlier_has_a_task_of_its_own(company: Company) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    for due in (later, later - timedelta(minutes=1), later + timedelta(minutes=1)):
        queue.wake(due)

    assert tasks(DELIVER) == 2


def test_a_secret_is_no_part_of_what_is_queued(company: Company, job: UUID) -> None:
    made, secret = endpoint(company.id, URL)
    _, newer = rotate_secret(company_id=company.id, endpoint_id=made.id)
    factories.application(job)
    queue_all()

    stored = str(list(WebhookDelivery.objects.values())) + str(list(Task.objects.values()))

    assert secret not in stored
    assert newer not in stored


def read_types_first(statements: Sequence[PreparedStatement[Any]], values: Any) -> Any:
    """Read the types before the lock, in the same round trip."""
    ordered = sorted(statements, key=lambda each: b"pipeline_webhookendpoint" not in each.text)
    found = dict(zip(ordered, run_statements(ordered, values), strict=True))
    return [found[each] for each in statements]


def begin_withdrawal(job_id: UUID) -> Callable[[], Any]:
    person = factories.application(job_id)
    return partial(withdraw, application_id=person.id, actor=factories.owner_of(person))


def begin_application(job_id: UUID) -> Callable[[], Any]:
    return partial(factories.application, job_id, factories.applicant())


def add_endpoint(made: WebhookEndpoint) -> None:
    endpoint(made.company_id, URL)


def add_types(made: WebhookEndpoint) -> None:
    changes: dict[str, Any] = {"types": [], "is_active": True}
    endpoints.change(company_id=made.company_id, endpoint_id=made.id, changes=changes)


@pytest.mark.parametrize("begin", [begin_withdrawal, begin_application])
@pytest.mark.parametrize("wish", [add_endpoint, add_types])
@pytest.mark.parametrize("is_read_after", [True, False], ids=["after the lock", "control: before"])
def test_a_change_that_waits_for_the_job_is_told_to_an_endpoint_made_meanwhile(
    company: Company,
    begin: Callable[[UUID], Callable[[], Any]],
    wish: Callable[[WebhookEndpoint], None],
    is_read_after: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not is_read_after:
        monkeypatch.setattr(lock, "run_statements", read_types_first)
    job_id = factories.job(company_id=company.id, capacity=3)
    act = begin(job_id)
    made, _ = endpoint(company.id, URL, "job.closed")

    with ExitStack() as afterwards, held_lock(job_id):
        answers = afterwards.enter_context(started(act))
        wait_until_somebody_waits_for_a_lock()
        wish(made)

    assert not isinstance(answers[0], Exception), answers
    assert tasks() == is_read_after
