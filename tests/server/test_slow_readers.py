"""Answers to clients that read slowly, pause, or send on: whole, or plainly cut, never a hang."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from pipeline.server import http_protocol, wsgi
from pipeline.server.wsgi import AnswerSpool, WSGIAdapter
from tests.server.clients import connection
from tests.server.in_process import adapter_of, serving_here
from tests.support.waiting import eventually

TAKING_SECONDS, LINGER_SECONDS = 1.0, 0.2
PIECE = b"x" * 65_536
GET = b"GET /%d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def pieces(environ: dict[str, Any], start: Callable[..., Any]) -> Iterator[bytes]:
    """Answer with as many pieces as the address says; remember nothing of the request."""
    count = int(environ["PATH_INFO"][1:])
    start("200 OK", [("Content-Length", str(count * len(PIECE)))])
    for _ in range(count):
        yield PIECE


@contextmanager
def reader(adapter: WSGIAdapter, request: bytes) -> Iterator[socket.socket]:
    """Someone who has asked, and has taken nothing yet."""
    with serving_here(adapter) as port, connection(port) as client:
        client.sendall(request)
        yield client


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(http_protocol, "TAKING_SECONDS", TAKING_SECONDS)
    monkeypatch.setattr(http_protocol, "LINGER_SECONDS", LINGER_SECONDS)
    yield
    assert AnswerSpool.bytes_of_all == 0


def body_of(client: socket.socket, taken: bytes = b"") -> int:
    """The length of the body that still comes, until the server ends the connection."""
    answer = bytearray(taken)
    with suppress(ConnectionError):
        while piece := client.recv(65_536):
            answer += piece
    return len(answer.partition(b"\r\n\r\n")[2])


def test_a_pause_that_makes_a_thread_wait_too_long_cuts_the_answer_and_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wsgi, "MOST_WAITING_BYTES", 1_000_000)
    monkeypatch.setattr(wsgi, "PATIENCE_SECONDS", 0.4)
    monkeypatch.setattr(http_protocol, "TAKING_SECONDS", 60.0)
    with reader(adapter_of(pieces), GET % 400) as client:
        eventually(lambda: AnswerSpool.bytes_of_all > 0)
        eventually(lambda: AnswerSpool.bytes_of_all == 0)

        length = body_of(client)

        assert 0 < length < 400 * len(PIECE)


def test_a_pause_within_bounds_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "TAKING_SECONDS", 30.0)
    with reader(adapter_of(pieces), GET % 100) as client:
        eventually(lambda: AnswerSpool.bytes_of_all > 0)
        time.sleep(3 * LINGER_SECONDS)

        assert body_of(client) == 100 * len(PIECE)


def test_whoever_takes_little_but_something_gets_the_whole_answer() -> None:
    with reader(adapter_of(pieces), GET % 100) as client:
        taken, start = b"", time.monotonic()
        while time.monotonic() - start < 2 * TAKING_SECONDS:
            taken += client.recv(1_000)
            time.sleep(TAKING_SECONDS / 20)

        assert body_of(client, taken) == 100 * len(PIECE)


def test_whoever_takes_nothing_is_ended() -> None:
    with reader(adapter_of(pieces), GET % 100) as client:
        eventually(lambda: AnswerSpool.bytes_of_all > 0)
        eventually(lambda: AnswerSpool.bytes_of_all == 0)

        assert body_of(client) < 100 * len(PIECE)


@pytest.mark.parametrize("sends_on", [False, True])
def test_a_large_answer_is_whole_though_its_request_is_left_unread(sends_on: bool) -> None:
    request = b"POST /60 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000000\r\n\r\nsome"
    is_over = threading.Event()
    with reader(adapter_of(pieces), request) as client:

        def send_on() -> None:
            with suppress(OSError):
                while not is_over.wait(0.01):
                    client.send(b"x" * 1_000)

        thread = threading.Thread(target=send_on if sends_on else is_over.set)
        thread.start()
        taken = b""
        while len(taken) < 30 * len(PIECE):
            taken += client.recv(20_000)
            time.sleep(0.005)
        length = body_of(client, taken)
        is_over.set()
        thread.join()

    assert length == 60 * len(PIECE)


def test_a_large_body_takes_no_room_while_its_answer_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_protocol, "TAKING_SECONDS", 3_600.0)  # no other reason to free it
    adapter = adapter_of(pieces)
    body = b"x" * 1_000_000
    head = f"POST /100 HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    with reader(adapter, head.encode() + body[:-1]) as client:
        eventually(lambda: adapter._room._held.total() > 0)

        client.sendall(body[-1:])
        assert client.recv(1_000)

        eventually(lambda: adapter._room._held.total() == 0)
