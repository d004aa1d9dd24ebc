"""The list of web servers, from which `doctor` knows one that has fallen silent."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from pipeline.models import WebServer
from pipeline.server.heartbeats import _record, _remove
from tests.support.server import serving
from tests.support.waiting import eventually


def names() -> set[str]:
    return set(WebServer.objects.values_list("name", flat=True))


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_two_web_servers_of_one_machine_are_two(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with serving(environment, tmp_path / "first.log", workers=2) as first:
        with serving(environment, tmp_path / "second.log", workers=1) as second:
            both = {f"{socket.gethostname()}:{url.rpartition(':')[2]}" for url in (first, second)}
            eventually(lambda: names() == both)
        eventually(lambda: names() == {next(name for name in both if name[-5:] in first)})
    eventually(lambda: names() == set())


@pytest.mark.django_db(transaction=True)
def test_a_process_that_ends_after_a_reload_leaves_its_successor_in_the_list() -> None:
    former = _record("web:8000")
    successor = _record("web:8000")

    _remove("web:8000", former)
    assert names() == {"web:8000"}

    _remove("web:8000", successor)
    assert names() == set()
