"""Refusals by the event loop: counted in the log, and never on a connection that is kept."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable, Iterable
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.utils.functional import lazy
from django.utils.translation import get_language

from pipeline.api import problems
from pipeline.api.problem_type import ProblemType
from pipeline.api.problem_types import ALL_PROBLEM_TYPES, TOO_SLOW
from pipeline.live import streams
from pipeline.server import http_protocol, request_body
from pipeline.server.http_protocol import BoundedProtocol, ConnectionLimits
from pipeline.server.refusals import refuse
from pipeline.web.asgi_types import Message
from pipeline.web.rate_limit import MOST_SUBJECTS, ProcessRate, RateUsedUp
from pipeline.web.refusal_log import refusal_log
from tests.server.ambiguous_requests import head
from tests.server.hand_clock import client_by_hand
from tests.server.in_process import adapter_of, serving_here
from tests.server.smuggling import answers_to
from tests.support.logs import Log
from tests.support.waiting import eventually

WAITING = [kind for kind in (*ALL_PROBLEM_TYPES, TOO_SLOW) if kind.retry_after_seconds]
REFUSED = [kind for kind in (*ALL_PROBLEM_TYPES, TOO_SLOW) if kind.status in (429, 503)]


@pytest.fixture(autouse=True)
def _nothing_refused() -> None:
    """Forget what an earlier server of this process had no time to write."""
    refusal_log._counts.clear()


def empty(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with nothing."""
    start("200 OK", [("Content-Length", "0")])
    return []


def ask(port: int, path: str = "/") -> tuple[int, dict[str, str]]:
    """Ask once, on a connection of its own; return the status and the headers."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as client:
        client.request("GET", path)
        answer = client.getresponse()
        answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}


def named(kind: ProblemType) -> str:
    return f"{kind.code}-{kind.retry_after_seconds}"


@pytest.mark.parametrize("kind", WAITING, ids=named)
def test_an_answer_that_asks_to_come_later_ends_the_connection(kind: ProblemType) -> None:
    def busy(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        start(
            f"{kind.status} Later", [("Content-Length", "0"), *problems.build_headers(kind).items()]
        )
        return []

    with serving_here(adapter_of(busy)) as port:
        _, headers = ask(port)

    assert headers["retry-after"] == str(kind.retry_after_seconds)
    assert headers["connection"] == "close"


@pytest.mark.parametrize("kind", REFUSED, ids=named)
def test_so_does_a_refusal_by_the_event_loop(kind: ProblemType) -> None:
    async def refusing(scope: Any, receive: Any, send: Any) -> None:
        await refuse(scope, send, kind, "Later.")

    with serving_here(refusing) as port:
        _, headers = ask(port)

    assert headers["retry-after"]
    assert headers["connection"] == "close"


def test_so_does_a_stream_for_which_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    class FullHub:
        def watching(self, *_: Any, **__: Any) -> Any:
            raise streams.HubFull

    always = SimpleNamespace(is_for=lambda _: True)
    monkeypatch.setattr(streams.stream_tokens, "read", lambda _: always)

    async def full(scope: Any, receive: Any, send: Any) -> None:
        await streams.respond(cast("Any", FullHub()), scope, receive, send)

    with serving_here(full) as port:
        status, headers = ask(port, "/live/any")

    assert (status, headers["retry-after"]) == (503, str(streams.FULL_RETRY_SECONDS))
    assert headers["connection"] == "close"


def test_so_does_a_server_that_has_too_many_connections(
    monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    monkeypatch.setattr(BoundedProtocol, "connection_limits", ConnectionLimits(most=0))

    with serving_here(adapter_of(empty)) as port:
        status, headers = ask(port)
        eventually(lambda: log.lines("pipeline.refused"))

    assert (status, headers["connection"]) == (503, "close")
    assert headers["retry-after"] == str(http_protocol.FULL_RETRY_SECONDS)
    assert log.lines("pipeline.refused")[0]["address"] == "127.0.0.1"


def test_what_is_not_http_is_counted_and_makes_no_flood(log: Log) -> None:
    with serving_here(adapter_of(empty)) as port:
        for _ in range(20):
            assert answers_to(port, [b"\x16\x03\x01 not HTTP\r\n\r\n"], must_end=True)[0] == [400]
        eventually(lambda: sum(each["count"] for each in log.lines("pipeline.refused")) == 20)

    lines = log.lines("pipeline.refused")
    assert {(each["address"], each["status_code"]) for each in lines} == {("127.0.0.1", 400)}
    assert log.lines("uvicorn.error") == []


def test_a_body_that_comes_too_slowly_is_counted(monkeypatch: pytest.MonkeyPatch, log: Log) -> None:
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.1)

    with serving_here(adapter_of(empty)) as port:
        asked = head(b"Content-Length: 9") + b"slow"
        assert answers_to(port, [asked], must_end=True)[0] == [408]
        eventually(lambda: log.lines("pipeline.refused"))

    [line] = log.lines("pipeline.refused")
    assert (line["address"], line["status_code"], line["count"]) == ("127.0.0.1", 408, 1)


def test_pages_have_a_rate_for_each_stranger_and_the_log_says_who_was_refused(log: Log) -> None:
    adapter = adapter_of(empty)
    adapter._pages = ProcessRate((3, 3_600))

    with serving_here(adapter) as port:
        statuses = [ask(port)[0] for _ in range(5)]
        status_of_api = ask(port, "/api/v1/jobs")[0]
        eventually(lambda: log.lines("pipeline.refused"))

    assert statuses == [200] * 3 + [429] * 2
    assert status_of_api == 200
    lines = log.lines("pipeline.refused")
    assert {(line["address"], line["status_code"]) for line in lines} == {("127.0.0.1", 429)}
    assert sum(line["count"] for line in lines) == 2


def test_a_rate_of_a_process_refills_evenly_and_remembers_only_some() -> None:
    rate = ProcessRate((2, 10))
    for _ in range(2):
        rate.count("ada", 0.0)
    with pytest.raises(RateUsedUp):
        rate.count("ada", 4.9)

    rate.count("ada", 5.0)
    for number in range(2 * MOST_SUBJECTS):
        rate.count(str(number), 5.0)

    assert len(rate._empty_at) == MOST_SUBJECTS
    for _ in range(9):
        ProcessRate(None).count("ada", 0.0)


def test_a_server_stops_though_an_answer_has_broken(log: Log) -> None:
    async def breaking(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"9")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"short"})

    with client_by_hand(breaking, keep_alive_seconds=60) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        eventually(lambda: client.is_closed)

        client.call(client._server.shutdown)


@pytest.mark.parametrize(
    ("asked", "language"),
    [("de-AT,de;q=0.9,en;q=0.8", "de"), ("xx", "en"), ("*", "en"), ("", "en")],
)
def test_it_speaks_the_language_that_the_client_asks_for(asked: str, language: str) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/v1/jobs",
        "headers": [(b"accept-language", asked.encode())],
        "client": ("127.0.0.1", 1),
    }
    why = lazy(get_language, str)()
    asyncio.run(refuse(scope, send, TOO_SLOW, why))

    assert json.loads(sent[1]["body"])["detail"] == language
    assert get_language() == "en"
