"""Problems: one table, one shape."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from typing import Any

import psycopg
import pytest
from django.db import OperationalError
from django.test import Client
from rest_framework import exceptions as rest

from jobs.models import Company
from pipeline.api import problems as api
from pipeline.api.problem_types import DECLARED
from pipeline.api.problems import PROBLEM_TYPES
from pipeline.domain import errors as line
from tests.support import factories
from tests.support.callers import Caller, code_of

CONTRACT = {
    400: {"VALIDATION_ERROR", "MALFORMED_REQUEST"},
    401: {"NOT_AUTHENTICATED"},
    403: {"PERMISSION_DENIED"},
    404: {"NOT_FOUND"},
    405: {"METHOD_NOT_ALLOWED"},
    406: {"NOT_ACCEPTABLE"},
    409: {
        "DUPLICATE_SUBMISSION",
        "ALREADY_DECIDED",
        "JOB_NOT_OPEN",
        "INVALID_TRANSITION",
        "IDEMPOTENCY_KEY_IN_USE",
    },
    410: {"ACKNOWLEDGMENT_EXPIRED", "UPLOAD_EXPIRED"},
    412: {"PRECONDITION_FAILED"},
    413: {"PAYLOAD_TOO_LARGE"},
    415: {"UNSUPPORTED_MEDIA_TYPE"},
    422: {"FILE_NOT_ACCEPTED", "IDEMPOTENCY_KEY_REUSED"},
    428: {"PRECONDITION_REQUIRED"},
    429: {"THROTTLED"},
    503: {"BUSY", "UNAVAILABLE"},
}

BESIDES = {
    400: {"UNKNOWN_TASK_TYPE", "INVALID_PAYLOAD", "INVALID_SCHEDULE", "INVALID_FILE"},
    403: {"TYPE_NOT_ALLOWED", "NOT_A_SANDBOX"},
    409: {
        "ALREADY_CONTESTED",
        "ANSWERS_NOT_CHANGEABLE",
        "CLOCK_LIMIT",
        "CONSENTS_CHANGED",
        "CLOCK_MOVING",
        "CONFIRMATION_NEEDED",
        "CONTEST_ANSWERED",
        "CONTEST_TOO_LATE",
        "CRITERIA_CHANGED",
        "LOG_ARCHIVED",
        "MESSAGES_NOT_POSSIBLE",
        "EMAIL_NOT_REPEATABLE",
        "EXTERNAL_ID_TAKEN",
        "FILES_FULL",
        "FORM_CHANGED",
        "LAST_POSITION",
        "LIMIT_REACHED",
        "NOT_CONTESTABLE",
        "NOT_DEFERRABLE",
        "NOT_EXTENDABLE",
        "NOT_MOVABLE",
        "RESERVE_REFUSED",
        "NOT_PREACCEPTABLE",
        "NOT_PASSABLE",
        "NOT_REINSTATABLE",
        "PERSON_ERASED",
        "POSITIONS_BELOW_HIRED",
        "POSITIONS_FILLED",
        "QUESTION_NOT_ASKABLE",
        "REQUIREMENT_NOT_MET",
        "SANDBOX_FULL",
    },
    422: {"CONSENT_MISSING"},
    429: {"BACKPRESSURE"},
}
"""What background work, places given back, repeated emails, own ids and sandboxes refuse."""

INSIDES = re.compile(
    r"Traceback|File \"|\.py|SELECT|INSERT|UPDATE |psycopg|django|pipeline_|jobs_job|relation|"
    r"exception|secret",
    re.IGNORECASE,
)


def errors_of(module: Any, base: type[Exception]) -> list[type[Exception]]:
    """The errors that a module defines or has."""
    found = [each for _name, each in inspect.getmembers(module, inspect.isclass)]
    return [each for each in found if issubclass(each, base) and each is not base]


@pytest.mark.parametrize(
    "error",
    errors_of(line, line.LineError)
    + errors_of(api, rest.APIException)
    + errors_of(rest, rest.APIException),
    ids=lambda error: error.__name__,
)
def test_every_error_stands_in_the_table(error: type[Exception]) -> None:
    assert error in PROBLEM_TYPES


def test_no_exception_stands_for_two_problems() -> None:
    raised = [error for kind in DECLARED for error in kind.raised_as]

    assert len(set(raised)) == len(raised) == len(PROBLEM_TYPES)


def test_the_table_needs_no_settings() -> None:
    code = "import pipeline.api.problem_types, sys; print('rest_framework' in sys.modules)"
    clean = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "."}
    called = [sys.executable, "-c", code]
    said = subprocess.run(called, env=clean, capture_output=True, text=True, check=False)

    assert (said.stdout, said.stderr) == ("False\n", "")


def test_the_table_holds_the_contracts_codes_and_no_others() -> None:
    codes: dict[int, set[str]] = {}
    for kind in [*PROBLEM_TYPES.values(), api.classify(OperationalError())]:
        codes.setdefault(kind.status, set()).add(kind.code)
    busy = OperationalError()
    busy.__cause__ = psycopg.errors.LockNotAvailable()
    codes[503].add(api.classify(busy).code)

    assert codes == {
        status: known | BESIDES.get(status, set()) for status, known in CONTRACT.items()
    }


def test_a_problem_has_every_member_and_the_seeds_envelope(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    ann = {"name": "Ann", "email": "ann@example.org"}
    first = acme.post(f"/jobs/{job}/applications", ann)

    answer = acme.post(f"/jobs/{job}/applications", ann, x_request_id="my-id:1")

    detail = "This applicant already has a live application to this job."
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["X-Request-ID"] == "my-id:1"
    assert answer.json() == {
        "type": "/problems/duplicate-submission",
        "title": "Duplicate submission",
        "status": 409,
        "detail": detail,
        "code": "DUPLICATE_SUBMISSION",
        "request_id": "my-id:1",
        "errors": [],
        "existing_id": first.json()["id"],
        "error": {"code": "DUPLICATE_SUBMISSION", "message": detail},
    }


def test_a_refused_field_is_pointed_at(acme: Caller) -> None:
    answer = acme.post("/jobs", {"title": "Cook", "capacity": 0})

    assert answer.json()["errors"] == [
        {
            "pointer": "/capacity",
            "code": "MIN_VALUE",
            "detail": "Ensure this value is greater than or equal to 1.",
        }
    ]


@pytest.mark.parametrize(
    "path", ["/api/", "/api/v0/", "/api/v1/jobs/", "/api/v2/jobs", "/api/v1/jobs/x", "/api/v1/%00"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("debug", [False, True])
def test_an_address_under_the_api_that_is_none_is_a_problem(
    nobody: Caller, settings: Any, path: str, method: str, debug: bool
) -> None:
    settings.DEBUG = debug

    answer = Client().generic(method, path)

    assert code_of(answer) == (404, "NOT_FOUND")
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_other_addresses_that_are_none_are_pages(nobody: Caller) -> None:
    answer = Client().get("/nowhere")

    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("text/html")
