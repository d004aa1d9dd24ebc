"""Metrics for Prometheus: access and content."""

from __future__ import annotations

import http.client
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.db.models.functions import Now
from django.test import Client

from pipeline.config import env
from pipeline.live import stream_tokens
from pipeline.models import Application
from tasks.enqueue import enqueue
from tasks.models import Task, TaskTally, TaskTotal, TaskType
from tests.api.test_health import beat, task_worker
from tests.live.listening import Stream
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.server import serving
from tests.support.waiting import eventually

ELSEWHERE = "203.0.113.7"


def scrape(client: Client | None = None, **environment: str) -> Any:
    return (client or Client()).get("/metrics", **environment)  # type: ignore[arg-type]


def samples(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def values(**environment: str) -> dict[str, float]:
    return samples(scrape(**environment).content.decode())


@pytest.mark.django_db(transaction=True)
def test_they_say_how_the_lines_stand(django_assert_num_queries: Any) -> None:
    factories.applications(factories.job(capacity=2), 5)
    factories.job(open_now=False)
    beat(seconds_ago=20)

    # The database takes four, and background work ten: one for each of its numbers, companies' own
    # breakers among them.
    with django_assert_num_queries(1 + 4 + 10):
        found = values()

    assert found['nextinline_jobs{status="OPEN"}'] == 1
    assert found['nextinline_jobs{status="DRAFT"}'] == 1
    assert found['nextinline_applications{status="ACTIVE"}'] == 2
    assert found["nextinline_people_waiting"] == 3
    assert found["nextinline_events_total"] == 2 + 5 + 1
    assert found["nextinline_seats_idle_with_eligible"] == 0
    assert found["nextinline_overdue_settlements"] == 0
    assert found["nextinline_oldest_overdue_seconds"] == 0
    assert 20 <= found["nextinline_decay_heartbeat_age_seconds"] < 40
    assert found["nextinline_database_up"] == 1


@pytest.mark.django_db
def test_monitoring_may_ask_each_process_at_its_own_address_and_pages_may_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(env, "METRICS_TOKEN", "of-a-test")
    given = {"HTTP_HOST": "10.1.2.3:8000", "REMOTE_ADDR": ELSEWHERE}
    client = Client()

    assert scrape(client, **given, HTTP_AUTHORIZATION="Bearer of-a-test").status_code == 200
    assert client.get("/health/ready", **given).status_code == 503  # type: ignore[arg-type]
    assert client.get("/", **given).status_code == 400  # type: ignore[arg-type]
    assert scrape(client, **given).status_code in (400, 404)


@pytest.mark.django_db(transaction=True)
def test_they_say_what_is_late() -> None:
    job = factories.job(capacity=1, acknowledge_first_seat=True)
    factories.applications(job, 2)
    let_time_pass(job, factories.WINDOW + 30)

    overdue = values()
    Application.objects.filter(status="PENDING_ACKNOWLEDGMENT").update(
        status="INACTIVE", outcome="REMOVED", acknowledge_by=None, ended_at="2026-01-01T00:00:00Z"
    )
    factories.Job.objects.update(pending_count=0)

    assert overdue["nextinline_overdue_settlements"] == 1
    assert 30 <= overdue["nextinline_oldest_overdue_seconds"] < 60
    assert overdue["nextinline_seats_idle_with_eligible"] == 0
    assert values()["nextinline_seats_idle_with_eligible"] == 1
    assert "nextinline_decay_heartbeat_age_seconds" not in overdue


@pytest.mark.django_db
def test_they_say_how_background_work_stands() -> None:
    for priority in (0, 0, 7):
        enqueue("demo.sleep", {}, priority=priority)
    enqueue("demo.sleep", {}, delay_seconds=60)
    died = enqueue("demo.sleep", {})
    Task.objects.filter(id=died.id).update(status="DEAD", finished_at=Now())
    task_worker(seconds_ago=25)

    found = values()

    assert found['nextinline_tasks_pending{priority="0",type="demo.sleep@1"}'] == 3
    assert found['nextinline_tasks_pending{priority="7",type="demo.sleep@1"}'] == 1
    assert 0 <= found['nextinline_tasks_oldest_pending_seconds{priority="7"}'] < 60
    assert found['nextinline_tasks_dead{type="demo.sleep@1"}'] == 1
    assert found["nextinline_task_workers"] == 1
    assert found["nextinline_tasks_enqueued_5m"] == 5


@pytest.mark.django_db
def test_they_count_how_runs_ended_and_how_long_they_took() -> None:
    enqueue("demo.sleep", {})
    [kind] = TaskType.objects.filter(key="demo.sleep")
    ends = {"succeeded": 3, "failed": 2, "retried": 1, "dead": 1}
    TaskTotal.objects.create(type=kind, took_100ms=3, seconds=0.2, **ends)
    TaskTally.objects.create(type=kind, slot=Now(), took_10s=2, seconds=9.5, **ends)

    found = values()

    runs = 'nextinline_task_runs_total{{result="{}",type="demo.sleep@1"}}'
    assert [found[runs.format(end)] for end in (*ends, "expired")] == [6, 4, 2, 2, 0]
    took = 'nextinline_task_run_seconds_{}type="demo.sleep@1"}}'
    up_to = [found[took.format(f'bucket{{le="{le}",')] for le in ("0.1", "1.0", "10.0", "+Inf")]
    assert up_to == [3, 3, 5, 5]
    assert found[took.format("count{")] == 5
    assert found[took.format("sum{")] == pytest.approx(9.7)


@pytest.mark.django_db(transaction=True)
def test_requests_are_counted_by_route_and_never_by_id() -> None:
    job = factories.job()
    name = 'nextinline_http_requests_total{{method="GET",route="{}",status="{}"}}'
    route = name.format("/api/v1/jobs/<uuid:job_id>", 200)
    before = values().get(route, 0)

    Client().get(f"/api/v1/jobs/{job}")
    Client().get("/nowhere/at/all")
    Client().generic("BREW", "/health/live")
    text = scrape().content.decode()

    found = samples(text)
    assert found[route] == before + 1
    assert found[name.format("none", 404)] >= 1
    assert 'method="OTHER"' in text
    assert str(job) not in text
    assert "nowhere" not in text
    assert "nextinline_http_request_duration_seconds_bucket" in text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("environment", "status"),
    [
        ({}, 200),
        ({"REMOTE_ADDR": "::1"}, 200),
        ({"REMOTE_ADDR": ELSEWHERE}, 404),
        ({"REMOTE_ADDR": ""}, 404),
        ({"HTTP_X_FORWARDED_FOR": ELSEWHERE}, 404),
        ({"HTTP_FORWARDED": "for=127.0.0.1"}, 404),
        ({"HTTP_CF_CONNECTING_IP": ELSEWHERE}, 404),
        ({"HTTP_X_FORWARDED_PROTO": "https"}, 404),
        ({"HTTP_HOST": "localhost:8000"}, 200),
        ({"HTTP_HOST": "[::1]:8000"}, 200),
        ({"HTTP_HOST": "testserver"}, 404),
        ({"REMOTE_ADDR": ELSEWHERE, "HTTP_AUTHORIZATION": "Bearer secret"}, 200),
        ({"REMOTE_ADDR": ELSEWHERE, "HTTP_AUTHORIZATION": "Bearer Secret"}, 404),
        ({"REMOTE_ADDR": ELSEWHERE, "HTTP_AUTHORIZATION": "Bearer "}, 404),
        ({"REMOTE_ADDR": ELSEWHERE, "HTTP_AUTHORIZATION": "Bearer é"}, 404),
    ],
)
def test_only_this_machine_or_the_token_gets_them(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], status: int
) -> None:
    monkeypatch.setattr(env, "METRICS_TOKEN", "secret")

    assert scrape(**environment).status_code == status


def test_without_a_token_in_the_environment_none_is_good() -> None:
    for header in ("Bearer ", "Bearer", ""):
        answer = scrape(REMOTE_ADDR=ELSEWHERE, HTTP_AUTHORIZATION=header)
        assert answer.status_code == 404


def test_without_a_database_they_say_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OperationalError("host=internal.example")

    monkeypatch.setattr("pipeline.api.monitoring.read_site_gauges", fail)

    text = scrape().content.decode()

    assert samples(text)["nextinline_database_up"] == 0
    assert "internal.example" not in text


@pytest.mark.django_db(transaction=True)
def test_before_a_migration_they_say_what_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_there() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT FROM pipeline_not_migrated_yet")

    monkeypatch.setattr("pipeline.api.monitoring.read_gauges", not_there)

    answer = scrape()

    found = samples(answer.content.decode())
    assert answer.status_code == 200
    assert found["nextinline_database_up"] == 1
    assert "nextinline_people_waiting" in found
    assert "nextinline_database_bytes" not in found


@pytest.mark.slow
def test_several_processes_are_added_up(environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "web.log"

    with serving(environment, log, workers=3) as url:
        for _ in range(60):
            get(url, "/health/ready")
        found = samples(get(url, "/metrics"))

    total = "nextinline_http_requests_total"
    answers = [number for name, number in found.items() if name.startswith(total)]
    ready = [n for name, n in found.items() if name.startswith(total) and "/health/ready" in name]
    assert sum(ready) == 60
    assert len(answers) > len(ready)
    assert "Traceback" not in log.read_text()


@pytest.mark.slow
def test_open_streams_are_counted_over_all_processes(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with serving(environment, tmp_path / "web.log", workers=3) as url:
        streams = [Stream(url, stream_tokens.issue([uuid4()])) for _ in range(20)]
        for stream in streams:
            stream.next_event()
        open_ones = samples(get(url, "/metrics"))["nextinline_live_streams"]
        for stream in streams[:15]:
            stream.close()
        eventually(lambda: samples(get(url, "/metrics"))["nextinline_live_streams"] == 5)
        for stream in streams[15:]:
            stream.close()

    assert open_ones == 20


def get(url: str, path: str) -> str:
    """The text of an answer. Raises TimeoutError after ten seconds."""
    host = url.removeprefix("http://")
    with closing(http.client.HTTPConnection(host, timeout=60)) as client:
        client.request("GET", path)
        return client.getresponse().read().decode()
