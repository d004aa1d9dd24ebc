"""The API under requests that nobody thought of, by each kind of caller, on a running server.

Some hundred requests a caller, always the same ones. With --long, there are more examples of each
operation, and the company tries each bound of each parameter: five thousand requests. For a run
with others, say how many an operation and a seed:
`FUZZ_EXAMPLES=100 FUZZ_SEED=7 pytest tests/faults/api/test_fuzzing.py -s -n 0`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from applicants import tokens
from applicants.models import Applicant
from jobs.models import Company, Job, Role
from pipeline.models import Application
from tasks.scheduling import schedules
from tests.faults.api.fuzzing import fuzz
from tests.support import background_tasks, factories
from tests.support.callers import CSRF_TOKEN, key_of, member_caller
from tests.support.invariants import assert_line_is_sound
from tests.support.server import serving

RATES = ("API", "ANONYMOUS", "ANONYMOUS_APPLY", "CODE_REQUEST", "CODE_TRY", "TASKS")
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "1"))
LONG_EXAMPLES = 2
SEED = int(os.environ["FUZZ_SEED"]) if "FUZZ_SEED" in os.environ else None

RANDOM = "examples,fuzzing,stateful"
EVERYTHING = f"coverage,{RANDOM}"
"""Coverage tries each bound of each parameter: for one caller, it takes a minute."""

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def address(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """A server that never says 429 or 414 by itself, which would hide everything else."""
    unlimited = environment | {f"THROTTLE_{rate}": "off" for rate in RATES}
    unlimited["GUNICORN_CMD_ARGS"] = "--limit-request-line 0"
    with serving(unlimited, tmp_path / "server.log") as address:
        yield address


@pytest.fixture
def people(company: Company) -> list[Application]:
    """People who applied to a job: one has left, one is active, one has an offer, three wait."""
    job = factories.job(company_id=company.id, capacity=2)
    return factories.applications(job, 6)


def some_schedule(company: Company) -> UUID:
    """A schedule that never runs: there is no worker here."""
    return schedules.create(
        name="a", cron="0 9 * * 1", type_key="demo.sleep", owner_id=company.id
    ).id


def headers_of(caller: str, company: Company, person: Applicant) -> dict[str, str]:
    """Return the headers that identify a caller."""
    match caller:
        case "company":
            return {"Authorization": f"Bearer {key_of(company.id).token}"}
        case "applicant":
            return {"Authorization": f"Bearer {tokens.issue(person)}"}
        case "owner":
            cookies = member_caller(company, Role.OWNER)._client.cookies
            pairs = "; ".join(f"{name}={cookie.value}" for name, cookie in cookies.items())
            return {"Cookie": pairs, "X-CSRFToken": CSRF_TOKEN}
    return {}


@pytest.mark.in_turns(2)
@pytest.mark.long_with_option
@pytest.mark.parametrize("caller", ["company", "owner", "applicant", "nobody"])
def test_no_request_breaks_the_api_or_the_promises_of_its_document(
    address: str,
    tmp_path: Path,
    company: Company,
    people: list[Application],
    caller: str,
    long_seconds: int,
) -> None:
    is_long = long_seconds > 0
    tries_bounds = is_long and caller == "company"
    run = fuzz(
        address,
        tmp_path,
        headers=headers_of(caller, company, people[0].applicant),
        known={
            "job_id": [str(people[0].job_id)],
            "application_id": [str(each.id) for each in people],
            "applicant_id": [str(people[0].applicant_id)],
            "task_id": [
                str(background_tasks.sleep(company.id)),
                str(background_tasks.dead_sleep(company.id)),
            ],
            "schedule_id": [str(some_schedule(company))],
            "type_key": ["demo.sleep", "log.export"],
        },
        examples=max(EXAMPLES, LONG_EXAMPLES if is_long else 1),
        phases=EVERYTHING if tries_bounds or SEED is not None else RANDOM,
        seed=SEED,
    )

    print(f"{caller}: {run.requests} requests")
    assert run.found_nothing, run.said
    assert run.requests > 50
    assert "Traceback" not in (tmp_path / "server.log").read_text()
    for job_id in Job.objects.values_list("id", flat=True):
        assert_line_is_sound(job_id)
