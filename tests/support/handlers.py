"""Calling a handler the way a worker's child does, in this process."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from tasks import registry
from tasks.context import Context


class Run:
    """One attempt at a task: its handler's result, and the progress that it reported."""

    def __init__(
        self,
        key: str,
        payload: dict[str, Any],
        owner_id: UUID | None,
        *,
        task_id: UUID | None = None,
        cancelled_after: int | None = None,
    ) -> None:
        self.task_id = task_id or uuid7()
        self.said: list[dict[str, Any]] = []
        self._looks = 0
        self._cancelled_after = cancelled_after
        context = Context(
            task_id=self.task_id,
            attempt=1,
            owner_id=owner_id,
            report=lambda told: self.said.append(told[2]),
            is_cancelled=self._is_cancelled,
        )
        self.result = registry.find_registered_type(key).run(payload, context)

    def _is_cancelled(self) -> bool:
        self._looks += 1
        return self._cancelled_after is not None and self._looks > self._cancelled_after
