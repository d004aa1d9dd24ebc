"""`up` becomes a small program that keeps the others running."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest

from pipeline.management.keep_up import Plan, Program
from tests.house.running import free_port
from tests.support.dispositions import ignore_hang_up, reset_dispositions
from tests.support.environment import ROOT

# A site that answers its readiness check, and one that ends.
SITE = """
import http.server, sys
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Ready).serve_forever()
"""
BECOME = """
import json, sys
from pipeline.management.keep_up import Plan, exec_plan
from pipeline.management.keep_up import Program
plan = json.load(sys.stdin)
plan["programs"] = [Program(**each) for each in plan["programs"]]
exec_plan(Plan(**plan))
"""
SECRET = "the demo's password is p4ssw0rd"

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a process that becomes the keeper of a plan."""
    started: list[subprocess.Popen[str]] = []

    def start_keeper(
        code: str, *arguments: str, preexec: Callable[[], None] = reset_dispositions
    ) -> subprocess.Popen[str]:
        web = Program("web", [sys.executable, "-c", code, *arguments], must_start=True)
        port = int(arguments[0]) if arguments else free_port()
        plan = Plan([web], folder=str(ROOT), port=port, welcome=SECRET)
        keeper = subprocess.Popen(
            [sys.executable, "-c", BECOME],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=preexec,  # noqa: PLW1509  no threads run here
        )
        started.append(keeper)
        assert keeper.stdin
        keeper.stdin.write(json.dumps(asdict(plan)))
        keeper.stdin.close()
        return keeper

    yield start_keeper
    for each in started:
        with suppress(ProcessLookupError):
            each.kill()
        each.wait(30)
        if each.stdout:
            each.stdout.close()


def test_it_says_welcome_once_the_site_answers_and_ends_in_order(start: Start) -> None:
    keeper = start(SITE, str(free_port()))
    assert keeper.stdout
    assert keeper.stdout.readline().strip() == SECRET

    keeper.send_signal(signal.SIGTERM)

    assert keeper.stdout.read().startswith("Stopping;")
    assert keeper.wait(30) == 0


@pytest.mark.parametrize(("preexec", "ends"), [(reset_dispositions, True), (ignore_hang_up, False)])
def test_a_hang_up_ends_it_unless_it_was_started_by_nohup(
    start: Start, preexec: Callable[[], None], ends: bool
) -> None:
    keeper = start(SITE, str(free_port()), preexec=preexec)
    assert keeper.stdout
    keeper.stdout.readline()

    keeper.send_signal(signal.SIGHUP)

    if not ends:
        with pytest.raises(subprocess.TimeoutExpired):
            keeper.wait(2)
        keeper.terminate()
    assert keeper.wait(30) == 0


def test_its_command_line_holds_no_secret_and_its_memory_no_django(start: Start) -> None:
    keeper = start(SITE, str(free_port()))
    assert keeper.stdout
    keeper.stdout.readline()

    process = Path(f"/proc/{keeper.pid}")

    words = (process / "cmdline").read_bytes().decode().split("\0")
    assert words[1:3] == ["-m", "pipeline.management.keep_up"]
    assert "p4ssw0rd" not in " ".join(words)
    assert b"p4ssw0rd" not in (process / "environ").read_bytes()
    modules = (
        "import sys, pipeline.management.keep_up, pipeline.database.cluster; print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", modules], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not {"django", "psycopg"} & set(loaded.stdout.split())


def test_when_the_site_does_not_start_it_says_so_and_fails(start: Start) -> None:
    keeper = start("raise SystemExit(3)")
    assert keeper.stdout

    said = keeper.stdout.read()

    assert "web ended by itself (exit code 3); the others were stopped." in said
    assert keeper.wait(30) == 1
