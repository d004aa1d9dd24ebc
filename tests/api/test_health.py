"""Health checks: is the process alive, and can it serve?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.db.models.functions import Now
from django.test import Client
from django.utils.dateparse import parse_datetime

from pipeline.database.errors import ClusterError
from pipeline.models import Heartbeat
from tasks.models import TaskWorker


def beat(worker: str = "decay", *, seconds_ago: int = 0) -> None:
    """The worker completed a cycle that long ago."""
    Heartbeat.objects.create(worker=worker, completed_at=Now() - timedelta(seconds=seconds_ago))


def task_worker(*, seconds_ago: int = 0) -> None:
    """A task worker gave a sign of life that long ago."""
    beat_at = Now() - timedelta(seconds=seconds_ago)
    TaskWorker.objects.create(name="one", slots=2, beat_at=beat_at)


def test_the_process_lives_whatever_happens_to_the_database() -> None:
    # Without the db fixture, any query would fail this test.
    answer = Client().get("/health/live")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_with_everything_there_the_site_is_ready(django_assert_max_num_queries: Any) -> None:
    beat(seconds_ago=25)
    task_worker(seconds_ago=25)

    with django_assert_max_num_queries(4):
        answer = Client().get("/health/ready")

    assert (answer.status_code, answer.json()) == (
        200,
        {"status": "ok", "missing": [], "since": {}},
    )


@pytest.mark.django_db
@pytest.mark.parametrize(("worker", "seconds_ago"), [("decay", 31), ("decay", 3_600), ("mail", 0)])
def test_a_decay_worker_that_was_not_seen_is_named(worker: str, seconds_ago: int) -> None:
    beat(worker, seconds_ago=seconds_ago)
    task_worker()

    answer = Client().get("/health/ready")

    assert answer.status_code == 503
    told = answer.json()
    assert told["missing"] == ["decay_worker"]
    seen = Heartbeat.objects.filter(worker="decay").first()
    since = told["since"]["decay_worker"]
    assert (since and parse_datetime(since)) == (seen and seen.completed_at)


@pytest.mark.django_db
@pytest.mark.parametrize("seconds_ago", [31, None])
def test_task_workers_that_were_not_seen_are_named(seconds_ago: int | None) -> None:
    beat()
    if seconds_ago:
        task_worker(seconds_ago=seconds_ago)

    answer = Client().get("/health/ready")

    assert (answer.status_code, answer.json()["missing"]) == (503, ["task_worker"])


@pytest.mark.django_db
def test_a_migration_that_is_not_applied_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    beat()
    known = frozenset({("pipeline", "9999_tomorrow")})
    monkeypatch.setattr("pipeline.selectors.system._known_migrations", lambda: known)

    answer = Client().get("/health/ready")

    assert answer.status_code == 503
    assert answer.json()["missing"] == ["migrations"]


@pytest.mark.parametrize("error", [OperationalError("secret"), ClusterError("secret")])
def test_a_database_that_is_down_is_named_and_nothing_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def fail() -> bool:
        raise error

    monkeypatch.setattr("pipeline.api.monitoring.are_migrations_applied", fail)

    answer = Client().get("/health/ready")

    assert answer.status_code == 503
    told = answer.json()
    assert told["missing"] == ["database"]
    assert set(told) == {"status", "missing", "since"}
    assert set(told["since"]) == {"database"}
    assert caplog.records == []  # whoever probes hears it; the log would hear it every second


@pytest.mark.parametrize("path", ["/health/live", "/health/ready"])
def test_health_is_only_read_and_never_kept(path: str) -> None:
    answer = Client().post(path)

    assert answer.status_code == 405
