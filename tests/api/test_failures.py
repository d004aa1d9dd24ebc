"""Failures on our side: reported as such, logged in full, without showing details."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import DataError, InterfaceError, OperationalError, connection, transaction
from django.http import HttpRequest
from django.test import Client

from jobs.models import Company
from pipeline.database.errors import ClusterError
from tests.support import factories
from tests.support.callers import Caller, code_of, person

CONTRACT = {
    400: {"VALIDATION_ERROR", "MALFORMED_REQUEST"},
    401: {"NOT_AUTHENTICATED"},
    403: {"PERMISSION_DENIED"},
    404: {"NOT_FOUND"},
    405: {"METHOD_NOT_ALLOWED"},
    406: {"NOT_ACCEPTABLE"},
    409: {"DUPLICATE_SUBMISSION", "ALREADY_DECIDED", "JOB_NOT_OPEN", "INVALID_TRANSITION"},
    410: {"ACKNOWLEDGMENT_EXPIRED"},
    412: {"PRECONDITION_FAILED"},
    413: {"PAYLOAD_TOO_LARGE"},
    415: {"UNSUPPORTED_MEDIA_TYPE"},
    428: {"PRECONDITION_REQUIRED"},
    429: {"THROTTLED"},
    503: {"BUSY", "UNAVAILABLE"},
}

INSIDES = re.compile(
    r"Traceback|File \"|\.py|SELECT|INSERT|UPDATE |psycopg|django|pipeline_|jobs_job|relation|"
    r"exception|secret",
    re.IGNORECASE,
)


Raise = Callable[[Exception], None]


@pytest.fixture
def selector_raises(monkeypatch: pytest.MonkeyPatch) -> Raise:
    """Make reading a job raise something."""

    def arrange(error: Exception) -> None:
        def read_job(*_: Any) -> None:
            raise error

        monkeypatch.setattr("pipeline.api.v1.jobs.views.read_job", read_job)

    return arrange


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("SELECT secret FROM jobs_job"),
        DataError("relation secret"),
        KeyError("secret"),
        RecursionError(),
    ],
)
def test_what_nobody_foresaw_is_logged_and_says_nothing(
    nobody: Caller,
    selector_raises: Raise,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    debug: bool,
) -> None:
    settings.DEBUG = debug
    job = factories.job()
    selector_raises(error)

    with caplog.at_level(logging.ERROR, logger="pipeline.api.problems"):
        answer = nobody.get(f"/jobs/{job}")

    assert code_of(answer) == (500, "INTERNAL_ERROR")
    assert not INSIDES.search(answer.content.decode())
    record = next(each for each in caplog.records if each.name == "pipeline.api.problems")
    assert record.exc_info is not None
    assert record.exc_info[1] is error


@pytest.mark.parametrize("error", [OperationalError, InterfaceError, ClusterError])
def test_a_database_that_is_down_is_told_as_such(
    nobody: Caller, selector_raises: Raise, error: type[Exception]
) -> None:
    job = factories.job()
    selector_raises(error('connection to server at "10.0.0.1" failed: secret'))

    answer = nobody.get(f"/jobs/{job}")

    assert code_of(answer) == (503, "UNAVAILABLE")
    assert answer.headers["Retry-After"] == "5"
    assert not INSIDES.search(answer.content.decode())


def test_a_database_that_is_down_while_the_credential_is_looked_up_is_told_as_such(
    acme: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: Any) -> None:
        raise OperationalError("secret")

    monkeypatch.setattr("pipeline.api.auth.run_statements", run)

    assert code_of(acme.get("/companies/me")) == (503, "UNAVAILABLE")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OperationalError("secret"), (503, "UNAVAILABLE")),
        (ValueError("secret"), (500, "INTERNAL_ERROR")),
        (SuspiciousOperation("secret"), (400, "MALFORMED_REQUEST")),
        (PermissionDenied("secret"), (403, "PERMISSION_DENIED")),
    ],
)
def test_what_goes_wrong_before_a_view_is_reached_is_a_problem_too(
    nobody: Caller,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    expected: tuple[int, str],
) -> None:
    def process_request(_self: Any, _request: HttpRequest) -> None:
        raise error

    monkeypatch.setattr(
        "django.contrib.auth.middleware.AuthenticationMiddleware.process_request", process_request
    )

    answer = Client(raise_request_exception=False).get(
        "/api/v1/jobs", headers={"X-Request-ID": "a"}
    )

    assert code_of(answer) == expected
    assert answer.json()["request_id"] == "a"
    assert not INSIDES.search(answer.content.decode())


def test_a_host_that_is_not_ours_is_a_problem(nobody: Caller) -> None:
    answer = Client().get("/api/v1/jobs", headers={"Host": "evil.example"})

    assert code_of(answer) == (400, "MALFORMED_REQUEST")
    assert "evil" not in answer.content.decode()


def test_who_does_not_get_the_lock_in_time_is_told_to_come_again(
    acme: Caller, company: Company
) -> None:
    job = factories.job(company_id=company.id)
    _applicant, caller = person()
    locked, done = threading.Event(), threading.Event()
    holder = threading.Thread(target=_hold, args=(job, locked, done))
    holder.start()
    assert locked.wait(60)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 50")

    answer = caller.post(f"/jobs/{job}/applications", {})

    done.set()
    holder.join()
    with connection.cursor() as cursor:
        cursor.execute("RESET lock_timeout")
    assert code_of(answer) == (503, "BUSY")
    assert answer.headers["Retry-After"] == "1"
    assert not INSIDES.search(answer.content.decode())
    assert caller.post(f"/jobs/{job}/applications", {}).status_code == 201


def _hold(job: UUID, locked: threading.Event, done: threading.Event) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM jobs_job WHERE id = %s FOR NO KEY UPDATE", [job])
        locked.set()
        done.wait(60)
    connection.close()
