"""Adapters between bench/side_by_side.py and a product: the interface, and our own.

An adapter for another product is a Python file outside this project with a class `Adapter` that has
these attributes and methods. Name it with `--other FILE`, once for each product.
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
    """Product to be measured on this machine.

    Requests are whole HTTP/1.1 requests as bytes, as made by `http_load.request`, on persistent
    connections. Each iterator continues where the last one of its kind ended. If the product does
    not support a kind of request, its iterator is empty.
    """

    name: str
    address: tuple[str, int]

    def fill(self, waiting: int) -> None:
        """Make a fresh database with one job of ten taken seats and this many people waiting."""

    def start(self) -> None:
        """Start the server on it, as its makers would, without rate limits."""

    def stop(self) -> None:
        """Stop everything that `start` started."""

    def processes(self) -> list[int]:
        """Return the root process of each process tree that was started."""

    def database_process(self) -> int:
        """Return the root process of its PostgreSQL."""

    def apply(self) -> Iterator[bytes]:
        """Iterate without end over applications of new people."""

    def leave(self) -> Iterator[bytes]:
        """Iterate over withdrawals by people with a seat, which promote the next in line."""

    def read_application(self) -> Iterator[bytes]:
        """Iterate without end over reads of a waiting person's application and position."""

    def read_queue(self) -> Iterator[bytes]:
        """Iterate without end over reads of the first page of the waitlist."""

    def read_pipeline(self) -> Iterator[bytes]:
        """Iterate without end over reads of a job's seats, offers and front of the waitlist."""

    def check(self) -> list[str]:
        """Return the faults of the database after a load; empty if there are none."""


class Ours:
    """This project: gunicorn with the product's settings; commits wait for the disk."""

    name = "ours"

    def __init__(self) -> None:
        os.environ["THROTTLE_API"] = "off"
        os.environ.setdefault("LOG_LEVEL", "WARNING")  # other products log no requests either
        self.address = ("127.0.0.1", free_port())
        self._filled: dict[int, tuple[UUID, str]] = {}
        self._job, self._key = UUID(int=0), ""
        self._server: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count()

    def fill(self, waiting: int) -> None:
        """Import the people through the product; later calls of the same size copy the result."""
        template = f"bench_filled_{waiting}"
        if waiting not in self._filled:
            cluster = harness.start()
            self._data = str(cluster.server.data)
            self._filled[waiting] = _filled_job(waiting)
            harness.copy_database(harness.DATABASE, template)
        self._job, self._key = self._filled[waiting]
        harness.copy_database(template, harness.DATABASE)

    def start(self) -> None:
        """Start gunicorn and wait until both processes have answered."""
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
        """Return gunicorn's root process."""
        return [self._server.pid] if self._server else []

    def database_process(self) -> int:
        """Return the root process of the benchmarks' PostgreSQL."""
        return postmaster_of(self._data)

    def apply(self) -> Iterator[bytes]:
        """Iterate over applications that a company submits with its key."""
        path = f"/api/v1/jobs/{self._job}/applications"
        for number in self._numbers:
            person = {"name": "Bench", "email": f"new{number}@bench.example"}
            yield request("POST", path, token=self._key, body=person)

    def leave(self) -> Iterator[bytes]:
        """Iterate over withdrawals: everyone who gets a seat withdraws with their own token."""
        for token, application in _tokens(self._job, 2_000):
            path = f"/api/v1/applications/{application}/withdraw"
            yield request("POST", path, token=token, body={})

    def read_application(self) -> Iterator[bytes]:
        """Iterate over people's reads of their own application."""
        looks = [
            request("GET", f"/api/v1/applications/{application}", token=token)
            for token, application in _tokens(self._job, 200, behind=SEATS)
        ]
        return itertools.cycle(looks)

    def read_queue(self) -> Iterator[bytes]:
        """Iterate over the company's reads of the waitlist."""
        return itertools.repeat(request("GET", f"/api/v1/jobs/{self._job}/queue", token=self._key))

    def read_pipeline(self) -> Iterator[bytes]:
        """Iterate over the company's reads of the job."""
        path = f"/api/v1/jobs/{self._job}/pipeline"
        return itertools.repeat(request("GET", path, token=self._key))

    def check(self) -> list[str]:
        """Verify the log's chain, and that its replay equals the live rows; return the faults."""
        from django.db import connection

        from pipeline.audit.verify import verify_job

        verdict = verify_job(self._job)
        connection.close()
        chain = [] if verdict.chain == "ok" else [f"the chain breaks at {verdict.first_bad_seq}"]
        return [*chain, *verdict.differences]


def _filled_job(waiting: int) -> tuple[UUID, str]:
    from django.db import connection
    from importing import import_people

    from jobs import keys
    from jobs.models import Job, Scope

    job = UUID(harness.make_job(capacity=SEATS))
    import_people(job, "waiting", waiting + SEATS)
    company = Job.objects.values_list("company_id", flat=True).get(id=job)
    _, key = keys.create(company_id=company, name="bench", scopes=list(Scope))
    harness.execute("VACUUM ANALYZE", "CHECKPOINT")
    connection.close()
    return job, key


def _tokens(job: UUID, people: int, *, behind: int = 0) -> list[tuple[str, str]]:
    """Make tokens for the first people in line, each with the id of their application."""
    from django.db import connection
    from django.db.models import F

    from applicants.tokens import issue as issue_token_to_applicant
    from pipeline.models import Application

    rows = Application.objects.filter(job_id=job).exclude(status="INACTIVE")
    in_order = rows.select_related("applicant").order_by(F("ticket").asc(nulls_first=True), "tie")
    front = in_order[behind : behind + people]
    tokens = [(issue_token_to_applicant(row.applicant), str(row.id)) for row in front]
    connection.close()
    return tokens
