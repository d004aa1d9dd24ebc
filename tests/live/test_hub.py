"""A process's share of the live pages, whatever happens to its one connection."""

from __future__ import annotations

import asyncio
import threading
from typing import Any
from uuid import uuid4

import pytest

from pipeline.live import hub as room
from pipeline.live import stream_tokens
from pipeline.live.announcer import Announcer
from pipeline.live.hub import Hub, HubFull
from tests.live.listening import ear, heard
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


def token() -> stream_tokens.StreamToken:
    """A token for some job."""
    found = stream_tokens.read(stream_tokens.issue([uuid4()]))
    assert found is not None
    return found


def test_listening_is_tried_again_whatever_it_failed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    connect = room._connect

    async def fail_at_first() -> Any:
        tried.append(1)
        if len(tried) == 1:
            raise RuntimeError("nobody thought of this")
        return await connect()

    async def look() -> bool:
        hub = Hub()
        with hub.watching(token()) as watcher:
            await watcher.wait(PATIENCE_SECONDS)
            missed = watcher.take_changes()[1]
        hub.close()
        return missed

    monkeypatch.setattr(room, "_connect", fail_at_first)

    assert asyncio.run(look())
    assert len(tried) == 2


def test_nobody_is_remembered_who_has_left() -> None:
    async def look() -> Hub:
        hub = Hub(most_watchers=2)
        with hub.watching(token()), hub.watching(token()):
            with pytest.raises(HubFull), hub.watching(token()):
                pass
            assert len(hub) == 2
        hub.close()
        return hub

    hub = asyncio.run(look())

    assert len(hub) == 0
    assert hub._of_job == {}


def test_an_announcer_whose_thread_did_not_start_tries_again(
    announcer: Announcer, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = uuid4()

    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as broken:
        broken.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError):
            announcer.note_change(job_id=job, seq=1)

    with ear() as session:
        announcer.note_change(job_id=job, seq=2)
        assert heard(session) == [{job: 2}]
