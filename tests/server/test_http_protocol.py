"""Malformed and unusual HTTP: answered or refused, and the next request is served."""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from tests.support.server import ServeModule

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

LIVE = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = LIVE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


@pytest.fixture(scope="module")
def port(serve_module: ServeModule) -> Iterator[int]:
    """The port of a web server that all tests of this room ask."""
    url, log = serve_module(THROTTLE_ANONYMOUS="off")
    yield int(url.rpartition(":")[2])
    assert "Exception in ASGI application" not in log.read_text()


def said(port: int, *texts: bytes, pause: float = 0.0) -> bytes:
    """Send raw bytes; return the answer up to the close. Fails if the connection is reset."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        for text in texts:
            client.sendall(text)
            time.sleep(pause)
        return b"".join(iter(lambda: client.recv(65_536), b""))


def status_of(answer: bytes) -> int:
    """The status of an answer as it stands."""
    return int(answer.split(b" ")[1])


def test_whoever_sends_a_body_in_chunks_reads_why_it_is_refused(port: int) -> None:
    head = b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    piece = b"FFFF\r\n" + b"x" * 65_535 + b"\r\n"

    for _ in range(5):
        assert status_of(said(port, head, *[piece] * 80)) == 411


def test_whoever_never_ends_a_head_reads_why_it_is_refused(port: int) -> None:
    lines = [b"X-A: " + b"a" * 8_000 + b"\r\n"] * 40

    for _ in range(5):
        assert status_of(said(port, b"GET / HTTP/1.1\r\n", *lines)) == 400


def test_whoever_sends_much_more_than_may_be_reads_why_it_is_refused(port: int) -> None:
    head = b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n"

    for _ in range(3):
        answer = said(port, head, *[b"x" * 100_000] * 80)
        assert status_of(answer) in (401, 413)
        assert b"connection: close" in answer


def test_whoever_goes_on_sending_after_a_refusal_is_cut_off(port: int) -> None:
    head = b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(head)
        start, sent = time.monotonic(), 0
        with suppress(ConnectionError):
            while time.monotonic() < start + 20:
                sent += client.send(b"x" * 100_000)

    assert sent < 40_000_000


def test_requests_sent_at_once_are_answered_in_turn(port: int) -> None:
    answer = said(port, LIVE + LIVE.replace(b"/health/live", b"/nowhere") + LAST)

    found = re.findall(rb"HTTP/1\.1 (\d{3})", answer)
    assert found == [b"200", b"404", b"200"]


@pytest.mark.parametrize(
    "head",
    [
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
        b"Content-Length: 3\r\n\r\n{}",
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -2\r\n\r\n{}",
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9"
        + b"9" * 30
        + b"\r\n\r\n{}",
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"zz\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    ],
)
def test_what_could_be_understood_in_two_ways_is_refused(port: int, head: bytes) -> None:
    assert status_of(said(port, head + LAST)) == 400


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"http://localhost/health/live", 200),
        (b"http://evil.example/health/live", 200),
        (b"/health/%6Cive", 200),
        (b"/health%2Flive", 200),
        (b"//health/live", 404),
        (b"/%FF%FE", 404),
        (b"/%00", 404),
        (b"/live/%00", 204),
        (b"/live/%FF", 204),
        (b"/nowhere?" + b"a" * 30_000, 404),
        (b"/" + b"a" * 100_000, 400),
        (b"*", 404),
        (b"evil.example:443", 400),
    ],
)
def test_an_unusual_target_is_taken_for_what_it_says(port: int, target: bytes, status: int) -> None:
    answer = said(port, LAST.replace(b"/health/live", target))

    assert status_of(answer) == status


def test_an_answer_without_a_body_has_none(port: int) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as client:
        for method, path in (("HEAD", "/"), ("HEAD", "/metrics"), ("HEAD", "/nowhere")):
            client.request(method, path)
            assert client.getresponse().read() == b""
        client.request("GET", "/health/live")
        assert json.loads(client.getresponse().read())


def test_a_line_break_in_an_address_does_not_become_a_header(port: int) -> None:
    for target in (b"/account/login/?next=%0d%0aX-Evil:%20yes", b"/about%0d%0aX-Evil:%20yes"):
        head, _, _ = said(port, LAST.replace(b"/health/live", target)).partition(b"\r\n\r\n")
        assert b"X-Evil" not in head


def test_what_a_client_says_of_its_address_is_not_believed(port: int) -> None:
    head = LAST.replace(b"/health/live", b"/metrics").replace(
        b"Host: localhost", b"Host: localhost\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil"
    )

    assert status_of(said(port, LAST.replace(b"/health/live", b"/metrics"))) == 200
    assert status_of(said(port, head)) == 404
    assert status_of(said(port, head.replace(b"X-Forwarded-Proto", b"X-Forwarded-For"))) == 404


def test_who_sends_nonsense_while_an_answer_is_made_hears_only_that(port: int) -> None:
    head = b"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"

    for _ in range(5):
        answers = said(port, head + b"nonsense\r\n\r\n")
        assert 1 <= answers.count(b"HTTP/1.1") <= 2


def test_after_a_refused_request_with_a_body_the_connection_serves_on(port: int) -> None:
    refused = (
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
        b"Content-Length: 5\r\n\r\nhello"
    )

    answer = said(port, refused + LAST)

    assert [status_of(answer), answer.count(b"HTTP/1.1 200")] == [401, 1]
