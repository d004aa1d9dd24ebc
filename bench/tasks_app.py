"""Task types of the benchmarks."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from django.apps import AppConfig
from django.db import connection

CAP = 2


class Bench(AppConfig):
    name = "tasks_app"
    label = "bench"

    def ready(self) -> None:
        from tasks.registry import MEBIBYTE, task_type
        from tasks.retry import Backoff

        soon = Backoff(base_seconds=0.5, cap_seconds=2, jitter_seconds=0.5)
        usual = {"max_attempts": 3, "backoff": soon, "memory_bytes": 32 * MEBIBYTE}
        task_type(key="bench.noop")(noop)  # like all types of the product
        task_type(key="bench.trusted", trusted_short=True)(noop)
        task_type(key="bench.mixed", trusted_short=True, **usual)(mixed)
        task_type(key="bench.paused", trusted_short=True, **usual)(mixed)
        task_type(key="bench.tick", trusted_short=True, **usual)(mixed)
        task_type(key="bench.capped", cap=CAP, **usual)(mixed)
        task_type(key="bench.slow", grace_seconds=0.5, **usual)(mixed)


def noop(context: Any, **payload: Any) -> None:
    """Do nothing."""


def mixed(context: Any, **payload: Any) -> None:
    """Behave as the payload says; write a mark on success."""
    then = payload["then"]
    if then == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    if then == "hog":
        bytearray(512 * 2**20)
    if then == "fail" and context.attempt == 1:
        raise RuntimeError("the first attempt fails")
    if then == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(payload.get("seconds", 0))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO bench_marks (task, attempt) VALUES (%s, %s)",
            [context.task_id, context.attempt],
        )
