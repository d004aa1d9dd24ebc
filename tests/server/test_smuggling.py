"""Requests that could be understood in two ways, sent to the site: none becomes another request."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pipeline.server import refusals
from pipeline.server.http_protocol import BoundedProtocol
from tests.server.ambiguous_requests import FAMILIES, Ambiguous, all_ambiguous, head, length
from tests.server.in_process import adapter_of, serving_here
from tests.server.smuggling import Site, answers_to
from tests.support.server import ServeModule

AT_ONCE = 12
MOST_GROWTH_BYTES = 8_000_000


# Completes whatever a server has mistaken for the beginning of a request.
END = b"\r\n\r\n"


def misunderstandings(case: Ambiguous, protocol: Callable[..., Any] = BoundedProtocol) -> list[str]:
    """Send a request to a site of its own; return what it took for something else."""
    site = Site()
    with serving_here(refusals.only_plain(adapter_of(site)), protocol=protocol) as port:
        statuses, has_ended = answers_of(port, replace(case, segments=(*case.segments, END)))
    wrong = [] if tuple(site.paths) == case.paths else [f"{case}: understood as {site.paths}"]
    return wrong + unfit_statuses(case, statuses, has_ended, accepted=200)


def answers_of(port: int, case: Ambiguous) -> tuple[list[int], bool]:
    """Send a request; return the statuses of the answers, and if the server ended."""
    count = len(case.paths) or 1
    found = answers_to(port, case.segments, count=count, must_end=not case.paths)
    return found[0], found[2]


def unfit_statuses(
    case: Ambiguous, statuses: list[int], has_ended: bool, *, accepted: int = 0
) -> list[str]:
    """Return what is wrong with the answers: one for each request, and at the end one refusal."""
    count = len(case.paths)
    answers, rest = statuses[:count], statuses[count:]
    fits = len(answers) == count and (not accepted or set(answers) <= {accepted})
    fits = fits and (rest == [] or (len(rest) == 1 and 400 <= rest[0] < 500 and has_ended))
    if not case.paths:
        fits = fits and len(rest) == 1
    return [] if fits else [f"{case}: answered {statuses}, {has_ended=}"]


def test_there_are_at_least_300_ambiguous_requests_of_names_of_their_own() -> None:
    names = [str(case) for case in all_ambiguous()]

    assert len(names) >= 300
    assert len(set(names)) == len(names)
    assert {name.partition(":")[0] for name in names} == {each.__name__ for each in FAMILIES}


def test_each_ambiguous_request_is_refused_or_has_one_meaning() -> None:
    with ThreadPoolExecutor(AT_ONCE) as crew:
        found = list(crew.map(misunderstandings, all_ambiguous()))

    assert [each for wrong in found for each in wrong] == []


def test_control_a_server_that_skips_the_body_of_an_upgrade_is_found_out() -> None:
    asked = {"swallowing after 0 empty lines", "swallowing after 1 empty lines"}
    cases = [case for case in all_ambiguous() if case.name in asked]

    found = [misunderstandings(case, HttpToolsProtocol) for case in cases]

    assert len(cases) == len(asked)
    assert all("/smuggled" in wrong[0] for wrong in found)


@pytest.mark.parametrize("expected", [b"Expect: 100-continue", b"X: y"])
def test_an_answer_before_the_end_of_its_request_ends_the_connection(expected: bytes) -> None:
    asked: list[str] = []

    async def early(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        headers = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    plain = head(method=b"GET")
    with serving_here(early) as port:
        # The client leaves its body out, so the next one's request would be taken for it.
        unsent = head(expected, b"Content-Length: 150", method=b"GET")
        statuses, text, has_ended = answers_to(port, [unsent, plain], must_end=True)
        kept = answers_to(port, [head(expected, length(b"body")) + b"body", plain], count=2)

    assert (statuses, has_ended) == ([200], True)
    assert text.lower().count(b"connection: close") == 1
    assert (kept[0], kept[2]) == ([200, 200], False)
    assert asked == ["/attack"] * 3


@pytest.mark.parametrize(
    "endless",
    [
        head(b"Transfer-Encoding: chunked") + b"0\r\n" + b"a:\r\n" * 500_000,
        head(method=b"GET") * 40_000,
        head(b"Connection: Upgrade", b"Upgrade: h2c", method=b"GET") + b"\r\n" * 1_000_000,
    ],
    ids=["trailers", "requests sent ahead", "empty lines"],
)
def test_what_never_ends_takes_little_memory(endless: bytes) -> None:
    with serving_here(refusals.only_plain(adapter_of(Site()))) as port:
        answers_to(port, [head(method=b"GET")], count=1)  # what each first request loads
        tracemalloc.start()
        statuses, _, has_ended = answers_to(port, [endless], must_end=True)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert statuses
    assert has_ended
    assert peak < MOST_GROWTH_BYTES


@pytest.fixture(scope="module")
def port(serve_module: ServeModule) -> Iterator[int]:
    url, log = serve_module(workers=1, THROTTLE_ANONYMOUS="off")
    yield int(url.rpartition(":")[2])
    assert "Exception in ASGI application" not in log.read_text()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_web_server_gives_as_many_answers_as_there_are_requests(port: int) -> None:
    def wrong_with(case: Ambiguous) -> list[str]:
        statuses, has_ended = answers_of(port, case)
        return unfit_statuses(case, statuses, has_ended)

    with ThreadPoolExecutor(AT_ONCE) as crew:
        found = list(crew.map(wrong_with, all_ambiguous()))

    assert [each for wrong in found for each in wrong] == []
