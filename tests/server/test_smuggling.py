"""Requests that could be understood in two ways, sent to the site: none becomes another request."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.server.request_forms import only_plain_requests
from tests.server.ambiguous_requests import FAMILIES, Ambiguous, all_ambiguous
from tests.server.in_process import adapter_of, serving_here
from tests.server.smuggling import Site, answers_to
from tests.support.server import ServeModule

AT_ONCE = 12


def misunderstandings(case: Ambiguous) -> list[str]:
    """Send a request to a site of its own; return what it took for something else."""
    site = Site()
    with serving_here(only_plain_requests(adapter_of(site))) as port:
        statuses, has_ended = answers_of(port, case)
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
