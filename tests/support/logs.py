"""Log lines as the product writes them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.config.logging import JSONFormatter


class Log:
    """Everything logged since the test began, rendered as JSON lines."""

    def __init__(self) -> None:
        self._text = io.StringIO()
        self.handler = logging.StreamHandler(self._text)
        self.handler.setFormatter(JSONFormatter())

    @property
    def text(self) -> str:
        return self._text.getvalue()

    def lines(self, logger: str = "") -> list[dict[str, Any]]:
        """Return the lines of a logger and of those below it; of all, without a name."""
        rows = [json.loads(row) for row in self.text.splitlines()]
        return [row for row in rows if not logger or f"{row['logger']}.".startswith(f"{logger}.")]

    def security(self) -> list[dict[str, Any]]:
        """Return the lines of the security log without what every line has."""
        every = ("logger", "level", "timestamp", "request_id", "address", "message")
        rows = self.lines("security")
        return [{name: row[name] for name in row if name not in every} for row in rows]


@pytest.fixture
def log() -> Iterator[Log]:
    """Return the log of the test."""
    found, root = Log(), logging.getLogger()
    before = root.level
    root.addHandler(found.handler)
    root.setLevel(logging.INFO)
    yield found
    root.removeHandler(found.handler)
    root.setLevel(before)
