"""Fixtures for the tests of the server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.line.handover import Handover
from tests.server.full_site import alone_in_handover


@pytest.fixture
def handover() -> Iterator[Handover]:
    """Return this process's part in the hand-over."""
    with alone_in_handover() as part:
        yield part
