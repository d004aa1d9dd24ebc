"""The list of web servers, from which `doctor` knows one that has fallen silent."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.models import WebServer
from pipeline.server.process import Heart, record_heartbeats
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
    former, successor = Heart("web:8000"), Heart("web:8000")
    former.beat()
    successor.beat()

    former.stop()
    assert names() == {"web:8000"}

    successor.stop()
    assert names() == set()


@pytest.mark.django_db(transaction=True)
def test_a_process_that_is_stopped_during_a_heartbeat_leaves_the_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    beats, released = threading.Event(), threading.Event()

    def slow_beat(self: Heart, beat: Callable[[Heart], None] = Heart.beat) -> None:
        beat(self)
        beats.set()
        released.wait(5)
        beat(self)

    monkeypatch.setattr(Heart, "beat", slow_beat)

    async def stop_during_a_beat() -> None:
        recording = asyncio.create_task(record_heartbeats("web:8000"))
        await asyncio.to_thread(beats.wait, 5)
        recording.cancel()
        released.set()
        await asyncio.gather(recording, return_exceptions=True)

    asyncio.run(stop_during_a_beat())

    assert names() == set()
