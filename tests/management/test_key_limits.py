"""`manage.py create_api_key` with limits for background work."""

from __future__ import annotations

from io import StringIO
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from jobs.models import ApiKey
from pipeline.models import Producer
from tasks.models import Status
from tests.support import factories
from tests.support.background_tasks import dead_sleep, row_of
from tests.support.callers import Caller, code_of

pytestmark = pytest.mark.django_db


def made(*options: str) -> Caller:
    """A caller with a key that the command has made for a new company."""
    said = StringIO()
    company = str(factories.company().id)
    call_command("create_api_key", company, "--name", "CI", *options, stdout=said)
    return Caller(said.getvalue().strip())


def test_a_key_can_be_made_for_some_work_at_a_rate_of_its_own() -> None:
    caller = made("--tasks", "log.export, demo.sleep", "--tasks-per-minute", "2")

    answers = [caller.post("/tasks", {"type": "demo.sleep"}) for _ in range(3)]
    report = caller.post("/tasks", {"type": "report.weekly"})

    assert [code_of(each) for each in answers] == [(201, None), (201, None), (429, "THROTTLED")]
    assert int(answers[2].headers["Retry-After"]) in range(1, 61)
    assert '"tasks";q=2;w=60' in answers[0].headers["RateLimit-Policy"]
    assert code_of(report) == (403, "TYPE_NOT_ALLOWED")


def test_a_batch_that_its_rate_never_lets_through_is_not_told_to_wait() -> None:
    caller = made("--tasks-per-minute", "2")

    answer = caller.post("/tasks/batch", {"tasks": [{"type": "demo.sleep"}] * 3})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert "Retry-After" not in answer.headers
    assert "2 tasks in 60 seconds" in answer.json()["detail"]
    assert answer.json()["errors"][0]["pointer"] == "/tasks"
    assert caller.post("/tasks", {"type": "demo.sleep"}).status_code == 201


def test_a_key_can_be_made_for_no_work_at_all() -> None:
    caller = made("--tasks", "none")

    plan = {"name": "a", "cron": "0 9 * * 1", "type": "demo.sleep"}

    assert code_of(caller.post("/tasks", {"type": "demo.sleep"})) == (403, "TYPE_NOT_ALLOWED")
    assert code_of(caller.post("/schedules", plan)) == (403, "TYPE_NOT_ALLOWED")
    assert not any(each["allowed"] for each in caller.get("/task-types").json()["data"])


def test_what_a_key_may_not_start_it_cannot_let_run_again() -> None:
    caller = made("--tasks", "log.export")
    task = dead_sleep(UUID(caller.get("/companies/me").json()["id"]))

    one = caller.post(f"/tasks/{task}/replay")
    many = caller.post("/tasks/dead/replay", {"type": "demo.sleep"})

    assert code_of(one) == code_of(many) == (403, "TYPE_NOT_ALLOWED")
    assert row_of(task).status == Status.DEAD


def test_without_limits_it_starts_whatever_the_company_may() -> None:
    for options in ((), ("--tasks", "all")):
        assert made(*options).post("/tasks", {"type": "demo.sleep"}).status_code == 201
    assert not Producer.objects.exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--tasks", "mail.send"], "'mail.send' is none of"),
        (["--tasks-per-minute", "0"], "it must be 1 to"),
        (["--tasks-per-minute", "many"], "invalid int value"),
    ],
)
def test_limits_that_are_none_make_no_key(options: list[str], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        made(*options)

    assert not ApiKey.objects.exists()


def test_too_much_that_waits_is_told_with_when_to_come_again(settings: object) -> None:
    settings.TASK_BACKLOG_PER_COMPANY = 1  # type: ignore[attr-defined]
    caller = made()
    caller.post("/tasks", {"type": "demo.sleep"})

    answer = caller.post("/tasks", {"type": "demo.sleep"}, idempotency_key="k")

    assert code_of(answer) == (429, "BACKPRESSURE")
    assert answer.headers["Retry-After"] == "30"
