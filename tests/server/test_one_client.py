"""One client never stops another: slow readers and senders, heavy reads, and too much at a time."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from jobs.keys import create as create_api_key
from jobs.models import Company, Scope
from pipeline.live.channel import connection_parameters
from pipeline.server.request_body import MOST_LARGE_BYTES
from pipeline.server.requests import PER_CLIENT
from tests.server.clients import (
    BUNDLE,
    all_slow,
    ask,
    p95,
    seconds_of,
    slow_reader,
    slow_sender,
)
from tests.support import factories
from tests.support.crowd import crowd
from tests.support.environment import ROOT
from tests.support.server import ServeModule, serving

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

# How long the attack lasts, and how many wait in the line that it reads.
ATTACK_SECONDS = float(os.environ.get("ATTACK_SECONDS", "6"))
ATTACK_PEOPLE = int(os.environ.get("ATTACK_PEOPLE", "6000"))
# What may be added to three times the value of a server that nobody attacks.
FLOOR_SECONDS = 0.4
TURN_SECONDS = 0.5
LIVE = "/health/live"
OFF = {"THROTTLE_API": "off", "THROTTLE_ANONYMOUS": "off", "SECURE_COOKIES": "off"}
ME = "/api/v1/companies/me"
LARGE = 1_000_000  # bytes of a body that Django takes, but not into memory
logger = logging.getLogger(__name__)


def key_of(company: Company, *scopes: Scope) -> str:
    """A key of a company's."""
    return create_api_key(company_id=company.id, name="k", scopes=list(scopes or Scope))[1]


@pytest.fixture
def neighbour() -> str:
    """The key of someone who does nothing wrong."""
    return key_of(factories.company())


@pytest.fixture(scope="module")
def port(serve_module: ServeModule) -> Iterator[int]:
    """The port of a web server of one process, where a statement may take two seconds."""
    url, log = serve_module(workers=1, STATEMENT_SECONDS="2", **OFF)
    yield int(url.rpartition(":")[2])
    said = log.read_text()
    assert "Exception in ASGI application" not in said, said[-3_000:]


def test_slow_readers_of_files_and_of_the_description_hold_nobody_up(
    port: int, neighbour: str
) -> None:
    ask(port, "/api/v1/openapi.json")
    paths = [BUNDLE] * 40 + ["/api/v1/openapi.json"] * 24

    with all_slow([partial(slow_reader, port, path) for path in paths]):
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
    def post(key: str = "") -> tuple[int, dict[str, str], Any]:
        large = b"x" * LARGE
        return ask(port, "/api/v1/jobs", key, method="POST", body=large, Content_Type="text/plain")

    assert ask(port, ME, neighbour)[0] == 200
    with ExitStack() as senders:
        for _ in range(MOST_LARGE_BYTES // 4 // LARGE):  # half of the strangers' half
            senders.enter_context(slow_sender(port, LARGE))
        ask(port, "/health/live")

        status, headers, said = post()

        assert (status, said["code"]) == (503, "UNAVAILABLE")
        assert int(headers["retry-after"]) > 0
        assert ask(port, "/api/v1/jobs")[0] == 200
        assert post(neighbour)[0] == 415  # received, though text is no body of this address

    assert post()[0] == 401


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
    with psycopg.connect(**connection_parameters() | {"autocommit": False}) as session:
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
    hsts = {"SECURE_HSTS_INCLUDE_SUBDOMAINS": "on", "SECURE_HSTS_PRELOAD": "on"}
    tls = {"TRUSTED_PROXIES": "127.0.0.0/8", "SECURE_COOKIES": "on"} | hsts
    settings = environment | OFF | tls
    with serving(settings, tmp_path / "web.log", workers=1) as url:
        port = int(url.rpartition(":")[2])
        through = {"X_Forwarded_Proto": "https", "X_Forwarded_For": "198.51.100.7:4711"}
        _, headers, _ = ask(port, "/api/v1/jobs?limit=1", key_of(company), **through)
        _, plain, _ = ask(port, "/api/v1/jobs?limit=1")
        paths = ["/", "/nowhere", "/health/live", BUNDLE, "/api/v1/openapi.json", "/api/v1/nowhere"]
        policies = [
            ask(port, path, **through)[1].get("strict-transport-security") for path in paths
        ]

    assert headers["link"].startswith("</api/v1/jobs?")
    policy = headers["strict-transport-security"]
    assert policy == "max-age=31536000; includeSubDomains; preload"
    assert policies == [policy] * len(paths)
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
    with (
        serving(environment | OFF | room, tmp_path / "attacked.log") as attacked_url,
        serving(environment | OFF, tmp_path / "quiet.log") as quiet_url,
    ):
        port, quiet_port = (int(url.rpartition(":")[2]) for url in (attacked_url, quiet_url))
        with attacked(port, job, reader, writer) as statuses:
            took = _p95s(port, quiet_port, neighbour, during=ATTACK_SECONDS)

    replays, uploads = statuses
    (loud, quiet), (loud_health, quiet_health) = took[ME], took[LIVE]
    figures = f"p95 {loud:.3f}, without attack {quiet:.3f} s; "
    figures += f"{LIVE} {loud_health:.3f}, {quiet_health:.3f}"
    logger.info("%s; replays %s, uploads %s", figures, replays, uploads)
    assert set(replays) <= {"200", "429", "503"}
    assert "200" in replays
    assert set(uploads) <= {"202", "429", "503"}
    assert "202" in uploads
    assert loud <= 3 * quiet + FLOOR_SECONDS, figures
    assert loud_health <= 3 * quiet_health + FLOOR_SECONDS, figures


@contextmanager
def attacked(port: int, job: UUID, *keys: str) -> Iterator[list[dict[str, int]]]:
    """Attack a server; how often each status was answered is in the list afterwards."""
    command = [sys.executable, "-m", "tests.server.attack", str(port), str(job), *keys]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe) as process:
        statuses: list[dict[str, int]] = []
        try:
            time.sleep(2)  # until all of them are there
            yield statuses
        finally:
            said, _ = process.communicate(timeout=120)
        statuses += json.loads(said)


def _p95s(port: int, quiet_port: int, key: str, *, during: float) -> dict[str, list[float]]:
    """The times of a neighbour's requests and of the liveness check, on an attacked server and not.

    Asked in turn, so whatever else keeps the machine busy slows down both.
    """
    took: dict[str, tuple[list[float], list[float]]] = {ME: ([], []), LIVE: ([], [])}
    for _ in range(max(1, round(during / 4 / TURN_SECONDS))):
        for path, (loud, quiet) in took.items():
            for where, seconds in ((port, loud), (quiet_port, quiet)):
                seconds.extend(seconds_of(partial(ask, where, path, key), during=TURN_SECONDS))
    return {path: [p95(seconds) for seconds in both] for path, both in took.items()}
