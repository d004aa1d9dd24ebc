"""A rolling restart behind the TLS proxy of compose, while people apply."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs import keys
from pipeline.models import Application, Event
from tests.deploy.test_proxy import proxy
from tests.support import factories
from tests.support.environment import ROOT
from tests.support.server import STOP_SECONDS, wait_until_it_answers
from tests.support.smtp import free_port

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.timeout(240),
]

CLIENTS, PAUSE_SECONDS = 6, 0.5
# Generous: with Caddy 2.6, which does not repeat requests with bodies, there are about 12; with the
# earlier Caddyfile there were 56.
MOST_BAD_GATEWAYS = 24
# Longer than the proxy's health_interval, so that it knows again of a server that has returned.
NOTICED_SECONDS = 2.0
AGAIN = {502, 503, 504}


class WebServer:
    """A web server on a port of its own, which is closed while it is down."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.port = free_port()
        self._environment, self._log = environment, folder / f"web-{self.port}.log"
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as said:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "gunicorn"),
                    *("-c", "python:pipeline.server.gunicorn_config"),
                    *("--bind", f"127.0.0.1:{self.port}", "--workers", "1", "pipeline.asgi"),
                ],
                cwd=ROOT,
                env=self._environment,
                stdout=said,
                stderr=said,
            )

    def wait(self) -> None:
        wait_until_it_answers(self.port, self._process, self._log)

    def stop(self) -> None:
        """Send SIGTERM, and wait for the end."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()


@contextmanager
def two_web_servers(environment: dict[str, str], folder: Path) -> Iterator[list[WebServer]]:
    servers = [WebServer(environment, folder) for _ in range(2)]
    try:
        for server in servers:
            server.wait()
        yield servers
    finally:
        for server in servers:
            server.stop()


@dataclass
class Clients:
    """Submit people with a company's key, each until it is answered, and note the answers."""

    address: str
    root: Path
    job_id: UUID
    key: str
    statuses: Counter[int] = field(default_factory=Counter)  # 0: no answer
    answered: dict[str, set[str]] = field(default_factory=dict)  # ids of applications by email
    unexpected: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._over = threading.Event()
        self._mutex = threading.Lock()
        self._threads = [threading.Thread(target=self._submit_people) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let each client finish its person."""
        self._over.set()
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads)

    def _submit_people(self) -> None:
        context = ssl.create_default_context(cafile=str(self.root))
        port = int(self.address.rpartition(":")[2])
        client = http.client.HTTPSConnection("localhost", port, timeout=20, context=context)
        for number in range(10**6):
            email = f"{uuid4().hex}@example.org"
            self._until_answered(client, email)
            if number % 3 == 0:
                self._until_answered(client, email)
            if self._over.is_set():
                break
        client.close()

    def _until_answered(self, client: http.client.HTTPSConnection, email: str) -> None:
        """Send it under its key, which is the address, until there is an answer that lasts."""
        while True:
            status, text = self._ask(client, email)
            with self._mutex:
                self.statuses[status] += 1
                if status == 201:
                    self.answered.setdefault(email, set()).add(json.loads(text)["id"])
                    return
                if status and status not in AGAIN and "IDEMPOTENCY_KEY_IN_USE" not in text:
                    self.unexpected.append(f"{status} {text[:300]}")
                    return
            time.sleep(PAUSE_SECONDS)

    def _ask(self, client: http.client.HTTPSConnection, email: str) -> tuple[int, str]:
        path = f"/api/v1/jobs/{self.job_id}/applications"
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Idempotency-Key": email,
        }
        try:
            client.request("POST", path, json.dumps({"name": "Ann", "email": email}), headers)
            answer = client.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            client.close()
            return 0, ""


def test_web_servers_are_replaced_in_turn_and_nothing_is_lost_or_doubled(
    environment: dict[str, str], tmp_path: Path
) -> None:
    company = factories.company().id
    job_id = factories.job(company_id=company, capacity=2)
    _, key = keys.create(company_id=company, name="rolling", scopes=("write",))
    site = environment | {
        "TRUSTED_PROXIES": "127.0.0.1",
        "ALLOWED_HOSTS": "localhost,127.0.0.1",
        "THROTTLE_API": "off",
    }
    with two_web_servers(site, tmp_path) as servers:
        upstreams = " ".join(f"127.0.0.1:{server.port}" for server in servers)
        with proxy(upstreams, tmp_path) as (address, root):
            clients = Clients(address, root, job_id, key)
            for server in servers:
                time.sleep(NOTICED_SECONDS)
                server.stop()
                server.start()
                server.wait()
            time.sleep(NOTICED_SECONDS)
            clients.end()

    assert clients.unexpected == []
    assert len(clients.answered) >= 100
    failed = clients.statuses.total() - clients.statuses[201]
    assert failed <= MOST_BAD_GATEWAYS, clients.statuses
    check_ledger(job_id, clients.answered)


def check_ledger(job_id: UUID, answered: dict[str, set[str]]) -> None:
    """Each person who got an answer is in the line once, under that id, and nobody else is."""
    rows: Any = Application.objects.filter(job_id=job_id).values_list("applicant__email", "id")
    events = Event.objects.filter(job_id=job_id, event="APPLIED")
    found = [(email, str(each)) for email, each in rows]

    assert all(len(ids) == 1 for ids in answered.values())
    assert sorted(found) == sorted((email, *ids) for email, ids in answered.items())
    assert events.count() == events.values("application_id").distinct().count() == len(found)
