"""Proxies with our files before two web servers: each job has one, and each request a stamp."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import UUID

import pytest

from pipeline.server.stamps import proxy_stamp_in
from tests.deploy.proxies import NAMES, proxy_before

pytestmark = pytest.mark.slow

JOBS = [str(UUID(int=n * 2**64 + n)) for n in range(1, 25)]
FORGED = "t=1700000000.000"


@contextmanager
def recording_site() -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """A web server that answers everything; gives its port, and paths and stamps as they came."""
    seen: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.command == "POST":
                self.rfile.read(int(self.headers["Content-Length"]))
                seen.append((self.path, self.headers.get("X-Request-Start", "")))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port, seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def apply(port: int, path: str) -> None:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Host": "localhost", "X-Request-Start": FORGED, "X-Line": "forged"}
    client.request("POST", path, body=b"{}", headers=headers)
    assert client.getresponse().status == 200
    client.close()


@pytest.mark.parametrize("name", NAMES)
def test_each_job_has_one_web_server_and_each_request_the_stamp_of_the_proxy(
    name: str, tmp_path: Path
) -> None:
    with ExitStack() as running:
        (one, by_one), (two, by_two) = (running.enter_context(recording_site()) for _ in "12")
        port = running.enter_context(proxy_before(name, [one, two], tmp_path))
        time.sleep(1)  # until the proxy has found both of them alive
        before = time.time_ns()

        for job in JOBS:
            for path in (f"/api/v1/jobs/{job}/applications", f"/jobs/{job}/apply/") * 2:
                apply(port, path)

    served = [{job for path, _ in each for job in JOBS if job in path} for each in (by_one, by_two)]
    assert len(by_one) + len(by_two) == 4 * len(JOBS)
    assert served[0].isdisjoint(served[1])
    assert all(served), "both have jobs"
    stamps = [proxy_stamp_in(stamp.encode()) for _, stamp in by_one + by_two]
    assert all(stamp and before - 10**7 <= stamp <= time.time_ns() for stamp in stamps), stamps
