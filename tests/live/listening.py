"""Listening on the channel, and following a stream, as a browser does."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg

from pipeline.live.channel import CHANNEL, connection_parameters, parse_payload
from tests.support.waiting import PATIENCE_SECONDS


@contextmanager
def ear() -> Iterator[psycopg.Connection[Any]]:
    """A connection that hears what is announced from now on."""
    with psycopg.connect(**connection_parameters()) as session:
        session.execute(f"LISTEN {CHANNEL}")
        yield session


def heard(
    session: psycopg.Connection[Any], *, until: dict[UUID, int] | None = None
) -> list[dict[UUID, int]]:
    """The announcements that arrive: the next one, or all until the jobs are at these changes."""
    told: list[dict[UUID, int]] = []
    for notification in session.notifies(timeout=PATIENCE_SECONDS):
        told.append(parse_payload(notification.payload))
        latest = {job: seq for each in told for job, seq in each.items()}
        if until is None or latest == until:
            break
    return told


class Stream:
    """One open stream of events."""

    def __init__(self, url: str, token: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._client = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_SECONDS)
        self._client.request("GET", f"/live/{token}")
        self.answer = self._client.getresponse()

    def next_event(self) -> tuple[str, Any]:
        """The next event, its name and its data. Raises EOFError when the stream has ended."""
        name = ""
        while line := self.answer.readline().decode():
            if line.startswith("event: "):
                name = line.removeprefix("event: ").strip()
            elif line.startswith("data: "):
                return name, json.loads(line.removeprefix("data: "))
        raise EOFError

    def skip_checks(self) -> tuple[str, Any]:
        """The next event that is not the advice to look."""
        while (event := self.next_event())[0] == "check":
            pass
        return event

    def is_at_its_end(self) -> bool:
        """Tell whether the server has ended the stream, whatever it sent before."""
        try:
            while self.next_event():
                pass
        except (EOFError, OSError, http.client.HTTPException):
            return True
        return False

    def close(self) -> None:
        """Go away."""
        self.answer.close()
        self._client.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
