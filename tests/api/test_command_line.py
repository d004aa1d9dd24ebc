"""The command `nextinline`, installed into a clean environment, against a running server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import standardwebhooks

from jobs.models import Company
from pipeline.domain.verbs import DECLARED, JOB_EVENTS
from pipeline.webhooks.endpoints import generate_secret
from pipeline.webhooks.queue import public_type
from tests.support import factories
from tests.support.callers import UNKNOWN_ID, key_of
from tests.support.feeds import wait_for_the_feed
from tests.support.ports import port_for_server
from tests.support.receiver import Receiver, reply
from tests.support.sandboxes import sandbox
from tests.support.server import ServeModule
from tests.support.task_runs import run_due_tasks
from tests.support.waiting import eventually
from tests.support.webhooks import deliver, endpoint

pytestmark = pytest.mark.django_db(transaction=True)


class Command:
    """The installed command with a company's key."""

    def __init__(self, programs: Path, address: str, key: str) -> None:
        self.program = programs / "nextinline"
        self.environment = {"NEXT_IN_LINE_KEY": key, "NEXT_IN_LINE_URL": address}
        self._started: list[subprocess.Popen[str]] = []

    def run(self, *arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *map(str, arguments)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **more,
        )

    def object(self, *arguments: object) -> Any:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def lines(self, *arguments: object) -> list[Any]:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def start(self, output: Path, *arguments: object, **more: str) -> subprocess.Popen[str]:
        """Start a command that goes on; its lines are added to `output`, the rest is told."""
        with output.open("a") as said, output.with_suffix(".told").open("a") as told:
            process = subprocess.Popen(
                [self.program, *map(str, arguments)],
                env=self.environment | more,
                stdout=said,
                stderr=told,
                text=True,
            )
        self._started.append(process)
        return process

    def end(self) -> None:
        for each in self._started:
            each.kill()
            each.wait()


@pytest.fixture(scope="module")
def address(serve_module: ServeModule) -> str:
    return serve_module(workers=1)[0]


@pytest.fixture
def command(installed_client: Path, address: str, company: Company) -> Iterator[Command]:
    made = Command(installed_client, address, str(key_of(company.id).token))
    yield made
    made.end()


@pytest.fixture
def job(company: Company) -> UUID:
    return factories.job(company_id=company.id, capacity=1)


def rows_in(path: Path) -> list[Any]:
    """Return the whole lines of a file."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def told(path: Path) -> str:
    return path.with_suffix(".told").read_text()


def test_the_environment_has_only_what_the_client_declares(installed_client: Path) -> None:
    ask = "import importlib.util as u; print([n for n in {} if u.find_spec(n)])"
    asked = ask.format(["django", "rest_framework", "yaml", "httpx", "nextinline"])

    done = subprocess.run(
        [installed_client / "python", "-c", asked], capture_output=True, text=True, check=True
    )

    assert done.stdout == "['httpx', 'nextinline']\n"


def test_it_tells_its_version_and_company(command: Command, company: Company) -> None:
    version = command.run("--version").stdout
    found = command.object("whoami")

    assert re.fullmatch(r"nextinline \d+\.\d+\.\d+\n", version)
    assert found["id"] == str(company.id)


def test_without_a_key_it_says_what_to_set(command: Command) -> None:
    command.environment.pop("NEXT_IN_LINE_KEY")

    done = command.run("jobs", "list")

    assert (done.returncode, done.stdout) == (2, "")
    assert "NEXT_IN_LINE_KEY" in done.stderr


def test_without_a_site_it_says_so(command: Command) -> None:
    command.environment["NEXT_IN_LINE_URL"] = f"http://127.0.0.1:{port_for_server()}"

    done = command.run("jobs", "show", UNKNOWN_ID)

    assert (done.returncode, done.stdout) == (3, "")
    assert "No answer" in done.stderr


def test_without_its_extra_the_server_for_assistants_says_what_to_install(
    command: Command,
) -> None:
    done = command.run("mcp")

    assert (done.returncode, done.stdout) == (2, "")
    assert "nextinline-client[mcp]" in done.stderr


def test_a_job_is_created_changed_listed_and_proved(command: Command) -> None:
    create = ("jobs", "create", "--title", "Cook", "--capacity", 1, "--idempotency-key", "one")
    made, again = command.object(*create), command.object(*create)
    job = made["id"]
    paused = command.object("jobs", "pause", job)
    opened = command.object("jobs", "open", job)
    proved = command.object("jobs", "verify", job)
    listed = command.lines("jobs", "list", "--status", "OPEN")
    closed = command.object("jobs", "close", job)

    assert again["id"] == job
    assert [each["status"] for each in (paused, opened, closed)] == ["PAUSED", "OPEN", "CLOSED"]
    assert proved["chain"] == "ok"
    assert [each["id"] for each in listed] == [job]


def test_people_are_submitted_found_and_decided(command: Command, job: UUID) -> None:
    person = ("--name", "Mia", "--email", "mia@example.com")
    more = ("--external-id", "crm-7", "--metadata", "source=fair")
    mia = command.object("submit", job, *person, *more)
    refused = command.run("submit", job, *person)
    found = command.object("applications", "find", "crm-7")
    hired = command.object("applications", "remove", mia["id"], "--outcome", "HIRED")
    everyone = command.lines("applications", "list", job, "--outcome", "HIRED")
    nobody = command.run("applications", "find", "crm-8")

    assert (found["id"], found["metadata"]) == (mia["id"], {"source": "fair"})
    assert refused.returncode == 1
    assert refused.stderr.startswith("DUPLICATE_SUBMISSION (409): ")
    assert mia["id"] in refused.stderr
    assert "request_id" in refused.stderr
    assert hired["outcome"] == "HIRED"
    assert [each["id"] for each in everyone] == [mia["id"]]
    assert (nobody.returncode, nobody.stdout) == (1, "")


@pytest.mark.parametrize("kind", ["csv", "json", "jsonl"])
def test_an_import_waits_and_tells_what_became_of_each_row(
    command: Command, job: UUID, tmp_path: Path, kind: str
) -> None:
    people = [
        {"name": "Una", "email": "una@example.com", "external_id": "crm-1"},
        {"name": "Vic", "email": "no address"},
    ]
    texts = {
        "csv": "name,email,external_id\nUna,una@example.com,crm-1\nVic,no address,\n",
        "json": json.dumps(people),
        "jsonl": "".join(f"{json.dumps(each)}\n" for each in people),
    }
    file, output = tmp_path / f"people.{kind}", tmp_path / "rows.txt"
    file.write_text(texts[kind])

    process = command.start(output, "import", job, file)
    eventually(lambda: run_due_tasks("applications.import"))

    assert process.wait(60) == 1
    rows = rows_in(output)
    assert [each["status"] for each in rows] == ["ACCEPTED", "REFUSED"]
    assert rows[0]["external_id"] == "crm-1"
    assert "accepted=1" in told(output)
    assert "refused=1" in told(output)


def test_a_file_that_is_no_json_is_refused_before_anything_is_sent(
    command: Command, job: UUID, tmp_path: Path
) -> None:
    file = tmp_path / "people.json"
    file.write_text("[{")

    done = command.run("import", job, file)

    assert done.returncode == 2
    assert "is not JSON" in done.stderr


def test_the_feed_goes_on_where_the_last_call_ended(
    command: Command, job: UUID, tmp_path: Path
) -> None:
    feed = ("feed", "--cursor-file", tmp_path / "cursor.json")
    first = factories.application(job)
    wait_for_the_feed()
    before = command.lines(*feed)
    factories.application(job)
    wait_for_the_feed()
    after, nothing = command.lines(*feed), command.lines(*feed)

    assert [each["event"] for each in before] == ["JOB_CREATED", "JOB_OPENED", "APPLIED"]
    assert before[-1]["application_id"] == str(first.id)
    assert [each["event"] for each in after] == ["APPLIED"]
    assert nothing == []


def test_the_followed_feed_survives_kills_and_outages(
    command: Command, job: UUID, tmp_path: Path, address: str
) -> None:
    output, cursor = tmp_path / "feed.jsonl", tmp_path / "cursor.json"
    follow = ("feed", "--follow", "--every", 0.05, "--cursor-file", cursor)
    nowhere = f"http://127.0.0.1:{port_for_server()}"
    people = []
    for _ in range(5):
        process = command.start(output, *follow)
        people += [factories.application(job), factories.application(job)]
        seen = f'"{people[-1].id}"'
        eventually(lambda: seen in output.read_text())  # noqa: B023  called at once
        process.send_signal(signal.SIGKILL)
        process.wait()

    rows = rows_in(output)
    told_of = [each["application_id"] for each in rows if each["event"] == "APPLIED"]
    assert set(told_of) == {str(each.id) for each in people}
    assert list(dict.fromkeys(told_of)) == [str(each.id) for each in people]
    process = command.start(tmp_path / "away.jsonl", *follow[:4], NEXT_IN_LINE_URL=nowhere)
    eventually(lambda: "Trying again" in told(tmp_path / "away.jsonl"))
    assert process.poll() is None


def test_two_processes_do_not_share_a_cursor_file(command: Command, tmp_path: Path) -> None:
    output, cursor = tmp_path / "feed.jsonl", tmp_path / "cursor.json"
    command.start(output, "feed", "--follow", "--start", "now", "--cursor-file", cursor)
    eventually(cursor.exists)

    second = command.run("feed", "--cursor-file", cursor)

    assert second.returncode == 2
    assert "Another process" in second.stderr


def test_a_cursor_of_another_feed_is_refused(command: Command, tmp_path: Path) -> None:
    cursor = tmp_path / "cursor.json"
    command.lines("feed", "--cursor-file", cursor)

    changes = command.run("feed", "--changes", "--cursor-file", cursor)
    cursor.write_text("not ours")
    broken = command.run("feed", "--cursor-file", cursor)

    assert (changes.returncode, broken.returncode) == (2, 2)
    assert "is of events" in changes.stderr
    assert "not a cursor file" in broken.stderr


def test_changes_and_single_events_are_chosen(command: Command, job: UUID, tmp_path: Path) -> None:
    mia, change = factories.application(job), tmp_path / "change.json"
    change.write_text('{"external_id": "crm-9"}')
    command.object("call", "PATCH", f"/applications/{mia.id}", "--json", change)
    wait_for_the_feed()

    changes = command.lines("feed", "--changes")
    applied = command.lines("feed", "--event", "APPLIED", "--job", job, "--expand", "application")

    assert [each["kind"] for each in changes] == ["APPLICATION_CHANGED"]
    assert [each["application"]["external_id"] for each in applied] == ["crm-9"]


def test_whoever_reads_only_the_first_line_gets_no_trace(
    command: Command, company: Company
) -> None:
    for _ in range(3):
        factories.job(company_id=company.id)

    done = subprocess.run(
        ["/bin/sh", "-c", f"'{command.program}' jobs list | head -n 1"],
        env=command.environment | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert json.loads(done.stdout)["title"]
    assert done.stderr == ""


def listening(command: Command, output: Path, receiver: Receiver, *more: object) -> None:
    """Start forwarding, and wait until it has begun."""
    command.start(
        output,
        *("webhooks", "listen", "--forward-to", receiver.url, "--every", 0.05),
        *more,
        WEBHOOK_SECRET=command.environment["WEBHOOK_SECRET"],
    )
    eventually(lambda: "WEBHOOK_SECRET" in told(output))


@pytest.fixture
def secret(command: Command) -> str:
    command.environment["WEBHOOK_SECRET"] = generate_secret()
    return command.environment["WEBHOOK_SECRET"]


def test_listening_forwards_what_the_site_would_send(
    command: Command,
    company: Company,
    secret: str,
    receiver: Receiver,
    second_receiver: Receiver,
    tmp_path: Path,
) -> None:
    """The bodies are those of a real endpoint; the signature is one of the standard."""
    endpoint(company.id, second_receiver.url)
    cursor = tmp_path / "cursor.json"
    listening(command, tmp_path / "heard.jsonl", receiver, "--cursor-file", cursor)
    eventually(cursor.exists)

    mia, _ = factories.applications(factories.job(company_id=company.id), 2)
    key_of(company.id).post(f"/applications/{mia.id}/remove", {"outcome": "REMOVED"})
    deliver()
    eventually(lambda: len(receiver.received) >= 6)

    sent = {each.body: each for each in receiver.received}
    by_body = [each.json for each in second_receiver.received]
    assert [json.loads(each) for each in sent] == sorted(
        by_body, key=lambda each: each["data"]["seq"]
    )
    for body, each in sent.items():
        standardwebhooks.Webhook(secret).verify(body.decode(), each.headers)
    heard = rows_in(tmp_path / "heard.jsonl")
    assert [each["status"] for each in heard] == [204] * len(sent)


def test_listening_goes_on_after_a_restart_with_the_same_ids(
    command: Command, job: UUID, secret: str, receiver: Receiver, tmp_path: Path
) -> None:
    cursor, output = tmp_path / "cursor.json", tmp_path / "heard.jsonl"
    more = ("--cursor-file", cursor, "--type", "application.*")
    listening(command, output, receiver, *more)
    eventually(cursor.exists)
    command.end()

    factories.application(job)
    command.object("jobs", "pause", job)
    wait_for_the_feed()
    listening(command, output, receiver, *more)
    eventually(lambda: bool(receiver.received))

    assert receiver.types == ["application.applied"]
    assert re.fullmatch(r"msg_\S+", receiver.received[0].id)


def test_listening_repeats_what_is_not_accepted(
    command: Command, job: UUID, secret: str, receiver: Receiver, tmp_path: Path
) -> None:
    output = tmp_path / "heard.jsonl"

    def once_busy(handler: BaseHTTPRequestHandler) -> None:
        reply(handler, 503 if len(receiver.received) == 1 else 200)

    receiver.answer = once_busy
    cursor = tmp_path / "cursor.json"
    listening(command, output, receiver, "--cursor-file", cursor)
    eventually(cursor.exists)
    factories.application(job)
    eventually(lambda: bool(rows_in(output)))

    [heard] = rows_in(output)
    assert (heard["status"], heard["attempts"]) == (200, 2)
    assert len({each.id for each in receiver.received}) == 1


def test_listening_in_test_mode_says_that_it_is_a_test(
    command: Command, company: Company, secret: str, receiver: Receiver, tmp_path: Path
) -> None:
    trial = sandbox(company)
    command.environment["NEXT_IN_LINE_KEY"] = str(key_of(trial.id).token)
    cursor = tmp_path / "cursor.json"
    listening(command, tmp_path / "heard.jsonl", receiver, "--cursor-file", cursor)
    eventually(cursor.exists)
    factories.job(company_id=trial.id)
    eventually(lambda: bool(receiver.received))

    assert receiver.received[0].json["test"] is True


def test_listening_copies_the_deliveries_of_an_endpoint(
    command: Command,
    company: Company,
    job: UUID,
    secret: str,
    receiver: Receiver,
    second_receiver: Receiver,
    tmp_path: Path,
) -> None:
    made, _ = endpoint(company.id, second_receiver.url)
    factories.application(job)
    deliver()
    output = tmp_path / "heard.jsonl"
    listening(command, output, receiver, "--endpoint", made.id)
    time.sleep(1)
    key_of(company.id).post(f"/webhooks/{made.id}/test")
    deliver()
    eventually(lambda: bool(receiver.received))

    [mine] = receiver.received
    theirs = second_receiver.received[-1]
    assert (mine.json, mine.id) == (theirs.json, theirs.id)
    assert mine.json["type"] == "webhook.test"


def test_every_event_has_the_type_that_the_site_gives_it(python_client: None) -> None:
    made: Callable[..., bytes] = import_module("nextinline").webhook_of_event
    for name in DECLARED:
        event = {
            **dict.fromkeys(("job_id", "seq", "hash", "to_status", "outcome", "at")),
            "event": str(name),
            "data": {},
            "application_id": None if name in JOB_EVENTS else UNKNOWN_ID,
        }
        assert json.loads(made(event, company_id=UNKNOWN_ID))["type"] == public_type(name)
