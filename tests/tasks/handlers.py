"""Types for the tests: each leaves marks in a table, or misbehaves."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from django.db import connection

from tasks.context import Context
from tasks.retry import Backoff
from tasks.types import MEBIBYTE, task_type

AT_ONCE = Backoff(base_seconds=0.1, cap_seconds=0.1, jitter_seconds=0.0)
MARKS = (
    "CREATE TABLE IF NOT EXISTS task_marks (name text, at timestamptz DEFAULT clock_timestamp())"
)


def mark(name: str) -> None:
    """Leave a mark, committed at once."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO task_marks (name) VALUES (%s)", [name])


@task_type(key="test.noop", trusted_short=True)
def noop(payload: dict[str, Any], context: Context) -> None:
    """Do nothing."""


@task_type(key="test.mark", backoff=AT_ONCE)
def leave_mark(payload: dict[str, Any], context: Context) -> None:
    """Leave a mark."""
    mark(payload["name"])


@task_type(key="test.slow", backoff=AT_ONCE, grace_seconds=0.5)
def slow(payload: dict[str, Any], context: Context) -> None:
    """Mark the start and the end of so many seconds; stop early when cancelled."""
    name = payload["name"]
    mark(f"{name}:start")
    end = time.monotonic() + payload["seconds"]
    while time.monotonic() < end:
        if context.cancelled:
            mark(f"{name}:stopped")
            return
        time.sleep(0.05)
    mark(f"{name}:end")


@task_type(key="test.stubborn", backoff=AT_ONCE, grace_seconds=0.5, max_attempts=2)
def stubborn(payload: dict[str, Any], context: Context) -> None:
    """Run so many seconds, whatever anybody says."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    mark(f"{payload['name']}:start")
    end = time.monotonic() + payload["seconds"]
    while time.monotonic() < end:
        time.sleep(0.05)
    mark(f"{payload['name']}:end")


@task_type(key="test.hog", backoff=AT_ONCE, memory_bytes=64 * MEBIBYTE, max_attempts=2)
def hog(payload: dict[str, Any], context: Context) -> None:
    """Take far more memory than allowed."""
    taken = bytearray(1024 * MEBIBYTE)
    mark(f"took {len(taken)}")


@task_type(key="test.die", backoff=AT_ONCE, max_attempts=3)
def die(payload: dict[str, Any], context: Context) -> None:
    """Die as the out-of-memory killer would have it."""
    os.kill(os.getpid(), signal.SIGKILL)


@task_type(
    key="test.endless", backoff=AT_ONCE, timeout_seconds=1, grace_seconds=0.3, max_attempts=2
)
def endless(payload: dict[str, Any], context: Context) -> None:
    """Sleep for a minute, which only an interruption ends."""
    time.sleep(60)


@task_type(key="test.short_slow", backoff=AT_ONCE, trusted_short=True)
def short_slow(payload: dict[str, Any], context: Context) -> None:
    """Claim to be short, and take long."""
    time.sleep(payload["seconds"])
