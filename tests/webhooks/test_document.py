"""The document's webhooks: every type, and bodies that real deliveries fit."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import timedelta
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator

from jobs.models import Company
from pipeline.api.openapi.document import build_document
from pipeline.domain.states import Actor, ActorKind
from pipeline.models import WebhookDelivery
from pipeline.services.jobs import SeatPlan, plan_seats
from pipeline.services.turns import defer, pass_next, preaccept
from pipeline.webhooks.endpoints import send_test
from pipeline.webhooks.queue import TEST, TYPES
from tasks.enqueue import enqueue
from tests.support import factories
from tests.support.callers import key_of
from tests.support.clock import database_now
from tests.support.closed_schemas import close_schemas
from tests.support.sandboxes import DAY, HOUR, advance, sandbox
from tests.support.webhooks import endpoint, queue_all
from tests.webhooks.test_task_events import happened, read_all

pytestmark = pytest.mark.django_db(transaction=True)

URL = "https://example.org/hook"


def errors_of(delivery: WebhookDelivery) -> list[str]:
    """Return what the document does not say about the body of a delivery."""
    operation = build_document()["webhooks"][delivery.type]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    schemas = deepcopy(build_document()["components"]["schemas"])
    close_schemas(schemas)
    whole = {**schema, "components": {"schemas": schemas}}
    checker = Draft202012Validator.FORMAT_CHECKER
    found = Draft202012Validator(whole, format_checker=checker).iter_errors(
        json.loads(delivery.body)
    )
    return [f"{delivery.type}: {each.json_path} {each.message}" for each in found]


def test_each_type_is_in_the_document_once() -> None:
    webhooks = build_document()["webhooks"]
    operations = [each["post"]["operationId"] for each in webhooks.values()]

    assert [*webhooks] == [*TYPES, TEST]
    assert len(set(operations)) == len(operations)


def test_the_bodies_of_a_long_story_fit_the_document(company: Company) -> None:
    tested = sandbox(company)
    hook, _ = endpoint(tested.id, URL)
    read_all()
    api, soon = key_of(tested.id), database_now() + timedelta(hours=2)
    policy = {"acknowledge_first_seat": False, "max_decays": 1, "cooldown_seconds": HOUR}
    job = factories.job(company_id=tested.id, capacity=1, **policy)
    rows = factories.applications(job, 6, actor=factories.RECRUITER)
    plan_seats(job_id=job, plan=SeatPlan(1, soon), actor=factories.RECRUITER)
    me = [Actor(ActorKind.APPLICANT, row.applicant_id) for row in rows]
    later = soon + timedelta(days=9)
    defer(application_id=rows[2].id, not_before=later, actor=me[2])
    pass_next(application_id=rows[3].id, wanted=True, actor=me[3])
    preaccept(application_id=rows[4].id, accept_until=later, actor=me[4])
    api.post(f"/applications/{rows[0].id}/remove", {"outcome": "HIRED"})
    advance(tested, 2 * DAY)
    api.post(f"/jobs/{job}/pause")
    api.post(f"/jobs/{job}/close")
    task = enqueue("demo.sleep", {}, owner_id=tested.id)
    happened(task, "started", "failed", "started", "succeeded")
    read_all()
    send_test(company_id=tested.id, endpoint_id=hook.id)
    queue_all()

    deliveries = list(WebhookDelivery.objects.all())

    assert [error for each in deliveries for error in errors_of(each)] == []
    told = {name for each in deliveries for name in json.loads(each.body)["data"]}
    assert told >= {"planned_seats_id", "accepted_until", "accept_until", "not_before", "pass_next"}
    assert {each.type for each in deliveries} >= {
        *("job.created", "job.paused", "job.capacity_changed", "job.clock_advanced", TEST),
        *("application.applied", "application.decayed", "application.passed", "task.ended"),
        *("application.removed", "application.preaccepted", "task.started"),
    }


def test_a_body_with_an_undocumented_field_or_code_is_found() -> None:
    body = {
        "type": "job.paused",
        "timestamp": "2026-01-31T12:00:00.000000Z",
        "data": {"company_id": str(UUID(int=1)), "event": "JOB_SLEPT", "name": "Mia"},
    }

    found = errors_of(WebhookDelivery(type="job.paused", body=json.dumps(body)))

    assert any("JOB_SLEPT" in each for each in found)
    assert any("'name' was unexpected" in each for each in found)
