"""Task types of the benchmarks."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig


class Bench(AppConfig):
    name = "tasks_app"
    label = "bench"

    def ready(self) -> None:
        from tasks.types import task_type

        task_type(key="bench.noop", trusted_short=True)(noop)


def noop(payload: dict[str, Any], context: Any) -> None:
    """Do nothing."""
