"""A site that is as busy as a test wants, and the applications that it gets."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from uuid import UUID

from pipeline.line.arrivals import current_arrival
from pipeline.line.handover import Handover, take_part_in_handover
from pipeline.line.peers import Peers
from pipeline.server.wsgi import WSGIAdapter
from tests.support.waiting import PATIENCE_SECONDS, eventually

JOB = UUID("018f0c6e-5d5b-7a00-8000-000000000001")
API, PAGE = f"/api/v1/jobs/{JOB}/applications", f"/jobs/{JOB}/apply/"
ADA = b'{"name": "Ada", "email": "ada@example.org"}'
FORM = [
    ("csrfmiddlewaretoken", "c"),
    ("submission_id", "s"),
    ("name", 'Ada "A" <&>'),
    ("email", "a@b.c"),
]


@contextmanager
def alone_in_handover() -> Iterator[Handover]:
    """Let this process take part in the hand-over, alone."""
    peers = Peers(1)
    part = Handover(peers, 0, lambda work: work())
    take_part_in_handover(part)
    try:
        yield part
    finally:
        take_part_in_handover(None)
        peers.close()


def parts_of(fields: list[tuple[str, str]], *, file: bytes = b"", name: str = "cv.pdf") -> bytes:
    """A form in parts, with the edge `edge` and a file `cv`."""
    parts = [f'Content-Disposition: form-data; name="{k}"\r\n\r\n{v}'.encode() for k, v in fields]
    shown = name if file else ""
    head = f'Content-Disposition: form-data; name="cv"; filename="{shown}"\r\n\r\n'.encode()
    return b"".join(b"--edge\r\n%b\r\n" % part for part in [*parts, head + file]) + b"--edge--\r\n"


class Busy:
    """Application that admits when it may, and notes whom, in which order."""

    def __init__(self) -> None:
        self.admitted: list[str] = []
        self.places: list[bool] = []
        self.turns = threading.Semaphore(0)
        self.status = "201 Created"

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read().decode()
        arrival = current_arrival(JOB)
        assert self.turns.acquire(timeout=PATIENCE_SECONDS)
        self.admitted.append(re.findall(r"(\w+)(?:@|%40)", body)[0])
        self.places.append(bool(arrival and arrival.has_place))
        extra = [("Retry-After", "1")] if self.status.startswith("503") else []
        start(self.status, [("Content-Length", "0"), *extra])
        return []


Answer = tuple[int, dict[str, str], str]


def send(port: int, path: str, body: bytes, **headers: str) -> Answer:
    """Send one request on a connection of its own."""
    said = {each.replace("_", "-"): value for each, value in headers.items()}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as client:
        client.request("POST", path, body, said)
        answer = client.getresponse()
        text = answer.read().decode()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text


def person(name: str) -> bytes:
    return json.dumps({"email": f"{name}@example.org"}).encode()


class Full:
    """A site with one request at work and one waiting; its threads, to be joined."""

    def __init__(self, port: int, adapter: WSGIAdapter, busy: Busy) -> None:
        self.port, self.busy, self.queue = port, busy, adapter._queue
        self.answers: dict[str, Answer] = {}
        self._threads: list[threading.Thread] = []

    def send(self, name: str, path: str, body: bytes, **headers: str) -> None:
        def act() -> None:
            self.answers[name] = send(self.port, path, body, **headers)

        self._threads.append(threading.Thread(target=act))
        self._threads[-1].start()

    def fill(self) -> None:
        self.send("working", API, person("working"))
        eventually(lambda: self.queue._running_count == 1)
        self.send("waiting", API, person("waiting"))
        eventually(lambda: self.queue._waiting_count == 1)

    def let_newcomer_wait(self) -> None:
        """Let the first one end, and another one wait in the queue."""
        self.busy.turns.release()
        eventually(lambda: self.queue._waiting_count == 0)
        self.send("newcomer", API, person("newcomer"))
        eventually(lambda: self.queue._waiting_count == 1)

    def go_on(self) -> dict[str, Answer]:
        self.busy.turns.release(100)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        return self.answers
