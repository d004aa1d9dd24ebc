"""Webhooks over the API."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
import standardwebhooks
from django.db.models.functions import Now

from jobs.models import Company, Scope
from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.webhooks.deliver import send_due_webhooks
from pipeline.webhooks.endpoints import MOST_ENDPOINTS, REDELIVER, SHOWN_AGAIN_FOR
from tasks.models import Task
from tests.support import factories
from tests.support.callers import Caller, code_of, key_of, pointers
from tests.support.receiver import Receiver
from tests.support.webhooks import deliver

HOOK = {"url": "https://example.org/hook", "types": ["application.promoted"]}


@pytest.fixture
def hook(acme: Caller, receiver: Receiver) -> str:
    """The path of an endpoint that wants everything."""
    return f"/webhooks/{acme.post('/webhooks', {'url': receiver.url}).json()['id']}"


def test_only_the_answer_that_makes_an_endpoint_shows_its_secret(acme: Caller) -> None:
    made = acme.post("/webhooks", HOOK | {"description": "Chat"})

    told = made.json()
    secret = told.pop("secret")
    assert made.status_code == 201
    assert made.headers["Location"] == f"/api/v1/webhooks/{told['id']}"
    assert made.headers["Cache-Control"] == "no-store"
    assert secret.startswith("whsec_")
    assert told | {"id": "", "created_at": ""} == {
        "id": "",
        "url": "https://example.org/hook",
        "description": "Chat",
        "types": ["application.promoted"],
        "is_active": True,
        "off_reason": None,
        "off_at": None,
        "failures": 0,
        "last_success_at": None,
        "old_secret_until": None,
        "created_at": "",
    }
    assert acme.get(f"/webhooks/{told['id']}").json() == told
    assert acme.get("/webhooks").json() == {"data": [told], "next_cursor": None}
    assert secret.encode() not in bytes(WebhookEndpoint.objects.get().secret)


def test_under_one_key_an_endpoint_is_made_once_and_its_secret_kept_nowhere_else(
    acme: Caller,
) -> None:
    first = acme.post("/webhooks", HOOK, idempotency_key="a")
    second = acme.post("/webhooks", HOOK, idempotency_key="a")

    assert first.json() == second.json()
    assert WebhookEndpoint.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"url": "https://user:pass@example.org/"}, "VALIDATION_ERROR", "/url"),
        ({"url": "gopher://example.org/"}, "VALIDATION_ERROR", "/url"),
        ({"url": "x" * 2_000}, "VALIDATION_ERROR", "/url"),
        ({"types": ["application.eaten"]}, "VALIDATION_ERROR", "/types/0"),
        ({"types": ["webhook.test"]}, "VALIDATION_ERROR", "/types/0"),
        ({"description": "x" * 201}, "VALIDATION_ERROR", "/description"),
        ({"secret": "whsec_mine"}, "VALIDATION_ERROR", "/secret"),
    ],
)
def test_bad_endpoints_are_refused(
    acme: Caller, change: dict[str, Any], code: str, pointer: str | None
) -> None:
    made = acme.post("/webhooks", HOOK | change)
    good = acme.post("/webhooks", HOOK).json()
    changed = acme.patch(f"/webhooks/{good['id']}", change)

    for answer in (made, changed):
        assert code_of(answer) == (400, code)
        assert pointers(answer) == ([pointer] if pointer else [])
    assert WebhookEndpoint.objects.count() == 1


def test_plain_http_and_inner_hosts_are_refused_where_the_site_is_public(
    acme: Caller, settings: Any
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False

    for url in ("http://example.org/", "https://127.0.0.1/", "https://localhost/"):
        assert code_of(acme.post("/webhooks", {"url": url})) == (400, "VALIDATION_ERROR")


def test_a_company_has_only_so_many(acme: Caller, other: Caller) -> None:
    answers = [acme.post("/webhooks", HOOK) for _ in range(MOST_ENDPOINTS + 1)]

    assert code_of(answers[-1]) == (409, "LIMIT_REACHED")
    assert {each.status_code for each in answers[:-1]} == {201}
    assert other.post("/webhooks", HOOK).status_code == 201


def test_an_endpoint_is_changed_switched_off_and_deleted(acme: Caller, hook: str) -> None:
    changed = acme.patch(hook, {"types": ["job.closed"], "description": "x"}).json()
    off = acme.patch(hook, {"is_active": False}).json()
    tested = acme.post(f"{hook}/test")
    on = acme.patch(hook, {"is_active": True}).json()
    deleted = acme.delete(hook)

    assert (changed["types"], changed["description"]) == (["job.closed"], "x")
    assert (off["is_active"], off["off_reason"]) == (False, "BY_HAND")
    assert code_of(tested) == (409, "INVALID_TRANSITION")
    assert (on["is_active"], on["off_reason"], on["off_at"]) == (True, None, None)
    assert deleted.status_code == 204
    assert code_of(acme.get(hook)) == (404, "NOT_FOUND")


def test_a_rotated_secret_is_shown_once_and_signs(
    acme: Caller, hook: str, receiver: Receiver
) -> None:
    rotated = acme.post(f"{hook}/rotate-secret")
    acme.post(f"{hook}/test")
    send_due_webhooks()

    secret = rotated.json()["secret"]
    [got] = receiver.received
    assert rotated.json()["old_secret_until"] is not None
    assert standardwebhooks.Webhook(secret).verify(got.body, got.headers)
    assert "secret" not in acme.get(hook).json()


def test_a_rotation_that_is_sent_twice_under_a_key_happens_once(acme: Caller, hook: str) -> None:
    once = {"idempotency_key": "rotation-1"}
    first, again = (acme.post(f"{hook}/rotate-secret", **once) for _ in range(2))
    other = acme.post(f"{hook}/rotate-secret", idempotency_key="rotation-2")

    assert {each.status_code for each in (first, again, other)} == {200}
    assert again.json() == first.json()
    assert other.json()["secret"] != first.json()["secret"]
    assert code_of(acme.post(f"{hook}/rotate-secret", **once)) == (409, "DUPLICATE_SUBMISSION")
    assert acme.get(hook).json() == {k: v for k, v in other.json().items() if k != "secret"}


def test_a_rotated_secret_is_not_shown_for_ever(acme: Caller, hook: str) -> None:
    first = acme.post(f"{hook}/rotate-secret", idempotency_key="rotation-1")
    made = WebhookEndpoint.objects.filter(id=hook.rpartition("/")[2])
    made.update(rotated_at=Now() - SHOWN_AGAIN_FOR)

    late = acme.post(f"{hook}/rotate-secret", idempotency_key="rotation-1")

    assert code_of(late) == (409, "DUPLICATE_SUBMISSION")
    assert late.json()["existing_id"] == first.json()["id"]
    assert "another Idempotency-Key" in late.json()["detail"]


def test_deliveries_are_listed_filtered_paged_and_shown_whole(
    acme: Caller, company: Company, hook: str
) -> None:
    factories.applications(factories.job(company_id=company.id), 2)
    acme.post(f"{hook}/test")
    deliver()

    every = acme.get(f"{hook}/deliveries").json()["data"]
    tests = acme.get(f"{hook}/deliveries", {"type": "webhook.test"}).json()["data"]
    failed = acme.get(f"{hook}/deliveries", {"state": "FAILED"}).json()["data"]
    first = acme.get(f"{hook}/deliveries", {"limit": 2}).json()
    second = acme.get(f"{hook}/deliveries", {"limit": 2, "cursor": first["next_cursor"]}).json()
    whole = acme.get(f"{hook}/deliveries/{tests[0]['id']}").json()

    assert {each["type"] for each in every} == {
        *("application.applied", "job.created", "job.opened", "webhook.test")
    }
    assert len(every) == 5
    assert [each["type"] for each in tests] == ["webhook.test"]
    assert failed == []
    assert [*first["data"], *second["data"]] == every[:4]
    assert (whole["state"], whole["body"]["type"]) == ("DELIVERED", "webhook.test")
    assert whole["webhook_id"] == f"msg_{UUID(whole['id']).hex}"
    [attempt] = whole["log"]
    assert (attempt["number"], attempt["status"], attempt["error"]) == (1, 204, None)
    assert attempt["request_headers"]["webhook-id"] == whole["webhook_id"]
    assert "webhook-signature" not in attempt["request_headers"]


def test_one_is_sent_again_and_all_that_failed(acme: Caller, hook: str, receiver: Receiver) -> None:
    sent = acme.post(f"{hook}/test").json()
    send_due_webhooks()

    again = acme.post(f"{hook}/deliveries/{sent['id']}/redeliver")
    send_due_webhooks()
    WebhookDelivery.objects.update(state="FAILED")
    task = acme.post(f"{hook}/deliveries/redeliver", {"since": "2026-01-01T00:00:00Z"})

    assert (again.status_code, again.json()["state"]) == (202, "PENDING")
    assert len({each.id for each in receiver.received}) == 1
    assert len(receiver.received) == 2
    assert task.status_code == 202
    assert task.headers["Location"] == f"/api/v1/tasks/{task.json()['id']}"
    assert Task.objects.get(id=task.json()["id"]).type.key == REDELIVER


def test_a_key_that_only_reads_and_other_companies_see_nothing(
    acme: Caller, other: Caller, company: Company, hook: str
) -> None:
    sent = acme.post(f"{hook}/test").json()["id"]
    reader = key_of(company.id, Scope.READ)

    for path in (hook, f"{hook}/deliveries", f"{hook}/deliveries/{sent}"):
        assert code_of(reader.get(path)) == (403, "PERMISSION_DENIED")
        assert code_of(other.get(path)) == (404, "NOT_FOUND")
    for path in (f"{hook}/test", f"{hook}/rotate-secret", f"{hook}/deliveries/{sent}/redeliver"):
        assert code_of(reader.post(path)) == (403, "PERMISSION_DENIED")
        assert code_of(other.post(path)) == (404, "NOT_FOUND")
    assert other.get("/webhooks").json()["data"] == []
