"""What a handler is given besides its payload: who it is, whether to stop, and ways to tell."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from tasks.json import as_json
from tasks.payloads import LARGEST_BYTES, hide

PROGRESS_SECONDS = 0.5
"""Progress is told at most so often, and when it is complete."""
LONGEST_NOTE, LONGEST_NAME, MOST_EMITTED = 200, 100, 100

Say = Callable[[list[Any]], None]


class Context:
    """The handler's own view of its task. Not for use after the handler has returned.

    `owner_id` is the company for which the task runs, None for work of the product's own.
    """

    def __init__(
        self,
        *,
        task_id: UUID,
        attempt: int,
        say: Say,
        is_cancelled: Callable[[], bool],
        owner_id: UUID | None = None,
        secrets: list[str] | None = None,
    ) -> None:
        self.task_id = task_id
        self.attempt = attempt
        self.owner_id = owner_id
        self.logger = logging.LoggerAdapter(
            logging.getLogger("tasks.handler"), {"task_id": str(task_id), "attempt": attempt}
        )
        self._say = say
        self._is_cancelled = is_cancelled
        self._secrets = secrets or []
        self._next_progress = 0.0
        self._emitted = 0

    @property
    def cancelled(self) -> bool:
        """Whether to stop: somebody cancelled the task, its time is over, or the worker lost it."""
        return self._is_cancelled()

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Tell how far it is; too many calls are dropped, except the last one."""
        now = time.monotonic()
        if now >= self._next_progress or done >= total:
            self._next_progress = now + PROGRESS_SECONDS
            said = {"done": done, "total": total, "note": self._clean(note)[:LONGEST_NOTE]}
            self._say(["progress", str(self.task_id), said])

    def emit(self, name: str, data: Any = None) -> None:
        """Add an event of its own to the task's history; at most a hundred in an attempt.

        Raises ValueError when the data is no JSON, over 64 KB, or there were too many.
        """
        text = self._clean(as_json(data))
        if len(text.encode()) > LARGEST_BYTES or self._emitted >= MOST_EMITTED:
            raise ValueError("an attempt emits at most 100 events, of at most 64 KB each")
        self._emitted += 1
        self._say(["emit", str(self.task_id), {"name": name[:LONGEST_NAME], "data": text}])

    def _clean(self, text: str) -> str:
        return hide(text, self._secrets)
