"""Follow a feed, with a file that remembers how far."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from nextinline.commands.connection import Unusable
from nextinline.commands.output import tell
from nextinline.errors import ApiError, ConnectionFailed
from nextinline.synchronous.client import Client

LONGEST_PAUSE_SECONDS = 60.0
T = TypeVar("T")


class CursorFile:
    """File with the cursor of one feed of one site.

    Written as a whole or not at all, so a crash leaves the former cursor. While it is used, another
    process that wants it is refused.
    """

    def __init__(self, path: Path, *, address: str, feed: str) -> None:
        self.path = path
        self._of = {"site": address.rstrip("/").removesuffix("/api/v1"), "feed": feed}
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = self.path.with_name(f"{self.path.name}.lock").open("a")
        if not _locked(self._lock):
            self._lock.close()
            raise Unusable(f"Another process follows the feed with {self.path}.")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._lock is not None:
            self._lock.close()

    def read(self) -> str | None:
        """Return the cursor, or None if there is none yet. Raises Unusable."""
        try:
            kept = json.loads(self.path.read_text())
        except FileNotFoundError:
            return None
        except ValueError:
            kept = None
        if not isinstance(kept, dict) or not isinstance(kept.get("cursor"), str):
            raise Unusable(f"{self.path} is not a cursor file. Name another one, or remove it.")
        if {name: kept.get(name) for name in self._of} != self._of:
            raise Unusable(
                f"{self.path} is of {kept.get('feed')} at {kept.get('site')}. Name another file."
            )
        return str(kept["cursor"])

    def write(self, cursor: str) -> None:
        """Keep a cursor, so that it survives a crash of this machine too."""
        making = self.path.with_name(f"{self.path.name}.new")
        with making.open("w") as file:
            file.write(json.dumps(self._of | {"cursor": cursor}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        making.replace(self.path)


def _locked(file: IO[str]) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows, where nothing stops a second process
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def followed_pages(
    client: Client,
    path: str,
    *,
    cursor: str | None,
    start: str | None = None,
    expand: str | None = None,
    wait_seconds: float | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield pages of a feed, also empty ones whose cursor is new.

    Ends where the feed ends. With `wait_seconds`, asks again after that time, for ever, and sits
    out every outage; an answer that would stay the same is raised as ApiError.
    """
    patient = wait_seconds is not None
    while True:
        query = {"cursor": cursor, "start": None if cursor else start, "expand": expand}
        asked = partial(client.call, "GET", path, query=query | {"limit": 200})
        page = sit_out(asked) if patient else asked()
        if page["data"] or page["next_cursor"] != cursor:
            yield page
        cursor = page["next_cursor"]
        if not page["data"]:
            if wait_seconds is None:
                return
            time.sleep(wait_seconds)


def sit_out(ask: Callable[[], T]) -> T:
    """Return the answer to a question, however long the site does not answer.

    Raises ApiError for an answer that would stay the same.
    """
    failures = 0
    while True:
        try:
            return ask()
        except (ApiError, ConnectionFailed) as error:
            if not _passes(error):
                raise
            failures += 1
            pause = _pause(failures)
            tell(f"{error}. Trying again in {pause:.0f} s.")
            time.sleep(pause)


def _passes(error: ApiError | ConnectionFailed) -> bool:
    if isinstance(error, ConnectionFailed):
        return True
    return error.status == 429 or error.status >= 500 or error.code == "CLOCK_MOVING"


def _pause(failures: int) -> float:
    return min(LONGEST_PAUSE_SECONDS, 2.0**failures) * random.uniform(0.5, 1.0)
