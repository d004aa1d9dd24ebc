"""Clients that read and send slowly, like clients on a real network."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

SMALL_SEGMENT, SMALL_BUFFER = 1_400, 4_096
BUNDLE = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"


def connection(port: int) -> socket.socket:
    """A connection with the buffers of a network; those of this machine hide what is slow."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SMALL_SEGMENT)
    client.settimeout(30)
    client.connect(("127.0.0.1", port))
    return client


def slow_reader(port: int, path: str, key: str = "") -> socket.socket:
    """Someone who asks, and has taken nothing of the answer yet."""
    client = connection(port)
    credential = f"Authorization: Bearer {key}\r\n" if key else ""
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{credential}\r\n".encode())
    return client


def slow_sender(port: int, length: int = 100_000) -> socket.socket:
    """Someone who says how much they send, and does not."""
    client = connection(port)
    head = "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    client.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode() + b'{"title": "')
    return client


class SlowClient:
    """A client that does little at a time, and comes again when it is sent away."""

    def __init__(
        self, connect: Callable[[], socket.socket], act: Callable[[socket.socket], Any]
    ) -> None:
        self._connect, self._act = connect, act
        self._socket = connect()

    def go_on(self) -> None:
        """Take or send a little."""
        try:
            self._socket.setblocking(False)
            is_over = self._act(self._socket) == b""
        except BlockingIOError:
            return
        except OSError:
            is_over = True
        if is_over:
            self._socket.close()
            with suppress(OSError):
                self._socket = self._connect()

    def close(self) -> None:
        """Leave."""
        self._socket.close()


@contextmanager
def all_slow(
    readers: Sequence[Callable[[], socket.socket]],
    senders: Sequence[Callable[[], socket.socket]] = (),
) -> Iterator[None]:
    """Each takes 100 bytes a second, or sends one, as long as this lasts."""
    clients = [SlowClient(connect, lambda client: client.recv(100)) for connect in readers]
    clients += [SlowClient(connect, lambda client: client.send(b"x")) for connect in senders]
    is_over = threading.Event()

    def go_on() -> None:
        while not is_over.wait(1.0):
            for client in clients:
                client.go_on()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        for client in clients:
            client.close()


@contextmanager
def repeating(act: Callable[[], object], threads: int) -> Iterator[list[object]]:
    """Repeat an action in this many threads; yield a list of the results."""
    is_over, results = threading.Event(), []

    def go_on() -> None:
        while not is_over.is_set():
            try:
                results.append(act())
            except (OSError, http.client.HTTPException) as error:
                results.append(error)

    crew = [threading.Thread(target=go_on) for _ in range(threads)]
    for thread in crew:
        thread.start()
    try:
        yield results
    finally:
        is_over.set()
        for thread in crew:
            thread.join()


def ask(
    port: int, path: str, key: str = "", *, method: str = "GET", body: bytes = b"", **headers: str
) -> tuple[int, dict[str, str], Any]:
    """One request on a connection of its own: status, headers (small letters), what is said."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    if key:
        said["Authorization"] = f"Bearer {key}"
    try:
        client.request(method, path, body or None, said)
        answer = client.getresponse()
        content = answer.read()
    finally:
        client.close()
    found = {name.lower(): value for name, value in answer.getheaders()}
    is_json = "json" in found.get("content-type", "")
    return answer.status, found, json.loads(content) if is_json and content else content


def seconds_of(act: Callable[[], tuple[int, Any, Any]], *, during: float) -> list[float]:
    """Time calls one after the other; fail if one is not answered with 200."""
    took, end = [], time.monotonic() + during
    while time.monotonic() < end:
        start = time.monotonic()
        status, _, said = act()
        took.append(time.monotonic() - start)
        assert status == 200, said
        time.sleep(0.02)
    return took


def p95(seconds: list[float]) -> float:
    """The time within which nineteen of twenty were answered."""
    return sorted(seconds)[int(len(seconds) * 0.95)]
