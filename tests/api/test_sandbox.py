"""Test mode over the API: its own keys, the clock, webhooks that say so, and named refusals."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from jobs import keys
from jobs.models import ApiKey, Company, Role, Scope
from pipeline.api.openapi.document import build_document, list_operations
from pipeline.line import settle as line_settle
from pipeline.models import WebhookDelivery
from pipeline.services import jobs
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.callers import NEW_JOB, Caller, SessionCaller, code_of, key_of
from tests.support.clock import database_now
from tests.support.sandboxes import DAY, HOUR, advance, line_with_offers, sandbox
from tests.support.task_runs import run_due_tasks
from tests.support.webhooks import endpoint

ADVANCE = "/test/clock/advance"


@pytest.fixture
def test_company(company: Company) -> Company:
    """Return Acme's sandbox."""
    return sandbox(company)


@pytest.fixture
def tester(test_company: Company) -> Caller:
    """Return a caller with a key of the sandbox."""
    return key_of(test_company.id)


def test_keys_of_a_sandbox_begin_with_another_prefix(tester: Caller, company: Company) -> None:
    live = key_of(company.id)

    assert tester.token
    assert tester.token.startswith("nilk_test_")
    assert live.token
    assert not keys.is_sandbox(live.token)
    hints = set(ApiKey.objects.values_list("hint", flat=True))
    assert hints == {tester.token[:14], live.token[:9]}


def test_no_live_key_looks_like_a_test_key(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = iter(["test_" + "x" * 38, "y" * 43])
    monkeypatch.setattr("jobs.keys.secrets.token_urlsafe", lambda _: next(tries))

    assert keys.generate() == "nilk_" + "y" * 43


def test_the_clock_tells_the_time_and_how_far_it_is_ahead(
    tester: Caller, test_company: Company
) -> None:
    advance(test_company, DAY)

    told = tester.get("/test/clock").json()

    assert told["clock_offset_seconds"] == DAY
    assert told["jobs_behind"] == 0
    now = datetime.fromisoformat(told["now"])
    assert timedelta(0) <= database_now() + timedelta(days=1) - now < timedelta(minutes=5)


def test_an_advance_says_what_has_happened(tester: Caller, test_company: Company) -> None:
    policy = {"acknowledgment_window_seconds": DAY, "max_decays": 0}
    _, people = line_with_offers(test_company, people=3, **policy)

    answer = tester.post(ADVANCE, {"seconds": 2 * DAY + HOUR})

    told = answer.json()
    assert answer.status_code == 200
    assert (told["seconds"], told["clock_offset_seconds"]) == (2 * DAY + HOUR, 2 * DAY + HOUR)
    counted = {each["event"]: each["count"] for each in told["events"]}
    assert (counted["CLOCK_ADVANCED"], counted["LAPSED"], counted["PROMOTED"]) == (1, 2, 2)
    seen = tester.get(f"/applications/{people[2].id}").json()
    assert seen["status"] == "PENDING_ACKNOWLEDGMENT"


def test_a_repeated_request_moves_the_clock_once(tester: Caller, test_company: Company) -> None:
    first, again = (
        tester.post(ADVANCE, {"seconds": DAY}, idempotency_key="tomorrow") for _ in range(2)
    )

    assert first.json() == again.json()
    test_company.refresh_from_db()
    assert test_company.clock_offset_seconds == DAY


@pytest.mark.parametrize("path", ["/test/clock", ADVANCE])
def test_a_live_key_is_told_that_it_has_no_clock(path: str, company: Company) -> None:
    caller = key_of(company.id)

    answer = caller.post(path, {"seconds": 1}) if path == ADVANCE else caller.get(path)

    assert code_of(answer) == (403, "NOT_A_SANDBOX")


@pytest.mark.parametrize("seconds", [0, -5, 400 * DAY + 1, "a day", None, 1.5, True])
def test_bad_seconds_are_refused(seconds: Any, tester: Caller) -> None:
    answer = tester.post(ADVANCE, {"seconds": seconds})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert answer.json()["errors"][0]["pointer"] == "/seconds"


def test_a_read_key_cannot_move_the_clock(test_company: Company) -> None:
    reader = key_of(test_company.id, Scope.READ)

    assert reader.get("/test/clock").status_code == 200
    assert code_of(reader.post(ADVANCE, {"seconds": 1})) == (403, "PERMISSION_DENIED")


def test_limits_of_a_sandbox_have_names(
    tester: Caller, test_company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MOST_SANDBOX_JOBS", 1)
    monkeypatch.setattr(line_settle, "MOST_INSTANTS", 1)
    monkeypatch.setattr("pipeline.services.sandboxes.MOST_SLICES", 1)
    line_with_offers(test_company, people=5, acknowledgment_window_seconds=HOUR, max_decays=0)

    assert code_of(tester.post("/jobs", NEW_JOB)) == (409, "SANDBOX_FULL")
    assert tester.post(ADVANCE, {"seconds": 5 * HOUR}).json()["jobs_behind"] == 1
    moving = tester.post(ADVANCE, {"seconds": 5})
    assert code_of(moving) == (409, "CLOCK_MOVING")
    assert moving.headers["Retry-After"] == "1"
    factories.settle_all()
    Company.objects.filter(id=test_company.id).update(clock_offset_seconds=3_660 * DAY)
    assert code_of(tester.post(ADVANCE, {"seconds": 5})) == (409, "CLOCK_LIMIT")


def test_webhooks_tell_the_time_of_the_sandbox_and_say_that_it_is_a_test(
    test_company: Company, company: Company
) -> None:
    for each in (test_company, company):
        endpoint(each.id, "https://hooks.example/in")
        factories.job(company_id=each.id)
    run_due_tasks("webhooks.queue")
    WebhookDelivery.objects.all().delete()
    advance(test_company, DAY)
    factories.job(company_id=company.id)
    run_due_tasks("webhooks.queue")

    told = {}
    for body in WebhookDelivery.objects.values_list("body", flat=True):
        told.setdefault(json.loads(body)["type"], json.loads(body))
    assert told["job.clock_advanced"]["test"] is True
    assert "test" not in told["job.opened"]


def test_a_test_of_a_webhook_tells_the_time_of_the_sandbox(
    test_company: Company, tester: Caller
) -> None:
    hook, _ = endpoint(test_company.id, "https://hooks.example/in")
    advance(test_company, 30 * DAY)

    sent = tester.post(f"/webhooks/{hook.id}/test")

    body = json.loads(WebhookDelivery.objects.get(id=sent.json()["id"]).body)
    assert body["test"] is True
    ahead = datetime.fromisoformat(body["timestamp"]) - database_now()
    assert timedelta(days=29) < ahead < timedelta(days=31)


def test_the_document_lists_the_refusals_of_a_sandbox_where_they_occur() -> None:
    told: dict[str, set[str]] = {"CLOCK_MOVING": set(), "SANDBOX_FULL": set()}
    responses = build_document()["components"]["responses"]
    for _, _, operation in list_operations(build_document()):
        for answer in operation["responses"].values():
            shared = responses.get(answer.get("$ref", "").rpartition("/")[2], {})
            for code in told.keys() & {*shared.get("x-codes", ())}:
                told[code].add(operation["operationId"])

    ends = {"withdraw", "remove_application", "close_job", "contest"}
    assert told["SANDBOX_FULL"] - {"create_job"} == told["CLOCK_MOVING"] - ends - {"advance_clock"}
    assert ends < told["CLOCK_MOVING"]
    assert told["SANDBOX_FULL"] >= {
        *("apply", "acknowledge", "reinstate_application"),
        *("change_job", "open_job", "pause_job", "create_job"),
    }


def test_a_full_job_of_a_sandbox_takes_ends_and_nothing_else(
    tester: Caller, test_company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, people = line_with_offers(test_company, people=2)
    monkeypatch.setattr(line_settle, "MOST_SANDBOX_EVENTS", 1)

    for verb in ("open", "pause"):
        assert code_of(tester.post(f"/jobs/{job}/{verb}")) == (409, "SANDBOX_FULL")
    assert code_of(tester.patch(f"/jobs/{job}", {"title": "New"})) == (409, "SANDBOX_FULL")
    end = tester.post(f"/applications/{people[0].id}/remove", {"outcome": "REMOVED"})
    assert end.status_code == 200
    assert tester.post(f"/jobs/{job}/close").status_code == 200


def test_a_member_names_the_sandbox_to_act_in_it(company: Company) -> None:
    user = member_of(company, Role.VIEWER)
    found = sandbox(company)

    assert SessionCaller().as_staff(user).get("/companies/me").json()["id"] == str(company.id)
    in_sandbox = SessionCaller(company=found).as_staff(user)
    assert in_sandbox.get("/companies/me").json()["id"] == str(found.id)
    assert in_sandbox.get("/test/clock").status_code == 200


def test_a_strangers_sandbox_does_not_exist(company: Company, other_company: Company) -> None:
    user = member_of(company)

    caller = SessionCaller(company=sandbox(other_company)).as_staff(user)

    assert caller.get("/companies/me").status_code == 404


def test_replay_and_pipeline_go_by_the_sandboxes_clock(
    tester: Caller, test_company: Company
) -> None:
    job_id, _ = line_with_offers(test_company, people=2, acknowledgment_window_seconds=DAY)
    advance(test_company, HOUR)
    later = (database_now() + timedelta(minutes=59)).isoformat()

    told = tester.get(f"/jobs/{job_id}/replay", {"as_of": later})

    assert told.status_code == 200
    server_time = datetime.fromisoformat(told.json()["server_time"])
    assert server_time > database_now() + timedelta(minutes=59)
