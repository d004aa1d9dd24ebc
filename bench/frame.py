"""CPU of API requests in one thread, without a server.

Four kinds of request go through Django's WSGI application in a separate process: applying (a new
person each time), one application, a page of the queue, a job's pipeline. Prints the CPU of the
thread and of its PostgreSQL backend. `--against FOLDER` measures another checkout in
alternating rounds, each on its own database; then the ratio matters, not the figures.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import harness

WAITING = 500
KINDS = ("apply", "one application", "page of the queue", "pipeline")
Call = Callable[[], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=150, help="of each kind in each round")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout")
    parser.add_argument("--serve", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return _serve(options.serve)
    return _compare(options)


def _compare(options: argparse.Namespace) -> None:
    folders = {"here": harness.ROOT}
    if options.against:
        folders["there"] = options.against.resolve()
    spent: dict[tuple[str, str], list[list[float]]] = {}
    with _measurers(folders) as measurers:
        for _, kind in itertools.product(range(options.rounds), KINDS):
            for name, measurer in measurers.items():
                figures = _ask(measurer, kind, options.requests)
                spent.setdefault((kind, name), []).append(figures)
    for kind in KINDS:
        totals = {}
        for name in folders:
            web, database = (harness.median(each) for each in zip(*spent[kind, name], strict=True))
            totals[name] = web
            print(f"{kind:18} {name:6} {web:6.2f} ms + PostgreSQL {database:5.2f} ms")
        if "there" in totals:
            print(f"{'':18} here / there: {totals['here'] / totals['there']:.2f}")
    harness.print_load()


@contextmanager
def _measurers(folders: dict[str, Path]) -> Iterator[dict[str, subprocess.Popen[str]]]:
    running = {name: _start(name, folder) for name, folder in folders.items()}
    try:
        yield running
    finally:
        for process in running.values():
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)


def _start(name: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__).resolve()), "--serve", name]
    environment = os.environ | {"BENCH_ROOT": str(folder), "LOG_LEVEL": "ERROR"}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdin=-1, stdout=-1, text=True, bufsize=1
    )


def _ask(measurer: subprocess.Popen[str], kind: str, requests: int) -> list[float]:
    assert measurer.stdin is not None
    assert measurer.stdout is not None
    print(json.dumps([kind, requests]), file=measurer.stdin, flush=True)
    return list(json.loads(measurer.stdout.readline()))


def _serve(name: str) -> None:
    """Read requests for measurements from standard input, one a line, and print the results."""
    harness.DATABASE = f"bench_{name}"
    os.environ["THROTTLE_API"] = "off"
    with tempfile.TemporaryDirectory() as counters:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = counters
        harness.start(durable=False)
        from storm import company_key

        calls = _calls(company_key())
        from django.db import connection

        harness.execute("VACUUM ANALYZE")
        (pid,) = harness.execute("SELECT pg_backend_pid()")[0]
        backend = Path(f"/proc/{pid}/schedstat")
        for line in sys.stdin:
            kind, requests = json.loads(line)
            print(json.dumps(_measure(calls[kind], requests, backend)), flush=True)
        connection.close()


def _measure(call: Call, requests: int, backend: Path) -> tuple[float, float]:
    before, start = _ran_ms(backend), time.thread_time()
    for _ in range(requests):
        call()
    web = (time.thread_time() - start) * 1e3
    return web / requests, (_ran_ms(backend) - before) / requests


def _ran_ms(process: Path) -> float:
    return int(process.read_text().split()[0]) / 1e6


def _calls(key: str) -> dict[str, Call]:
    from django.core.wsgi import get_wsgi_application

    application, number = get_wsgi_application(), itertools.count()

    def call(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        status, answer = _request(application, method, f"/api/v1{path}", key, body)
        if status >= 400:
            raise SystemExit(f"{method} {path} answered {status}: {answer!r}")
        return json.loads(answer)

    job = call("POST", "/jobs", {"title": "Bench", "capacity": 10})["id"]

    def apply() -> Any:
        person = {"name": "Bench", "email": f"bench{next(number)}@bench.example"}
        return call("POST", f"/jobs/{job}/applications", person)

    one = [apply()["id"] for _ in range(WAITING)][-1]
    return {
        "apply": apply,
        "one application": lambda: call("GET", f"/applications/{one}"),
        "page of the queue": lambda: call("GET", f"/jobs/{job}/queue"),
        "pipeline": lambda: call("GET", f"/jobs/{job}/pipeline"),
    }


def _request(
    application: Any, method: str, path: str, key: str, body: dict[str, Any] | None
) -> tuple[int, bytes]:
    sent = b"" if body is None else json.dumps(body).encode()
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "SCRIPT_NAME": "",
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "127.0.0.1:8000",
        "HTTP_ACCEPT": "*/*",
        "HTTP_AUTHORIZATION": f"Bearer {key}",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(sent)),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(sent),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
    }
    told: list[str] = []
    answer = application(environ, lambda status, headers, *_: told.append(status))
    try:
        return int(told[0][:3]), b"".join(answer)
    finally:
        answer.close()


if __name__ == "__main__":
    main()
