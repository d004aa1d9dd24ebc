"""After kill -9 of gunicorn's master, its workers finish their answers, free the port and end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import connection

from tests.support.environment import ROOT
from tests.support.orphans import orphans
from tests.support.ports import port_for_server
from tests.support.server import START_SECONDS, wait_until_it_answers
from tests.support.task_workers import alive
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.faults,
    pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes through /proc"),
]

# Gunicorn's grace for requests, with the time for a busy machine.
END_SECONDS = 20
WORKERS = 2
# The control: the same server, whose workers do not look for their master.
WITHOUT_WATCH = """
from pipeline.server.gunicorn_config import *
from pipeline.server import gunicorn_worker
gunicorn_worker.end_with_parent = lambda *_, **__: None
"""
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def port() -> int:
    return port_for_server()


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path, port: int) -> Iterator[Start]:
    """Start a web server on the port, as a supervisor would."""
    masters = []

    def start_master(config: str = "python:pipeline.server.gunicorn_config") -> object:
        log = tmp_path / "web.log"
        with log.open("ab") as said:
            master = subprocess.Popen(
                [
                    *(sys.executable, "-m", "gunicorn", "-c", config),
                    *("--bind", f"127.0.0.1:{port}", "--workers", str(WORKERS), "pipeline.asgi"),
                ],
                cwd=ROOT,
                env=environment | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
                stdout=said,
                stderr=said,
            )
        masters.append(master)
        wait_until_it_answers(port, master, log)
        eventually(lambda: len(children_of(master.pid)) == WORKERS)
        return master

    yield start_master
    for master in masters:
        master.kill()
        master.wait()
    for left in orphans(tmp_path, []):
        with suppress(ProcessLookupError):
            os.kill(left, signal.SIGKILL)


def test_the_next_master_binds_at_once_and_no_orphan_stays(
    start: Start, tmp_path: Path, port: int
) -> None:
    first = start()
    workers = children_of(first.pid)
    left = list(tmp_path.glob("next-in-line-web-*"))

    kill(first)
    second = start()

    assert second.poll() is None
    eventually(lambda: not any(map(alive, workers)), END_SECONDS)
    assert orphans(tmp_path, [second.pid]) == {}
    assert len(left) == 1
    kill(second)
    eventually(lambda: not orphans(tmp_path, []), END_SECONDS)
    third = start()
    assert not left[0].exists()
    assert len(list(tmp_path.glob("next-in-line-web-*"))) == 1
    third.terminate()
    assert third.wait(END_SECONDS) == 0
    assert list(tmp_path.glob("next-in-line-*")) == []


def test_a_request_that_is_being_answered_is_finished_and_no_other_is_accepted(
    start: Start, tmp_path: Path, port: int
) -> None:
    master = start()

    with socket.create_connection(("127.0.0.1", port), 30) as client, connection.cursor() as lock:
        lock.execute("BEGIN")
        lock.execute("LOCK TABLE jobs_job IN ACCESS EXCLUSIVE MODE")
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        eventually(is_a_request_waiting)
        kill(master)
        eventually(lambda: is_refused(port), 5)
        lock.execute("ROLLBACK")
        answer = client.makefile("rb").readline()

    assert answer.startswith(b"HTTP/1.1 200")
    eventually(lambda: not orphans(tmp_path, []), END_SECONDS)


def test_control_workers_that_do_not_look_for_their_master_are_found_as_orphans(
    start: Start, tmp_path: Path, port: int
) -> None:
    config = tmp_path / "without_watch.py"
    config.write_text(WITHOUT_WATCH)
    master = start(str(config))

    kill(master)
    time.sleep(2)

    assert len(orphans(tmp_path, [])) == WORKERS
    assert not is_refused(port)


def children_of(master: int) -> set[int]:
    return {
        int(each) for each in Path(f"/proc/{master}/task/{master}/children").read_text().split()
    }


def kill(master: subprocess.Popen[bytes]) -> None:
    master.kill()
    master.wait(START_SECONDS)


def is_refused(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return True
    return False


def is_a_request_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])
