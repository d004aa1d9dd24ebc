"""Types for the tests: each leaves marks in a table, or misbehaves."""

from __future__ import annotations

import os
import signal
import time
from typing import Annotated, Any

from django.db import connection, transaction

from tasks.context import Context
from tasks.registry import MEBIBYTE, task_type
from tasks.retry import Backoff
from tasks.signature import JsonSchema

AT_ONCE = Backoff(base_seconds=0.1, cap_seconds=0.1, jitter_seconds=0.0)


def mark(name: str) -> None:
    """Leave a mark, committed at once."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO task_marks (name) VALUES (%s)", [name])


@task_type(key="test.noop", trusted_short=True)
def noop(context: Context, **payload: Any) -> None:
    """Do nothing."""


@task_type(key="test.mark", backoff=AT_ONCE)
def leave_mark(context: Context, **payload: Any) -> None:
    """Leave a mark."""
    mark(payload["name"])


@task_type(key="test.urgent", urgent=True)
def urgent(context: Context, **payload: Any) -> None:
    """Leave a mark, also while long runs hold the other slots."""
    mark(payload["name"])


@task_type(key="test.slow", backoff=AT_ONCE, grace_seconds=0.5)
def slow(context: Context, **payload: Any) -> None:
    """Mark the start and the end of this many seconds; stop early when cancelled."""
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
def stubborn(context: Context, **payload: Any) -> None:
    """Run this many seconds, whatever anyone says."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    mark(f"{payload['name']}:start")
    end = time.monotonic() + payload["seconds"]
    while time.monotonic() < end:
        time.sleep(0.05)
    mark(f"{payload['name']}:end")


@task_type(key="test.hog", backoff=AT_ONCE, memory_bytes=64 * MEBIBYTE, max_attempts=2)
def hog(context: Context, **payload: Any) -> None:
    """Take far more memory than allowed."""
    taken = bytearray(1024 * MEBIBYTE)
    mark(f"took {len(taken)}")


@task_type(key="test.die", backoff=AT_ONCE, max_attempts=3)
def die(context: Context, **payload: Any) -> None:
    """Die as the out-of-memory killer would have it."""
    os.kill(os.getpid(), signal.SIGKILL)


@task_type(
    key="test.endless", backoff=AT_ONCE, timeout_seconds=1, grace_seconds=0.3, max_attempts=2
)
def endless(context: Context, **payload: Any) -> None:
    """Sleep for a minute, which only an interruption ends."""
    time.sleep(60)


@task_type(key="test.short_slow", backoff=AT_ONCE, trusted_short=True)
def short_slow(context: Context, **payload: Any) -> None:
    """Claim to be short, and take long."""
    time.sleep(payload["seconds"])


@task_type(key="test.secret", backoff=AT_ONCE, max_attempts=1)
def secret(
    context: Context, token: Annotated[str, JsonSchema(secret=True)] = "", count: int = 0
) -> None:
    """Give its secret away wherever it can."""
    context.emit("leak", {"token": token})
    context.progress(1, 1, f"using {token}")
    raise ValueError(f"cannot log in with {token}")


@task_type(key="test.capped", cap=2)
def capped(context: Context, **payload: Any) -> None:
    """At most two at a time."""


@task_type(key="test.one_at_a_time", cap=1)
def one_at_a_time(context: Context, **payload: Any) -> str:
    """Alone in the cluster; says for whom."""
    time.sleep(payload.get("seconds", 0))
    return str(context.owner_id)


@task_type(key="test.rated", rate=(3, 60))
def rated(context: Context, **payload: Any) -> None:
    """At most three a minute."""


@task_type(key="test.sensitive", sensitive=True)
def sensitive(context: Context, **payload: Any) -> None:
    """To be replayed only on purpose."""


@task_type(key="test.versions", version=1)
def old_version(context: Context, **payload: Any) -> str:
    """The old one."""
    return "old"


@task_type(key="test.versions", version=2)
def new_version(context: Context, **payload: Any) -> str:
    """The new one."""
    return "new"


def _hook(name: str) -> Any:
    def call(context: Context, **payload: Any) -> None:
        mark(f"{payload['name']}:{name}")

    return call


@task_type(
    key="test.hooked",
    backoff=AT_ONCE,
    max_attempts=2,
    on_start=_hook("on_start"),
    on_success=_hook("on_success"),
    on_fail=_hook("on_fail"),
    on_end=_hook("on_end"),
)
def hooked(context: Context, **payload: Any) -> None:
    """End as told."""
    if payload.get("then") == "fail":
        raise RuntimeError("told to")
    if payload.get("then") == "die":
        os.kill(os.getpid(), signal.SIGKILL)


@task_type(key="test.environment")
def environment(context: Context, **payload: Any) -> list[str]:
    """The names of the environment's variables."""
    return sorted(os.environ)


@task_type(key="test.left_open")
def left_open(context: Context, **payload: Any) -> None:
    """Write something, and forget to commit."""
    transaction.atomic().__enter__()
    mark("left")


@task_type(key="test.log")
def write_log(context: Context, **payload: Any) -> None:
    """Write to the log."""
    context.logger.info("hello from the handler")


@task_type(key="test.failover", backoff=AT_ONCE, max_attempts=2)
def failover(context: Context, **payload: Any) -> None:
    """Leave a mark; the first time on a connection that only reads, as after a failover."""
    if context.attempt == 1:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    with transaction.atomic():
        mark(payload["name"])


_left: list[bytearray] = []


@task_type(key="test.leak")
def leak(context: Context, **payload: Any) -> None:
    """Leave 300 MiB behind."""
    _left.append(bytearray(300 * MEBIBYTE))
