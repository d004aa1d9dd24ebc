"""The web server as it runs in production, on the test database."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from pipeline.server.gunicorn_config import workers as WORKERS
from tests.support.environment import ROOT, process_environment

START_SECONDS = 120  # each process reads the whole program, and other tests run beside it
ANSWER_SECONDS = 5
STOP_SECONDS = 30


class ServeModule(Protocol):
    """Starts a server of a module's own; gives its address and its log."""

    def __call__(self, *, workers: int = WORKERS, **changes: str) -> tuple[str, Path]: ...


@pytest.fixture(scope="module")
def serve_module(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServeModule]:
    """Starts a server for all tests of a module that one worker runs: its start takes seconds.

    The database is emptied under it after each test. Keyword arguments change its environment.
    """
    with ExitStack() as running:

        def start(*, workers: int = WORKERS, **changes: str) -> tuple[str, Path]:
            log = tmp_path_factory.mktemp("web") / "web.log"
            environment = process_environment(**changes)
            return running.enter_context(serving(environment, log, workers=workers)), log

        yield start


@contextmanager
def serving(
    environment: dict[str, str], log: Path, *, port: int = 0, workers: int = WORKERS
) -> Iterator[str]:
    """A running gunicorn with our settings; gives its address. What it says goes to `log`.

    `port`: on which, if not on any that is free. `workers`: how many processes, if not as usual.
    """
    with socket.create_server(("127.0.0.1", port), backlog=128) as listener, log.open("wb") as said:
        port = listener.getsockname()[1]
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "-c", "python:pipeline.server.gunicorn_config"),
                *("--bind", f"fd://{listener.fileno()}", "--workers", str(workers)),
                "pipeline.asgi",
            ],
            cwd=ROOT,
            env={"SITE_URL": f"http://127.0.0.1:{port}"} | environment,
            pass_fds=(listener.fileno(),),
            stdout=said,
            stderr=said,
        )
        try:
            wait_until_it_answers(port, process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def wait_until_it_answers(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
        try:
            client.request("GET", "/health/live")
            if client.getresponse().status == 200:
                return
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)
        finally:
            client.close()
    raise AssertionError(f"the server did not start:\n{log.read_text()}")
