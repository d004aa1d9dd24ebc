"""Time that a client has for each head of a connection, and between two requests."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from pipeline.server import closing, http_protocol
from tests.server.in_process import KEEP_ALIVE_SECONDS, serving_here

HEAD_SECONDS = 1.0
LONGEST_SECONDS = 20.0  # other tests run beside these; without a limit it would be a minute
REQUEST = b"GET /fast HTTP/1.1\r\nHost: localhost\r\n\r\n"
SLOW = REQUEST.replace(b"fast", b"slow")
SLOW_SECONDS = 2 * HEAD_SECONDS
# A body of which the answer does not wait for the end.
ENDLESS = b"POST /fast HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
SAID = b"12"


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answer without reading the body; `/slow` takes its time."""
    if scope["path"] == "/slow":
        await asyncio.sleep(SLOW_SECONDS)
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": SAID})


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A connection to a server whose heads have little time."""
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", HEAD_SECONDS)
    monkeypatch.setattr(closing, "LINGER_SECONDS", 0.2)
    with (
        serving_here(application) as port,
        socket.create_connection(("127.0.0.1", port), timeout=KEEP_ALIVE_SECONDS) as client,
    ):
        yield client


def answer_to(client: socket.socket, request: bytes) -> bytes:
    """The answer, as far as it has come with the first bytes that end it."""
    client.sendall(request)
    answer = b""
    while not answer.endswith(SAID):
        piece = client.recv(4_096)
        assert piece, answer
        answer += piece
    return answer


def seconds_until_closed(client: socket.socket, drip: bytes) -> float:
    """How long the server takes one byte after the other, until it ends the connection."""
    start = time.monotonic()
    client.settimeout(0.1)
    for n in range(int(KEEP_ALIVE_SECONDS / 0.1)):
        with suppress(TimeoutError):
            try:
                client.sendall(drip[n % len(drip) :][:1])
                if not client.recv(4_096):
                    break
            except ConnectionError:
                break
    return time.monotonic() - start


LONG_HEAD = b"GET /fast HTTP/1.1\r\nX-A: " + b"a" * 1_000


def test_a_silent_connection_is_ended(client: socket.socket) -> None:
    start = time.monotonic()

    assert client.recv(1) == b""
    assert HEAD_SECONDS * 0.8 < time.monotonic() - start < LONGEST_SECONDS


def test_the_first_head_has_its_time_from_its_first_byte(
    monkeypatch: pytest.MonkeyPatch, client: socket.socket
) -> None:
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 3.0)
    with socket.create_connection(client.getpeername()) as later:
        time.sleep(1.6)
        later.sendall(REQUEST[:10])
        time.sleep(1.6)

        assert b"200" in answer_to(later, REQUEST[10:])


@pytest.mark.parametrize("before", [1, 3])
def test_each_head_of_a_connection_has_a_time_limit(client: socket.socket, before: int) -> None:
    for _ in range(before):
        answer_to(client, REQUEST)

    took = seconds_until_closed(client, LONG_HEAD)

    assert HEAD_SECONDS * 0.8 < took < LONGEST_SECONDS


def test_so_has_a_head_that_begins_in_one_piece_with_the_request_before(
    client: socket.socket,
) -> None:
    answer_to(client, REQUEST + b"GE")

    assert seconds_until_closed(client, LONG_HEAD[2:]) < LONGEST_SECONDS


def test_empty_lines_before_a_head_count_as_its_beginning(client: socket.socket) -> None:
    answer_to(client, REQUEST)

    assert seconds_until_closed(client, b"\r\n") < LONGEST_SECONDS


def test_what_follows_an_early_answer_has_a_time_limit(client: socket.socket) -> None:
    answer_to(client, ENDLESS)

    assert seconds_until_closed(client, b"x") < LONGEST_SECONDS


def test_between_two_requests_a_connection_has_its_own_limit(client: socket.socket) -> None:
    answer_to(client, REQUEST)
    time.sleep(HEAD_SECONDS * 1.2)
    answer_to(client, REQUEST)

    with (
        serving_here(application, keep_alive_seconds=1) as port,
        socket.create_connection(("127.0.0.1", port), timeout=KEEP_ALIVE_SECONDS) as other,
    ):
        answer_to(other, REQUEST)
        assert other.recv(1) == b""


def test_a_head_that_has_begun_does_not_cut_the_answer_before_it(client: socket.socket) -> None:
    assert answer_to(client, SLOW + b"GE").endswith(SAID)

    assert b"200" in answer_to(client, REQUEST[2:])


def test_heads_sent_at_once_are_answered_however_long_the_first_takes(
    client: socket.socket,
) -> None:
    client.sendall(SLOW + SLOW + REQUEST + REQUEST[:10])
    answers = b""
    while answers.count(b"\r\n\r\n" + SAID) < 3:
        answers += client.recv(4_096)

    assert b"200" in answer_to(client, REQUEST[10:])
