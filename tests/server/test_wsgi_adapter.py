"""How the server takes requests and gives answers that are unusual."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from pipeline.server.request_body import BODY_SECONDS
from tests.support.server import ServeModule

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def port(serve_module: ServeModule) -> Iterator[int]:
    """The port of a running web server."""
    url, log = serve_module(THROTTLE_ANONYMOUS="off")
    yield int(url.rpartition(":")[2])
    assert "Traceback" not in log.read_text()


def said(port: int, *texts: bytes, pause: float = 0.0) -> bytes:
    """Send raw bytes; return the answer until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        for text in texts:
            client.sendall(text)
            time.sleep(pause)
        return b"".join(iter(lambda: client.recv(65_536), b""))


def post(path: str, *headers: str, kind: str = "application/json") -> bytes:
    """The head of a POST, the last one of its connection."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Type: {kind}"]
    return "\r\n".join([*lines, "Connection: close", *headers, "", ""]).encode()


def test_a_body_comes_as_it_was_sent_in_pieces_or_after_100_continue(port: int) -> None:
    body = b'{"email": "nobody"}'
    length = f"Content-Length: {len(body)}"
    path = "/api/v1/sign-in"

    slowly = said(port, post(path, length), body[:5], body[5:], pause=0.1)
    asked = said(port, post(path, length, "Expect: 100-continue"), body, pause=0.2)

    assert slowly.startswith(b"HTTP/1.1 4")
    assert asked.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 4")


def test_a_body_that_says_it_is_too_long_is_refused_unread(port: int) -> None:
    head = post("/api/v1/jobs", "Content-Length: 99000000", "Expect: 100-continue")

    answer = said(port, head)

    assert not answer.startswith(b"HTTP/1.1 100")
    assert answer.startswith(b"HTTP/1.1 4")


def test_a_header_with_underscores_cannot_pass_for_another(port: int) -> None:
    head = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX_Forwarded_For: 9.9.9.9\r\n"

    assert said(port, head + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")


def test_a_head_request_has_no_body_and_the_connection_serves_on(port: int) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as client:
        for method in ("HEAD", "GET"):
            client.request(method, "/health/live", headers={"X-Request-ID": "mine"})
            answer = client.getresponse()
            assert answer.status == 200
            assert answer.headers["X-Request-ID"] == "mine"
            assert answer.headers["Server"] is None
            assert len(answer.read()) == (16 if method == "GET" else 0)


def test_who_sends_half_a_body_holds_nobody_up(port: int) -> None:
    halves = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
    for half in halves:
        half.sendall(post("/api/v1/jobs", "Content-Length: 1000") + b'{"title"')

    start = time.monotonic()
    answer = said(port, b"GET /health/live HTTP/1.0\r\n\r\n")

    assert b"200" in answer.split(b"\r\n")[0]
    assert time.monotonic() - start < BODY_SECONDS / 2
    for half in halves:
        half.close()


def test_a_long_body_is_not_taken_for_a_long_head_whatever_the_pieces_it_comes_in(
    port: int,
) -> None:
    body = b'{"title": "' + b"x" * 200_000 + b'"}'

    answer = said(port, post("/api/v1/jobs", f"Content-Length: {len(body)}") + body)

    assert answer.startswith(b"HTTP/1.1 401")


def test_a_file_of_people_may_be_longer_than_other_bodies(port: int) -> None:
    path = "/api/v1/jobs/00000000-0000-7000-8000-000000000000/applications/import"
    body = b"name,email\n" + b"\n" * 10_000_000

    def sent(address: str) -> bytes:
        return said(port, post(address, f"Content-Length: {len(body)}", kind="text/csv"), body)

    assert sent(path).startswith(b"HTTP/1.1 401")
    assert sent("/api/v1/jobs").startswith(b"HTTP/1.1 413")
