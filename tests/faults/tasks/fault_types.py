"""Types for the fault tests. Marks control them, so that no test depends on timing."""

from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from tasks.context import Context
from tasks.registry import MEBIBYTE, task_type
from tests.tasks.handlers import AT_ONCE, mark

LONGEST_SECONDS = 60.0


def is_marked(name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM task_marks WHERE name = %s LIMIT 1", [name])
        return cursor.fetchone() is not None


@task_type(key="fault.until", backoff=AT_ONCE, grace_seconds=0.5)
def until(context: Context, **payload: Any) -> None:
    """Run until this attempt is let go; whatever anyone says, if `stubborn`."""
    name = f"{payload['name']}:{context.attempt}"
    if payload.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    mark(f"{name}:pid:{os.getpid()}")
    mark(f"{name}:start")
    end = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < end and not is_marked(f"{name}:go"):
        if context.cancelled and not payload.get("stubborn"):
            mark(f"{name}:stopped")
            return
        time.sleep(0.03)
    mark(f"{name}:end")


@task_type(key="fault.take", backoff=AT_ONCE, memory_bytes=64 * MEBIBYTE, max_attempts=2)
def take(context: Context, **payload: Any) -> int:
    """Take so much memory."""
    return len(bytearray(payload["mebibytes"] * MEBIBYTE))


@task_type(key="fault.short", backoff=AT_ONCE, trusted_short=True, max_attempts=3)
def short(context: Context, **payload: Any) -> None:
    """Do nothing, or die; several of these wait in line at one child."""
    if payload.get("then") == "die":
        os.kill(os.getpid(), signal.SIGKILL)


@task_type(key="fault.clock")
def clock(context: Context, **payload: Any) -> list[float]:
    """Return this process's clocks, in seconds since 1970."""
    return [time.time(), datetime.now(UTC).timestamp()]


def _old(context: Context, **payload: Any) -> str:
    return "old"


def _new(context: Context, **payload: Any) -> str:
    return "new"


def register_old_release() -> None:
    """Register the types of last week's release: version 1 of one type."""
    task_type(key="fault.report", version=1)(_old)


def register_new_release() -> None:
    """Register the types of this week's release: both versions, and a new type."""
    register_old_release()
    task_type(key="fault.report", version=2)(_new)
    task_type(key="fault.addition")(_new)
