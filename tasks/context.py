"""Context of a handler: its task, the cancelled flag, progress and events."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any
from uuid import UUID

from tasks.json import as_json
from tasks.payloads import LARGEST_BYTES, hide_secrets

# Progress is reported at most this often, and on completion.
PROGRESS_SECONDS = 0.5
LONGEST_NOTE, LONGEST_NAME, MOST_EMITTED = 200, 100, 100

Report = Callable[[list[Any]], None]


class Context:
    """Task as its handler sees it. Do not use it after the handler has returned.

    `owner_id` is the company the task runs for, or None for the product's own work.
    """

    def __init__(
        self,
        *,
        task_id: UUID,
        attempt: int,
        report: Report,
        is_cancelled: Callable[[], bool],
        owner_id: UUID | None = None,
        secrets: list[str] | None = None,
    ) -> None:
        self.task_id = task_id
        self.attempt = attempt
        self.owner_id = owner_id
        self._report = report
        self._is_cancelled = is_cancelled
        self._secrets = secrets or []
        self._next_progress = 0.0
        self._emitted = 0

    @cached_property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """Logger whose lines name the task and the attempt."""
        about = {"task_id": str(self.task_id), "attempt": self.attempt}
        return logging.LoggerAdapter(logging.getLogger("tasks.handler"), about)

    @property
    def cancelled(self) -> bool:
        """Tell whether to stop: the task was cancelled or lost, or has timed out."""
        return self._is_cancelled()

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Report progress; calls in quick succession are dropped, except the last."""
        now = time.monotonic()
        if now >= self._next_progress or done >= total:
            self._next_progress = now + PROGRESS_SECONDS
            message = {"done": done, "total": total, "note": self._clean(note)[:LONGEST_NOTE]}
            self._report(["progress", str(self.task_id), message])

    def emit(self, name: str, data: Any = None) -> None:
        """Add an event to the task's history, at most 100 per attempt.

        Raises ValueError if the data is not JSON or exceeds 64 KB, or after too many events.
        """
        text = self._clean(as_json(data))
        if len(text.encode()) > LARGEST_BYTES or self._emitted >= MOST_EMITTED:
            raise ValueError("an attempt emits at most 100 events, of at most 64 KB each")
        self._emitted += 1
        self._report(["emit", str(self.task_id), {"name": name[:LONGEST_NAME], "data": text}])

    def _clean(self, text: str) -> str:
        return hide_secrets(text, self._secrets)
