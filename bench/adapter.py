"""Adapters between bench/side_by_side.py and a product: the interface, and our own.

An adapter for another product is a Python file outside this project with a class `Adapter` that has
these attributes and methods. It is given with `--other FILE`, as often as there are products.
"""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Protocol
from uuid import UUID

import harness
from http_load import request
from processes import postmaster_of
from storm import free_port

SEATS = 10
START_SECONDS = 60


class Adapter(Protocol):
    """A product to be measured, on this machine.

    Requests are whole HTTP/1.1 requests as bytes, as `http_load.request` makes them, on
    connections that stay open. Each iterator goes on from where the last one of its kind ended. A
    kind of request that the product does not have is an empty iterator.
    """

    name: str
    address: tuple[str, int]

    def fill(self, waiting: int) -> None:
        """Make a fresh database with one job: ten seats, all taken, and so many people waiting."""

    def start(self) -> None:
        """Start the server on it, as its makers would, with limits of rates switched off."""

    def stop(self) -> None:
        """Stop what was started."""

    def processes(self) -> list[int]:
        """The first process of each family that was started."""

    def database_process(self) -> int:
        """The first process of its PostgreSQL."""

    def apply(self) -> Iterator[bytes]:
        """Applications of new people, without end."""

    def leave(self) -> Iterator[bytes]:
        """Withdrawals by those who hold a seat, so that the next in line is promoted."""

    def read_application(self) -> Iterator[bytes]:
        """Reads of one waiting person's application with its position, without end."""

    def read_queue(self) -> Iterator[bytes]:
        """Reads of the first page of the waitlist, without end."""

    def read_pipeline(self) -> Iterator[bytes]:
        """Reads of the whole job: seats, offers, front of the waitlist; without end."""

    def check(self) -> list[str]:
        """What is wrong with the database after a load; empty if nothing is."""


class Ours:
    """This project: gunicorn with its own settings, commits waiting for the disk."""

    name = "ours"

    def __init__(self) -> None:
        os.environ["THROTTLE_API"] = "off"
        os.environ.setdefault("LOG_LEVEL", "WARNING")  # the others log no requests either
        self.address = ("127.0.0.1", free_port())
        self._filled: dict[int, tuple[UUID, str]] = {}
        self._job, self._key = UUID(int=0), ""
        self._server: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count()

    def fill(self, waiting: int) -> None:
        """Import the people, through the product; a later call of the same size copies that."""
        template = f"bench_filled_{waiting}"
        if waiting not in self._filled:
            cluster = harness.start()
            self._data = str(cluster.server.data)
            self._filled[waiting] = _filled_job(waiting)
            harness.copy_database(harness.DATABASE, template)
        self._job, self._key = self._filled[waiting]
        harness.copy_database(template, harness.DATABASE)

    def start(self) -> None:
        """Start gunicorn, and wait until both processes have answered."""
        host, port = self.address
        command = [sys.executable, "-m", "gunicorn", "-c", "python:pipeline.server.gunicorn_config"]
        command += ["--log-level", "warning", "-b", f"{host}:{port}", "pipeline.asgi"]
        self._server = subprocess.Popen(command, cwd=harness.ROOT)
        end = time.monotonic() + START_SECONDS
        with socket.socket() as probe:
            while probe.connect_ex(self.address):
                if time.monotonic() > end:
                    raise SystemExit("the web server did not start")
                time.sleep(0.1)
        time.sleep(1)

    def stop(self) -> None:
        """Stop gunicorn."""
        if self._server:
            self._server.terminate()
            self._server.wait(30)

    def processes(self) -> list[int]:
        """gunicorn's first process."""
        return [self._server.pid] if self._server else []

    def database_process(self) -> int:
        """The benchmarks' PostgreSQL."""
        return postmaster_of(self._data)

    def apply(self) -> Iterator[bytes]:
        """A company submits new people with its key."""
        path = f"/api/v1/jobs/{self._job}/applications"
        for number in self._numbers:
            person = {"name": "Bench", "email": f"new{number}@bench.example"}
            yield request("POST", path, token=self._key, body=person)

    def leave(self) -> Iterator[bytes]:
        """Each person who has or gets a seat withdraws with their own token."""
        for token, application in _tokens(self._job, 2_000):
            path = f"/api/v1/applications/{application}/withdraw"
            yield request("POST", path, token=token, body={})

    def read_application(self) -> Iterator[bytes]:
        """People look at their own application."""
        looks = [
            request("GET", f"/api/v1/applications/{application}", token=token)
            for token, application in _tokens(self._job, 200, behind=SEATS)
        ]
        return itertools.cycle(looks)

    def read_queue(self) -> Iterator[bytes]:
        """The company looks at the waitlist."""
        return itertools.repeat(request("GET", f"/api/v1/jobs/{self._job}/queue", token=self._key))

    def read_pipeline(self) -> Iterator[bytes]:
        """The company looks at the job."""
        path = f"/api/v1/jobs/{self._job}/pipeline"
        return itertools.repeat(request("GET", path, token=self._key))

    def check(self) -> list[str]:
        """Verify the log: its chain, and that its replay gives the live rows."""
        from django.db import connection

        from pipeline.audit.verify import verify_job

        verdict = verify_job(self._job)
        connection.close()
        chain = [] if verdict.chain == "ok" else [f"the chain breaks at {verdict.first_bad_seq}"]
        return [*chain, *verdict.differences]


def _filled_job(waiting: int) -> tuple[UUID, str]:
    from django.db import connection
    from importing import import_people

    from jobs.models import Job, Scope
    from jobs.services import create_api_key

    job = UUID(harness.make_job(capacity=SEATS))
    import_people(job, "waiting", waiting + SEATS)
    company = Job.objects.values_list("company_id", flat=True).get(id=job)
    _, key = create_api_key(company_id=company, name="bench", scopes=list(Scope))
    harness.execute("VACUUM ANALYZE", "CHECKPOINT")
    connection.close()
    return job, key


def _tokens(job: UUID, people: int, *, behind: int = 0) -> list[tuple[str, str]]:
    """Tokens of people in a line from its head on, each with the id of their application."""
    from django.db import connection
    from django.db.models import F

    from applicants.services import issue_token
    from pipeline.models import Application

    rows = Application.objects.filter(job_id=job).exclude(status="INACTIVE")
    in_order = rows.select_related("applicant").order_by(F("ticket").asc(nulls_first=True), "tie")
    front = in_order[behind : behind + people]
    tokens = [(issue_token(row.applicant), str(row.id)) for row in front]
    connection.close()
    return tokens
