"""The streams of the running server: who hears what, and that nothing is left behind."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from pipeline.live import stream_tokens
from pipeline.live.streams import HEARTBEAT_SECONDS
from pipeline.server.gunicorn_config import GRACE_SECONDS
from tests.live.listening import Stream
from tests.support import factories
from tests.support.server import serving
from tests.support.waiting import PATIENCE_SECONDS, eventually


@pytest.fixture
def site(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """The address of a running web server."""
    with serving(environment, tmp_path / "web.log") as url:
        yield url


def token_of(*jobs: UUID) -> str:
    """A token as a page has it."""
    return stream_tokens.issue(jobs)


def status_of(url: str, path: str, method: str = "GET") -> tuple[int, str | None]:
    """The status of an answer, and when to try again."""
    client = http.client.HTTPConnection(url.removeprefix("http://"), timeout=PATIENCE_SECONDS)
    client.request(method, path)
    answer = client.getresponse()
    client.close()
    return answer.status, answer.headers["Allow"]


@pytest.mark.slow
def test_a_page_that_has_slept_learns_the_time(site: str) -> None:
    client = http.client.HTTPConnection(site.removeprefix("http://"), timeout=PATIENCE_SECONDS)
    client.request("GET", "/live/clock")

    answer = client.getresponse()

    told = datetime.fromisoformat(str(answer.headers["Server-Time"]))
    assert abs(told - datetime.now(UTC)) < timedelta(seconds=5)
    assert (answer.status, answer.headers["Cache-Control"]) == (204, "no-store")
    client.close()


@pytest.mark.slow
def test_who_watches_a_job_hears_of_its_change_within_moments(site: str, announcing: None) -> None:
    mine, other = factories.job(), factories.job()
    told: list[tuple[str, dict[str, Any]]] = []
    with Stream(site, token_of(mine)) as stream:
        assert stream.answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert stream.answer.headers["Cache-Control"] == "no-store"
        assert stream.next_event() == ("check", {})  # it has begun to listen
        factories.application(other)

        start = time.monotonic()
        factories.application(mine)

        while not told or told[-1][1]["seq"] < 3:  # that it was opened may be told only now
            told.append(stream.skip_checks())
        assert time.monotonic() - start < HEARTBEAT_SECONDS / 2  # nothing else was waited for

    assert told[-1] == ("change", {"job": str(mine), "seq": 3})
    assert {job["job"] for _, job in told} == {str(mine)}


@pytest.mark.slow
def test_a_change_between_the_page_and_its_stream_is_not_lost(site: str, announcing: None) -> None:
    job = factories.job()
    with Stream(site, token_of(job)) as first, Stream(site, token_of(job)) as second:
        first.next_event()
        second.next_event()
        token = token_of(job)
        factories.application(job)
        first.skip_checks()
        second.skip_checks()

        with Stream(site, token) as late:
            assert late.next_event() == ("check", {})


@pytest.mark.slow
def test_after_a_restart_of_the_database_all_had_better_look(site: str, announcing: None) -> None:
    job = factories.job()
    with Stream(site, token_of(job)) as stream:
        stream.next_event()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'live_pages' AND datname = current_database()"
            )

        while stream.next_event() != ("check", {}):
            pass  # that the job was opened may be told only now
        factories.application(job)
        assert stream.skip_checks() == ("change", {"job": str(job), "seq": 3})


@pytest.mark.slow
def test_a_token_that_does_not_hold_is_told_to_stop(site: str) -> None:
    assert status_of(site, "/live/nonsense") == (204, None)
    assert status_of(site, "/live/") == (204, None)
    assert status_of(site, f"/live/{token_of(uuid4())}", "POST") == (405, "GET")


@pytest.mark.slow
def test_the_server_ends_at_once_though_streams_are_open(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with serving(environment, tmp_path / "web.log") as url:
        streams = [Stream(url, token_of(uuid4())) for _ in range(20)]
        start = time.monotonic()
    took = time.monotonic() - start

    assert took < GRACE_SECONDS  # which open requests are given
    for stream in streams:
        assert stream.is_at_its_end()
        stream.close()
    assert "Traceback" not in (tmp_path / "web.log").read_text()


@pytest.mark.slow
def test_open_streams_hold_no_thread_and_one_connection_a_process(site: str) -> None:
    streams = [Stream(site, token_of(uuid4())) for _ in range(60)]
    for stream in streams:
        stream.next_event()

    for _ in range(5):
        assert status_of(site, "/health/live") == (200, None)
    assert 1 <= _listeners() <= 2

    for stream in streams:
        stream.close()
    eventually(lambda: _listeners() <= 2)


def _listeners() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE application_name = 'live_pages' AND datname = current_database()"
        )
        return cursor.fetchone()[0]
