"""Controls of the ledger: against a site that makes one mistake, it names that mistake."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import pytest

from tests.faults.whole_site.ledger import Entry, ledger_faults, order_faults, reading_faults
from tests.faults.whole_site.people import EVENTS, Crowd
from tests.support.waiting import eventually

SEATS, PEOPLE = 2, 8
STATUSES = {"acknowledge": "ACTIVE", "withdraw": "INACTIVE"}


class Line:
    """Line in memory that makes at most one mistake, at each third opportunity."""

    def __init__(self, mistake: str = "") -> None:
        self.log: list[Entry] = []
        self._mistake, self._opportunities = mistake, 0
        self._statuses: dict[str, str] = {}
        self._answers: dict[str, tuple[int, Any]] = {}
        self._past: dict[str, dict[str, Any]] = {}
        self._guard = threading.Lock()

    def answer(self, path: str, key: str | None) -> tuple[int, Any]:
        """Answer a GET, which has no key, or a POST."""
        with self._guard:
            *_, name, verb = path.split("/")
            if key is None:
                return 200, self._standing(verb)
            if key not in self._answers or self._makes("acts again"):
                self._answers[key] = self._act(name, verb)
            elif self._makes("answers anew"):
                return self._answers[key][0], {"id": name, "status": "UNKNOWN"}
            return self._answers[key]

    def _standing(self, name: str) -> dict[str, Any]:
        """How an application stands; with a mistake, as it stood or as it never did."""
        status, position = self._statuses[name], None
        if status == "WAITLIST":
            waiting = [each for each, of in self._statuses.items() if of == "WAITLIST"]
            position = waiting.index(name) + 1 + self._makes("miscounts")
        now = {"id": name, "status": status, "position": position}
        past = self._past.setdefault(name, now)
        if past != now and not self._makes("reads the past"):
            self._past[name] = now
        return self._past[name]

    def _act(self, name: str, verb: str) -> tuple[int, Any]:
        application = str(uuid4()) if verb == "applications" else name
        status = STATUSES.get(verb) or self._status_of_new()
        self._statuses[application] = status
        times = 0 if self._makes("loses") else 2 if self._makes("doubles") else 1
        event = EVENTS.get(verb, "APPLIED")
        for _ in range(times):
            at = datetime.now(UTC)
            seq = len(self.log) + 1
            place = (self._place_of(application), 0) if status == "WAITLIST" else None
            self.log.append(Entry(seq, at, application, event, status, place))
        if event == "APPLIED" and self._makes("puts last first"):
            *_, last = self.log
            self.log = [replace(last, seq=0), *self.log[:-1]]
            self.log = [replace(each, seq=n) for n, each in enumerate(self.log, start=1)]
        return 201 if verb == "applications" else 200, {"id": application, "status": status}

    def _place_of(self, application: str) -> int:
        return list(self._statuses).index(application)

    def _status_of_new(self) -> str:
        taken = sum(status != "INACTIVE" for status in self._statuses.values())
        is_offered = taken < SEATS or self._makes("offers too much")
        return "PENDING_ACKNOWLEDGMENT" if is_offered else "WAITLIST"

    def _makes(self, mistake: str) -> bool:
        self._opportunities += self._mistake == mistake
        return self._mistake == mistake and self._opportunities % 3 == 0


@contextmanager
def answering(line: Line) -> Iterator[int]:
    """An HTTP server before a line; gives its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(self.headers["Idempotency-Key"])

        def _answer(self, key: str | None) -> None:
            status, content = line.answer(self.path, key)
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("mistake", "faults"),
    [
        ("", set()),
        ("loses", {"lost"}),
        ("doubles", {"doubled"}),
        ("acts again", {"doubled"}),
        ("answers anew", {"answered differently"}),
        ("offers too much", {"overfull"}),
        ("puts last first", {"overtaken"}),
        ("miscounts", {"misread"}),
        ("reads the past", {"misread"}),
    ],
)
def test_the_ledger_names_the_mistake_of_a_site_and_finds_none_where_none_is(
    mistake: str, faults: set[str]
) -> None:
    line = Line(mistake)
    with answering(line) as port:
        crowd = Crowd(port, "job", map(str, range(PEOPLE)), seed=1, repeats=0.5)
        crowd.start(4)
        eventually(lambda: crowd.answers.total() >= 150)
        crowd.end()

    found = {each.partition(":")[0] for each in ledger_faults(crowd.told, line.log, seats=SEATS)}
    found |= {each.partition(":")[0] for each in order_faults(crowd.applied, line.log)}
    found |= {each.partition(":")[0] for each in reading_faults(crowd.readers, line.log)}
    found |= {"answered differently"} if crowd.differing else set()
    assert faults <= found
    assert faults or not found


def test_a_gap_in_the_log_is_found() -> None:
    at = datetime.now(UTC)
    log = [Entry(1, at, None, "JOB_CREATED", None), Entry(3, at, None, "JOB_OPENED", None)]

    assert ledger_faults(Counter(), log) == ["seq 3 where 2 comes next"]
