"""Each endpoint of background work, called by each kind of caller."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from jobs.models import ApiKey, Company, Role, Scope
from tasks.scheduling import schedules
from tests.support import background_tasks, factories
from tests.support.callers import Caller, key_of, member_caller, person

WORK = {"type": "demo.sleep"}
PLAN = {"name": "Mondays", "cron": "0 9 * * 1", "type": "demo.sleep"}

READS = [
    ("/tasks", 200, 200),
    ("/tasks/stats", 200, 200),
    ("/tasks/dead", 200, 200),
    ("/tasks/{task}", 200, 404),
    ("/tasks/{task}/events", 200, 404),
    ("/tasks/{task}/refused-rows", 404, 404),
    ("/files/{task}", 404, 404),
    ("/task-types", 200, 200),
    ("/schedules", 200, 200),
    ("/schedules/{schedule}", 200, 404),
]
"""What is read, and the status for the company itself and for another one."""

ACTS = [
    ("post", "/jobs/{job}/applications/import", b"name,email\na,a@example.org\n", 202, 404),
    ("post", "/tasks", WORK, 201, 201),
    ("post", "/tasks/batch", {"tasks": [WORK]}, 201, 201),
    ("post", "/tasks/dead/replay", WORK, 200, 200),
    ("post", "/tasks/{task}/cancel", None, 202, 404),
    ("post", "/tasks/{dead}/replay", None, 200, 404),
    ("post", "/tasks/{dead}/discard", None, 200, 404),
    ("post", "/task-types/demo.sleep/pause", None, 200, 200),
    ("post", "/task-types/demo.sleep/resume", None, 200, 200),
    ("post", "/schedules", PLAN, 201, 201),
    ("patch", "/schedules/{schedule}", {"name": "b"}, 200, 404),
    ("delete", "/schedules/{schedule}", None, 204, 404),
]
"""What changes something, with the same two statuses. Of members, owners alone plan."""


@pytest.fixture
def names(company: Company) -> dict[str, UUID]:
    """Something of the company for every name in a path."""
    plan = schedules.create(name="a", cron="0 9 * * 1", type_key="demo.sleep", owner_id=company.id)
    return {
        "job": factories.job(company_id=company.id),
        "task": background_tasks.sleep(company.id),
        "dead": background_tasks.dead_sleep(company.id),
        "schedule": plan.id,
    }


def strangers(company: Company) -> dict[str, tuple[Caller, int]]:
    """Callers who may neither read nor act, each with the refusal that they get."""
    revoked = key_of(company.id)
    ApiKey.objects.update(revoked_at="2026-01-01T00:00:00Z")
    return {
        "nobody": (Caller(), 401),
        "a revoked key": (revoked, 401),
        "an applicant": (person()[1], 403),
    }


def send(caller: Caller, method: str, path: str, body: Any) -> int:
    """Ask for something; gives the status."""
    if method == "get":
        return caller.get(path).status_code
    how = {"content_type": "text/csv"} if isinstance(body, bytes) else {}
    answer = getattr(caller, method)(path, body, **how)
    return int(answer.status_code)


@pytest.mark.parametrize(("path", "own", "foreign"), READS)
def test_whoever_may_read_reads_the_companys_own(
    company: Company, names: dict[str, UUID], path: str, own: int, foreign: int
) -> None:
    callers = strangers(company) | {
        "a key that may read": (key_of(company.id, Scope.READ), own),
        "a viewer": (member_caller(company, Role.VIEWER), own),
        "another company": (key_of(factories.company().id), foreign),
    }

    got = {who: send(each, "get", path.format(**names), None) for who, (each, _) in callers.items()}

    assert got == {who: status for who, (_, status) in callers.items()}


@pytest.mark.parametrize(("method", "path", "body", "own", "foreign"), ACTS)
def test_only_who_may_write_acts_and_only_on_the_companys_own(
    company: Company,
    names: dict[str, UUID],
    method: str,
    path: str,
    body: Any,
    own: int,
    foreign: int,
) -> None:
    callers = strangers(company) | {
        "a key that may read": (key_of(company.id, Scope.READ), 403),
        "a viewer": (member_caller(company, Role.VIEWER), 403),
        "another company": (key_of(factories.company().id), foreign),
    }
    owners_only = path.startswith("/schedules")
    callers["a recruiter"] = (member_caller(company, Role.RECRUITER), 403 if owners_only else own)
    if owners_only:
        callers["an owner"] = (member_caller(company, Role.OWNER), own)

    got = {
        who: send(each, method, path.format(**names), body) for who, (each, _) in callers.items()
    }

    assert got == {who: status for who, (_, status) in callers.items()}
