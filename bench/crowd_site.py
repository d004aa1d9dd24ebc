"""Site that a crowd visits: its URL, its job, its people and its processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import harness
from adapter import Ours
from processes import cpu_seconds, postmaster_of

NUMBER_OF_LISTENING = "0A"


@dataclass(frozen=True)
class Person:
    """Credentials of a person, for the API and for pages."""

    token: str
    cookie: str


@dataclass
class Site:
    """Site with one job that has just opened, and the people who will apply."""

    address: tuple[str, int]
    job: UUID
    key: str
    people: list[Person]
    parts: dict[str, list[int]]  # root processes of each part
    cpu_at_start: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cpu_at_start = self.cpu_seconds()

    def cpu_seconds(self) -> dict[str, float]:
        """Return the CPU used so far by each part and by this process."""
        spent = {part: cpu_seconds(*roots) for part, roots in self.parts.items()}
        return spent | {"crowd": time.process_time()}

    def status_page(self, application: str) -> str:
        from django.urls import reverse

        return reverse("my_application", args=[application])


@contextmanager
def own_site(seats: int, people: int) -> Iterator[Site]:
    """Run a web server and a decay worker on a fresh database inside this context."""
    cluster = harness.start()
    server = Ours()
    server.start()
    worker = subprocess.Popen([sys.executable, "manage.py", "run_decay"], cwd=harness.ROOT)
    database = postmaster_of(str(cluster.server.data))
    parts = {"web": server.processes(), "PostgreSQL": [database], "decay worker": [worker.pid]}
    try:
        yield _open(server.address, seats, people, parts)
    finally:
        worker.terminate()
        server.stop()
        worker.wait(30)


@contextmanager
def running_site(address: tuple[str, int], seats: int, people: int) -> Iterator[Site]:
    """Make a job on a site that is running on this machine with this environment's database."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", harness.SETTINGS)
    harness.setup()
    (data,) = harness.execute("SELECT current_setting('data_directory')")[0]
    parts = {"web": [_listener(address[1])], "PostgreSQL": [postmaster_of(data)]}
    yield _open(address, seats, people, parts)


def _open(address: tuple[str, int], seats: int, people: int, parts: dict[str, list[int]]) -> Site:
    from django.db import connection

    from jobs import keys
    from jobs.models import Job, Scope

    job = UUID(
        harness.make_job(capacity=seats, acknowledgment_window_seconds=60, cooldown_seconds=1)
    )
    company = Job.objects.values_list("company_id", flat=True).get(id=job)
    _, key = keys.create(company_id=company, name="crowd", scopes=list(Scope))
    crowd = [_person(f"crowd-{job}-{number}@bench.example") for number in range(people)]
    connection.close()
    return Site(address, job, key, crowd, parts)


def _person(email: str) -> Person:
    from django.conf import settings
    from django.contrib.sessions.backends.db import SessionStore
    from django.http import HttpRequest

    from applicants import browser, tokens
    from applicants.people import find_or_create_person

    person, request = find_or_create_person(email), HttpRequest()
    request.session = SessionStore()
    browser.sign_in(request, person)
    request.session.save()
    cookie = f"{settings.SESSION_COOKIE_NAME}={request.session.session_key}"
    return Person(tokens.issue(person), cookie)


def _listener(port: int) -> int:
    """Return the root of the processes that listen on a port."""
    inodes = {
        f"socket:[{fields[9]}]"
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if (fields := line.split())[3] == NUMBER_OF_LISTENING
        and int(fields[1].rpartition(":")[2], 16) == port
    }
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda each: int(each.name)):
        try:
            if any(os.readlink(each) in inodes for each in (folder / "fd").iterdir()):
                return int(folder.name)
        except OSError:  # the process has ended or belongs to another user
            continue
    raise SystemExit(f"nothing listens on port {port} of this machine")
