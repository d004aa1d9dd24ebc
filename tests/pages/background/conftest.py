"""A company with background work, and browsers of its members."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from jobs.models import Company, Role
from pipeline.background.start import TaskRequest, start
from tasks.models import Task
from tests.support import factories
from tests.support.members import browser_of

MEMBER = "member:01a20067-f797-756d-b038-6ee358443f86"
ERROR = {
    "class": "builtins.ValueError",
    "message": "no such week",
    "attempt": 3,
    "traceback": 'Traceback:\n  File "/srv/app/pipeline/tasks/reports.py", line 7, in run\n',
}


@pytest.fixture
def company(db: None) -> Company:
    """The company whose pages the tests are about."""
    cache.clear()
    return factories.company(name="Acme")


@pytest.fixture
def recruiter(company: Company) -> Client:
    return browser_of(company, Role.RECRUITER)


@pytest.fixture
def viewer(company: Company) -> Client:
    return browser_of(company, Role.VIEWER)


@pytest.fixture
def stranger(db: None) -> Client:
    """An owner of another company."""
    return browser_of(factories.company(name="Other"), Role.OWNER)


@pytest.fixture
def job(company: Company) -> UUID:
    return factories.job(company_id=company.id)


def started(company: Company, key: str = "demo.sleep", payload: Any = None) -> UUID:
    """A task of the company that waits."""
    order = TaskRequest(key, {"seconds": 5} if payload is None else payload)
    return start(company_id=company.id, producer=MEMBER, requests=[order])[0].id


def dead(company: Company, key: str = "demo.sleep", payload: Any = None, **columns: Any) -> UUID:
    """A dead letter of the company."""
    task = started(company, key, payload)
    fields = {"status": "DEAD", "attempt": 3, "errors": [ERROR], "finished_at": timezone.now()}
    Task.objects.filter(id=task).update(**fields | columns)
    return task


def ended(company: Company, result: Any, key: str = "demo.sleep", payload: Any = None) -> UUID:
    """A task of the company that is done."""
    task = started(company, key, payload)
    now = timezone.now()
    Task.objects.filter(id=task).update(
        status="SUCCEEDED", attempt=1, started_at=now, finished_at=now, result=result
    )
    return task


def status_of(task: UUID) -> str:
    return Task.objects.get(id=task).status
