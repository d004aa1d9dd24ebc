"""Requests that a proxy and the site could understand differently, beside a victim's own."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pipeline.server import refusals
from pipeline.server.http_protocol import BoundedProtocol
from tests.deploy import proxies
from tests.server.ambiguous_requests import Ambiguous, all_ambiguous, upgrades
from tests.server.in_process import adapter_of, serving_here
from tests.server.smuggling import Site, Victim, harm_by

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
THREADS = 6
# How often `--long` sends each request again, cut into pieces at random.
TIMES_CUT = 5


def cut_at_random(case: Ambiguous, seed: int) -> Ambiguous:
    """Return the same request in other segments: up to four pieces of each."""
    chance = random.Random(f"{case} {seed}")
    pieces: list[bytes] = []
    for segment in case.segments:
        cuts = sorted(chance.randrange(len(segment) + 1) for _ in range(chance.randrange(4)))
        ends = [0, *cuts, len(segment)]
        pieces += [segment[start:end] for start, end in itertools.pairwise(ends) if start < end]
    return replace(case, name=f"{case.name}, cut {seed}", segments=tuple(pieces))


@contextmanager
def site_behind(
    name: str, folder: Path, protocol: Callable[..., Any] = BoundedProtocol
) -> Iterator[tuple[int, Site]]:
    """Serve a site behind a proxy; gives the proxy's port and the site."""
    site = Site()
    with (
        serving_here(refusals.only_plain(adapter_of(site)), protocol=protocol) as upstream,
        proxies.proxy_before(name, upstream, folder) as port,
    ):
        yield port, site


def harm_done(
    port: int, site: Site, cases: Iterable[Ambiguous], threads: int = THREADS
) -> list[str]:
    """Send these requests from several attackers at once; return what their victims suffered."""

    def attack(some: list[Ambiguous]) -> list[str]:
        with closing(Victim(port)) as victim:
            return [harm for case in some for harm in harm_by(port, site, case, victim, 0.05)]

    every = list(cases)
    with ThreadPoolExecutor(threads) as crew:
        found = list(crew.map(attack, [every[number::threads] for number in range(threads)]))
    return [harm for each in found for harm in each]


@pytest.mark.long_with_option
@pytest.mark.parametrize("name", proxies.NAMES)
def test_behind_a_proxy_no_ambiguous_request_reaches_someone_elses(
    name: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    cases = all_ambiguous()
    if pytestconfig.getoption("--long"):
        cases += [cut_at_random(case, seed) for case in cases for seed in range(TIMES_CUT)]
    with site_behind(name, tmp_path) as (port, site):
        harm = harm_done(port, site, cases)

    assert harm == []
    assert site.upgrades == []
    assert site.paths.count("/victim") == 2 * len(cases)


def test_control_a_server_that_skips_the_body_of_an_upgrade_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (proxies.DEPLOY / "caddy" / "Caddyfile").read_text()
    folder = tmp_path / "caddy"
    folder.mkdir()
    without = text.replace("header_up -Connection\n", "").replace("header_up -Upgrade\n", "")
    (folder / "Caddyfile").write_text(without)
    monkeypatch.setattr(proxies, "DEPLOY", tmp_path)
    cases = [each for each in all_ambiguous() if each.family == upgrades.__name__]

    with site_behind("caddy", tmp_path, HttpToolsProtocol) as (port, site):
        # Of several, another attacker may be the one who gets the poisoned connection.
        harm = harm_done(port, site, cases, threads=1)

    assert any("secret-of-the-victim" in each for each in harm), harm
    assert any("storing" in each for each in harm), harm
