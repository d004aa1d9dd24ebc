"""Time that a client has for each head of a connection, and between two requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.server import http_protocol
from pipeline.server.http_protocol import HEAD_SECONDS
from tests.server.hand_clock import HandClient, client_by_hand

KEEP_ALIVE_SECONDS = 3 * int(HEAD_SECONDS)
REQUEST = b"GET /fast HTTP/1.1\r\nHost: localhost\r\n\r\n"
SLOW = REQUEST.replace(b"fast", b"slow")
# A body of which the answer does not wait for the end.
ENDLESS = b"POST /fast HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
SAID = b"\r\n\r\n12"
LONG_HEAD = b"GET /fast HTTP/1.1\r\nX-A: " + b"a" * 1_000


class Application:
    """Answers without reading the body; `/slow` is answered when `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            await self.go_on.wait()
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": SAID[-2:]})


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, application: Application) -> Iterator[HandClient]:
    """A connection to a server, by a clock that stands still."""
    monkeypatch.setattr(http_protocol, "LINGER_SECONDS", 0.2)
    with client_by_hand(application, keep_alive_seconds=KEEP_ALIVE_SECONDS) as client:
        yield client


def answer_to(client: HandClient, request: bytes) -> bytes:
    """The answer, as far as it has come with the first bytes that end it."""
    client.send(request)
    return client.read_until(SAID)


def assert_ended_after_the_heads_time(client: HandClient, drip: bytes) -> None:
    took = client.seconds_until_closed(drip, KEEP_ALIVE_SECONDS)

    assert HEAD_SECONDS - 1 < took < HEAD_SECONDS + 1


def test_a_silent_connection_is_ended(client: HandClient) -> None:
    client.pass_time(HEAD_SECONDS - 0.1)
    assert not client.is_closed

    client.pass_time(0.2)

    assert client.socket.recv(1) == b""


def test_the_first_head_has_its_time_from_its_first_byte(client: HandClient) -> None:
    client.pass_time(HEAD_SECONDS - 1)
    client.send(REQUEST[:10])
    client.pass_time(HEAD_SECONDS - 1)

    assert b"200" in answer_to(client, REQUEST[10:])


@pytest.mark.parametrize("before", [1, 3])
def test_each_head_of_a_connection_has_a_time_limit(client: HandClient, before: int) -> None:
    for _ in range(before):
        answer_to(client, REQUEST)

    assert_ended_after_the_heads_time(client, LONG_HEAD)


def test_so_has_a_head_that_begins_in_one_piece_with_the_request_before(client: HandClient) -> None:
    answer_to(client, REQUEST + b"GE")

    assert_ended_after_the_heads_time(client, LONG_HEAD[2:])


def test_an_empty_line_before_a_head_is_refused_at_once(client: HandClient) -> None:
    answer_to(client, REQUEST)

    client.send(b"\r\n")

    assert client.is_closed
    assert b" 400 " in client.read_until(b"received.")


def test_an_early_answer_ends_the_connection(client: HandClient) -> None:
    answer_to(client, ENDLESS)

    assert client.is_closed
    assert client.socket.recv(1) == b""


def test_between_two_requests_a_connection_has_its_own_limit(client: HandClient) -> None:
    answer_to(client, REQUEST)
    client.pass_time(KEEP_ALIVE_SECONDS - 1)
    answer_to(client, REQUEST)
    client.pass_time(KEEP_ALIVE_SECONDS - 1)
    assert not client.is_closed

    client.pass_time(1)

    assert client.socket.recv(1) == b""


def test_a_head_that_has_begun_does_not_cut_the_answer_before_it(
    client: HandClient, application: Application
) -> None:
    client.send(SLOW + b"GE")
    client.pass_time(2 * HEAD_SECONDS)
    client.call(application.go_on.set)
    client.read_until(SAID)
    client.pass_time(HEAD_SECONDS - 1)

    assert b"200" in answer_to(client, REQUEST[2:])


def test_heads_sent_at_once_are_answered_however_long_the_first_takes(
    client: HandClient, application: Application
) -> None:
    client.send(SLOW + SLOW + REQUEST + REQUEST[:10])
    client.pass_time(2 * HEAD_SECONDS)
    client.call(application.go_on.set)
    client.read_until(SAID, 3)
    client.pass_time(HEAD_SECONDS - 1)

    assert b"200" in answer_to(client, REQUEST[10:])
