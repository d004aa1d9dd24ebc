"""Reads from a streaming replica are as current as the primary's, or come from the primary."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import pytest

from tests.faults.database.replica import Replica, replica_of
from tests.faults.whole_site.processes import Site, whole_site
from tests.support.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

PEOPLE = 100


@dataclass
class Read:
    """A site with a replica, a job of its company, and who may still apply."""

    site: Site
    replica: Replica
    job: str
    key: str
    tokens: list[str]

    def ask(self, path: str, *, token: str = "", body: Any = None) -> Any:
        """Ask the API, with the company's key unless a token is given."""
        client = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=30)
        headers = {
            "Authorization": f"Bearer {token or self.key}",
            "Content-Type": "application/json",
        }
        sent = None if body is None else json.dumps(body)
        client.request("POST" if sent is not None else "GET", f"/api/v1{path}", sent, headers)
        with closing(client), client.getresponse() as answer:
            content = json.loads(answer.read())
            assert answer.status < 300, content
            return content

    def apply(self) -> str:
        """Let the next person apply; return their application."""
        path = f"/jobs/{self.job}/applications"
        return str(self.ask(path, token=self.tokens.pop(), body={})["id"])

    def seen(self) -> set[str]:
        """Return the names of the reads that a page after the last change shows."""
        application = self.apply()
        found = set()
        feed = [each["application_id"] for each in self.whole_feed()]
        line = self.line()
        people = [each for part in ("active", "pending", "waitlist") for each in line[part]]
        if application in feed:
            found.add("feed")
        if application in json.dumps(people):
            found.add("replay")
        verdict = self.ask(f"/jobs/{self.job}/verify")
        if verdict["replay_matches"] and verdict["head"]["seq"] == line["seq"]:
            found.add("verify")
        return found

    def line(self) -> Any:
        """Return the line of the job, replayed."""
        return self.ask(f"/jobs/{self.job}/replay?limit=100")

    def whole_feed(self) -> list[Any]:
        """Return all events that the company's feed shows."""
        events: list[Any] = []
        cursor = ""
        while True:
            page = self.ask(f"/events?limit=100{cursor}")
            events += page["data"]
            if len(page["data"]) < 100:
                return events
            cursor = f"&cursor={page['next_cursor']}"

    def served(self) -> dict[str, float]:
        """Return how many reads each server has served so far."""
        client = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=30)
        client.request("GET", "/metrics")
        with closing(client), client.getresponse() as answer:
            lines = answer.read().decode().splitlines()
        name = "nextinline_replica_reads_total{served="
        rows = [line.removeprefix(name).split("} ") for line in lines if line.startswith(name)]
        return {"replica": 0.0, "primary": 0.0} | {
            server.strip('"'): float(count) for server, count in rows
        }


EVERYTHING = {"feed", "replay", "verify"}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    """A site whose web servers have a replica."""
    folder = tmp_path_factory.mktemp("replica")
    settings = {"DJANGO_SETTINGS_MODULE": "tests.faults.line.settings", "THROTTLE_VERIFY": "off"}
    with ExitStack() as running:
        site = running.enter_context(whole_site(folder, THROTTLE_REPLAY="off", **settings))
        made = json.loads(site.prepare("tests.faults.line.prepare", "fill", "1", str(PEOPLE)))
        replica = running.enter_context(replica_of(site.cluster))
        site.environment["REPLICA_URL"] = replica.url
        site.start()
        yield Read(site, replica, made["busy"][0], made["key"], made["tokens"])


def test_what_was_just_written_is_read_from_the_replica(read: Read) -> None:
    before = read.served()

    for _ in range(10):
        assert read.seen() == EVERYTHING

    after = read.served()
    assert after["replica"] > before["replica"]  # on a busy machine, not all


def test_pages_and_downloads_are_served_by_the_replica(read: Read) -> None:
    session = read.site.run("-c", SESSION_OF_OWNER).strip()
    assert read.seen() == EVERYTHING
    own = f"/company/jobs/{read.job}"

    def is_served_by_replica(path: str) -> bool:
        before = read.served()["replica"]
        client = http.client.HTTPConnection("127.0.0.1", read.site.port, timeout=30)
        known = {"Cookie": f"sessionid={session}"}
        key = {"Authorization": f"Bearer {read.key}"}
        client.request("GET", path, headers=key if path.startswith("/api") else known)
        with closing(client), client.getresponse() as answer:
            assert (answer.status, bool(answer.read())) == (200, True), path
        return read.served()["replica"] > before

    for path in (f"{own}/", f"{own}/export/log.jsonl", f"/api/v1/jobs/{read.job}/idle-seats"):
        eventually(lambda path=path: is_served_by_replica(path), 30)


def test_a_replica_that_replays_nothing_serves_nothing_and_answers_stay_current(
    read: Read,
) -> None:
    read.replica.pause()
    try:
        before = read.served()
        for _ in range(5):
            assert read.seen() == EVERYTHING
        after = read.served()
    finally:
        read.replica.resume()

    assert after["replica"] == before["replica"]
    assert after["primary"] > before["primary"]
    eventually(lambda: read.line() and read.served()["replica"] > after["replica"], 30)


def test_a_replica_that_dies_in_the_middle_is_noticed_by_no_client(read: Read) -> None:
    assert read.seen() == EVERYTHING
    read.replica.stop()
    try:
        before = read.served()
        for _ in range(5):
            assert read.seen() == EVERYTHING
        after = read.served()
    finally:
        read.replica.start()

    assert after["replica"] == before["replica"]
    eventually(lambda: read.line() and read.served()["replica"] > after["replica"], 30)


VERIFY = """
import django
django.setup()
from django.core.management import call_command
from pipeline.database.replica import READS
call_command("verify_log")
from jobs.models import Job
from pipeline.audit.verify import verify_job
from pipeline.database import replica

def served():
    return READS.labels("replica")._value.get()

by_command = served() + READS.labels("primary")._value.get()
for _ in range(100):
    replica._Rest.until = 0
    verify_job(Job.objects.order_by("id").first().id)
    if served():
        break
print(int(by_command), int(served()))
"""
BREAKING = """
import django
django.setup()
from django.db import connection
from pipeline.database import replica

@replica.reads_replica
def read():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_is_in_recovery()")
        [(is_replica,)] = cursor.fetchall()
        places.append(is_replica)
        if is_replica:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    return is_replica

for _ in range(100):  # until the replica is current
    replica._Rest.until = 0
    places = []
    found = read()
    if True in places:
        break
print(found, *places)
"""
DOCTOR = """
import dataclasses, json, django
django.setup()
from pipeline.management.doctor.database_findings import check_replica
found = list(check_replica())
print(json.dumps([{"level": each.level, "message": each.text} for each in found], default=str))
"""
SESSION_OF_OWNER = """
import django
django.setup()
from jobs.models import Company
from tests.support.accounts import browser_of, member_of
print(browser_of(member_of(Company.objects.get())).cookies["sessionid"].value)
"""
CONTROL = """
import django
django.setup()
from pipeline.database import replica
replica.read_state = lambda *_: replica.ReplicaState.CURRENT  # as if nobody asked
from jobs.models import Job
from pipeline.audit.verify import replay
import sys, uuid
print(replay(uuid.UUID(sys.argv[1])).seq)
"""
ASKING = CONTROL.replace("replica.read_state", "_")


def test_without_the_look_at_the_position_a_paused_replica_would_answer_with_the_past(
    read: Read,
) -> None:
    read.replica.pause()
    try:
        read.apply()
        [(now,)] = read.site.rows("SELECT seq FROM jobs_job WHERE id = %(job)s", job=read.job)
        stale = int(read.site.run("-c", CONTROL, read.job))
        current = int(read.site.run("-c", ASKING, read.job))
    finally:
        read.replica.resume()

    assert stale < now
    assert current >= now


def test_verify_log_verifies_the_primary_itself_though_the_api_may_ask_the_replica(
    read: Read,
) -> None:
    said = read.site.run("-c", VERIFY)

    assert "All is well" in said
    assert said.split()[-2:] == ["0", "1"]


def test_the_feed_is_read_from_the_primary(read: Read) -> None:
    before = read.served()
    assert read.whole_feed()

    assert read.served() == before


def test_a_read_whose_replica_fails_in_the_middle_runs_again_on_the_primary(read: Read) -> None:
    assert read.site.run("-c", BREAKING).split() == ["False", "True", "False"]


def test_doctor_looks_at_the_replica(read: Read) -> None:
    def said() -> tuple[str, str]:
        text = read.site.run("-c", DOCTOR)
        [row] = json.loads(text)
        return row["level"], row["message"]

    eventually(lambda: said() == ("ok", "The replica in REPLICA_URL is current."))
    read.replica.pause()
    read.apply()
    try:
        assert said()[0] == "warning"
    finally:
        read.replica.resume()
    read.replica.stop()
    try:
        assert said()[0] == "problem"
    finally:
        read.replica.start()
