"""Tasks for the whole site: one at a time, with an empty payload, never for a company."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tasks.context import Context
from tasks.errors import Fatal
from tasks.registry import task_type

Handler = Callable[[Context], dict[str, int]]


def site_task(*, key: str, timeout_seconds: int) -> Callable[[Handler], Any]:
    """Register a handler of a task for the site. The type's key is unique."""

    def register_site_task(handler: Handler) -> Any:
        @task_type(
            key=key,
            queue="upkeep",
            timeout_seconds=timeout_seconds,
            max_attempts=3,
            cap=1,
            schema={"type": "object", "properties": {}, "additionalProperties": False},
        )
        @wraps(handler)
        def run_site_task(payload: dict[str, Any], context: Context) -> dict[str, int]:
            refuse_task_of_company(context)
            return handler(context)

        return run_site_task

    return register_site_task


def refuse_task_of_company(context: Context) -> None:
    """Refuse a task of a company. Raises Fatal."""
    if context.owner_id is not None:
        raise Fatal("this task runs for the site, not for a company")
