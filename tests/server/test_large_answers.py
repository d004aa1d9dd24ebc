"""Answers of the running server that are too large to hold in memory."""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from django.test import Client

from jobs.models import Membership, Role
from pipeline.live.channel import connection_parameters
from tests.support import factories
from tests.support.crowd import crowd
from tests.support.server import ServeModule
from tests.support.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PEOPLE = 50_000
MOST_GROWTH_BYTES = 40_000_000
THREADS = 8  # of both processes
AT_WORK = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND pid <> pg_backend_pid() AND state <> 'idle'"
)


@pytest.fixture(scope="module")
def site(serve_module: ServeModule) -> Iterator[str]:
    """The address of a running web server."""
    url, log = serve_module(SECURE_COOKIES="off")
    yield url.removeprefix("http://")
    assert "Traceback" not in log.read_text()


@pytest.fixture
def people() -> int:
    """How many people have applied: enough for an answer that takes the server a while."""
    return 15_000


@pytest.fixture
def download(people: int) -> str:
    """The request for the log of a job with very many events, by someone who may read it."""
    company = factories.company()
    job = factories.job(company_id=company.id)
    crowd(job, people)
    return f"/company/jobs/{job}/export/log.jsonl"


@pytest.fixture
def headers(download: str) -> dict[str, str]:
    """Return the headers that allow the request."""
    user = factories.UserFactory.create(password=None)
    job = factories.Job.objects.get(id=UUID(download.split("/")[3]))
    Membership.objects.create(company_id=job.company_id, user=user, role=Role.VIEWER)
    client = Client()
    client.force_login(user)
    return {"Cookie": f"sessionid={client.cookies['sessionid'].value}"}


def resident_bytes() -> int:
    """Return the memory of all server processes that this process started."""
    total, waiting = 0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        waiting += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        if b"gunicorn" in Path(f"/proc/{pid}/cmdline").read_bytes():
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            total += pages * os.sysconf("SC_PAGE_SIZE")
    return total


def at_work() -> int:
    """Count connections to the database that are not idle."""
    with psycopg.connect(**connection_parameters()) as session:
        row = session.execute(AT_WORK).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("people", [PEOPLE])
def test_a_large_export_begins_early_and_takes_little_memory(
    site: str, download: str, headers: dict[str, str], people: int
) -> None:
    client = http.client.HTTPConnection(site, timeout=60)
    client.request("GET", "/health/live")
    client.getresponse().read()
    before, start = resident_bytes(), time.monotonic()

    client.request("GET", download, headers=headers)
    answer = client.getresponse()
    first, most, lines = answer.read(1_000), before, 0
    early = time.monotonic() - start
    lines += first.count(b"\n")
    while piece := answer.read(1_000_000):
        lines += piece.count(b"\n")
        most = max(most, resident_bytes())
    took = time.monotonic() - start

    assert lines == people + 2
    assert early < took / 4
    assert most - before < MOST_GROWTH_BYTES
    client.close()


def test_whoever_leaves_a_download_frees_its_thread_and_its_connection(
    site: str, download: str, headers: dict[str, str]
) -> None:
    for _ in range(THREADS + 4):
        client = http.client.HTTPConnection(site, timeout=60)
        client.request("GET", download, headers=headers)
        assert client.getresponse().read(10_000)
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()

    eventually(lambda: at_work() == 0)
    client = http.client.HTTPConnection(site, timeout=60)
    client.request("GET", "/health/live")
    assert json.loads(client.getresponse().read())
    client.close()


def test_whoever_asks_only_for_the_head_of_a_download_has_it_made_for_nobody(
    site: str, download: str, headers: dict[str, str]
) -> None:
    client = http.client.HTTPConnection(site, timeout=60)
    start = time.monotonic()

    client.request("HEAD", download, headers=headers)
    answer = client.getresponse()

    assert answer.status in (200, 405)
    assert answer.read() == b""
    assert time.monotonic() - start < 20
    client.close()
