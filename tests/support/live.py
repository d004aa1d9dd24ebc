"""Shared parts of the tests of live pages: hubs and announcers that end with their test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.live.announcer import Announcer, start_announcing, stop_announcing


@pytest.fixture
def announcer(transactional_db: None) -> Iterator[Announcer]:
    """Return an announcer that only the test feeds."""
    mine = Announcer(idle_seconds=0.5)
    yield mine
    mine.flush(2)
    mine.close()


@pytest.fixture
def announcing(transactional_db: None) -> Iterator[None]:
    """Changes that the test's own process makes are announced, as in production."""
    start_announcing()
    yield
    stop_announcing()
