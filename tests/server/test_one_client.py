"""One client never stops another: slow readers and senders, heavy reads, and too much at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from jobs.models import Company, Scope
from jobs.services import create_api_key
from pipeline.live.channel import channel_connection_parameters
from pipeline.server.request_body import MOST_LARGE_PER_CLIENT
from pipeline.server.request_queue import PER_CLIENT
from tests.server.clients import (
    BUNDLE,
    all_slow,
    ask,
    p95,
    repeating,
    seconds_of,
    slow_reader,
    slow_sender,
)
from tests.support import factories
from tests.support.crowd import crowd
from tests.support.server import serving

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

# How long the attack lasts, and how many wait in the line that it reads.
ATTACK_SECONDS = float(os.environ.get("ATTACK_SECONDS", "20"))
ATTACK_PEOPLE = int(os.environ.get("ATTACK_PEOPLE", "6000"))
# What a busy machine may add to three times the quiet value.
FLOOR_SECONDS = 0.4
OFF = {"THROTTLE_API": "off", "THROTTLE_ANONYMOUS": "off", "SECURE_COOKIES": "off"}
ME = "/api/v1/companies/me"


def key_of(company: Company, *scopes: Scope) -> str:
    """A key of a company's."""
    return create_api_key(company_id=company.id, name="k", scopes=list(scopes or Scope))[1]


@pytest.fixture
def neighbour() -> str:
    """The key of somebody who does nothing wrong."""
    return key_of(factories.company())


@pytest.fixture
def port(environment: dict[str, str], tmp_path: Path) -> Iterator[int]:
    """The port of a web server of one process, where a statement may take two seconds."""
    bounds = OFF | {"STATEMENT_SECONDS": "2"}
    with serving(environment | bounds, tmp_path / "web.log", workers=1) as url:
        yield int(url.rpartition(":")[2])
    log = (tmp_path / "web.log").read_text()
    assert "Exception in ASGI application" not in log, log[-3_000:]


def test_slow_readers_of_files_and_of_the_description_hold_nobody_up(
    port: int, neighbour: str
) -> None:
    ask(port, "/api/v1/openapi.json")
    paths = [BUNDLE] * 40 + ["/api/v1/openapi.json"] * 24

    with all_slow([slow_reader(port, path) for path in paths]):
        seconds_of(lambda: ask(port, "/health/live"), during=2)
        took = seconds_of(lambda: ask(port, ME, neighbour), during=3)

    assert max(took) < 5


def test_who_sends_slowly_is_counted_by_address_and_never_stops_who_is_known(
    port: int, neighbour: str
) -> None:
    assert ask(port, ME, neighbour)[0] == 200
    with ExitStack() as senders:
        for _ in range(PER_CLIENT):
            senders.enter_context(slow_sender(port))

        status, headers, said = ask(port, "/api/v1/jobs")
        page, _, html = ask(port, "/")

        assert (status, said["code"], said["status"]) == (429, "THROTTLED", 429)
        assert headers["retry-after"] == "1"
        assert said["request_id"] == headers["x-request-id"]
        assert page == 429
        assert b"<h1>" in html
        assert ask(port, "/health/live")[0] == 200
        assert ask(port, ME, neighbour)[0] == 200

    assert ask(port, "/api/v1/jobs")[0] == 200


def test_large_bodies_are_bounded_before_they_are_received(port: int, neighbour: str) -> None:
    with ExitStack() as senders:
        for _ in range(MOST_LARGE_PER_CLIENT):
            senders.enter_context(slow_sender(port, 2_000_000))
        ask(port, "/health/live")

        status, headers, said = ask(
            port, "/api/v1/jobs", method="POST", body=b"x" * 1_000_000, Content_Type="text/plain"
        )

        assert (status, said["code"]) == (503, "UNAVAILABLE")
        assert int(headers["retry-after"]) > 0
        assert ask(port, "/api/v1/jobs")[0] == 200


def test_a_file_from_nobody_is_not_received(port: int) -> None:
    job = factories.job()

    status, headers, said = ask(
        port,
        f"/api/v1/jobs/{job}/applications/import",
        method="POST",
        body=b"name,email\n" * 800_000,
        Content_Type="text/csv",
    )

    assert (status, said["code"]) == (401, "NOT_AUTHENTICATED")
    assert headers["connection"] == "close"


def test_a_read_that_takes_the_database_too_long_is_refused_by_name(
    port: int, neighbour: str
) -> None:
    assert ask(port, ME, neighbour)[0] == 200
    with psycopg.connect(**channel_connection_parameters() | {"autocommit": False}) as session:
        session.execute("LOCK TABLE jobs_company IN ACCESS EXCLUSIVE MODE")

        status, headers, said = ask(port, ME, neighbour)

    assert (status, said["code"]) == (503, "UNAVAILABLE")
    assert "took too long" in said["detail"]
    assert headers["retry-after"] == "30"
    assert ask(port, ME, neighbour)[0] == 200


def test_behind_tls_a_client_is_kept_on_it(environment: dict[str, str], tmp_path: Path) -> None:
    company = factories.company()
    for _ in range(2):
        factories.job(company_id=company.id)
    settings = environment | OFF | {"TRUSTED_PROXIES": "127.0.0.0/8", "SECURE_COOKIES": "on"}
    with serving(settings, tmp_path / "web.log", workers=1) as url:
        port = int(url.rpartition(":")[2])
        through = {"X_Forwarded_Proto": "https", "X_Forwarded_For": "198.51.100.7:4711"}
        _, headers, _ = ask(port, "/api/v1/jobs?limit=1", key_of(company), **through)
        _, plain, _ = ask(port, "/api/v1/jobs?limit=1")

    assert headers["link"].startswith("</api/v1/jobs?")
    assert headers["strict-transport-security"] == "max-age=31536000"
    assert plain["link"].startswith("</")


def test_the_description_is_remembered_and_told_as_before(port: int) -> None:
    path = "/api/v1/openapi.json"
    first, again = (ask(port, path, X_Request_ID=name) for name in ("one", "two"))

    changing = {"x-request-id", "date"}
    assert first[2] == again[2]
    assert {k: v for k, v in first[1].items() if k not in changing} == {
        k: v for k, v in again[1].items() if k not in changing
    }
    assert (first[1]["x-request-id"], again[1]["x-request-id"]) == ("one", "two")
    assert ask(port, path, If_None_Match=first[1]["etag"])[0] == 304


@pytest.mark.timeout(300 + 2 * ATTACK_SECONDS)
def test_a_neighbour_is_served_whatever_the_others_do(
    environment: dict[str, str], neighbour: str, tmp_path: Path
) -> None:
    company = factories.company()
    job = factories.job(company_id=company.id)
    crowd(job, ATTACK_PEOPLE)
    reader, writer = key_of(company, Scope.READ), key_of(company)
    room = {"FILE_BYTES_PER_COMPANY": str(2**40)}  # or the attack soon ends with 409 FILES_FULL
    with serving(environment | OFF | room, tmp_path / "web.log") as url:
        port = int(url.rpartition(":")[2])
        quiet = p95(seconds_of(lambda: ask(port, ME, neighbour), during=5))
        quiet_health = p95(seconds_of(lambda: ask(port, "/health/live"), during=2))

        with ExitStack() as attack:
            paths = [BUNDLE] * 16 + ["/api/v1/openapi.json"] * 8 + ["/"] * 8
            slow = [slow_reader(port, path) for path in paths]
            attack.enter_context(all_slow(slow, [slow_sender(port) for _ in range(32)]))
            replays = attack.enter_context(
                repeating(lambda: ask(port, f"/api/v1/jobs/{job}/replay", reader)[0], 8)
            )
            uploads = attack.enter_context(repeating(lambda: _upload(port, job, writer), 8))
            half = ATTACK_SECONDS / 2
            loud = p95(seconds_of(lambda: ask(port, ME, neighbour), during=half))
            loud_health = p95(seconds_of(lambda: ask(port, "/health/live"), during=half))

    assert set(replays) <= {200, 503}
    assert 200 in replays
    assert set(uploads) <= {202, 429, 503}
    assert 202 in uploads
    assert loud <= 3 * quiet + FLOOR_SECONDS, f"{quiet:.3f} s, then {loud:.3f} s"
    assert loud_health <= 3 * quiet_health + FLOOR_SECONDS


def _upload(port: int, job: UUID, key: str) -> int:
    body = b"name,email\n" + b"\n" * 8_000_000
    path = f"/api/v1/jobs/{job}/applications/import"
    return ask(port, path, key, method="POST", body=body, Content_Type="text/csv")[0]
