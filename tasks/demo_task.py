"""Task type for trying the engine out."""

from __future__ import annotations

import os
import signal
import time
from typing import Annotated, Any, Literal

from tasks.context import Context
from tasks.errors import Discard, Expected, Fatal, Retry
from tasks.registry import MEBIBYTE, task_type
from tasks.retry import Backoff
from tasks.signature import JsonSchema

STEP_SECONDS = 0.05
MOST_BLOCKS = 256  # of 16 MiB: the machine survives even where no memory limit works
Behaviour = Literal["fail", "fatal", "retry", "discard", "hog", "ignore_cancel", "die"]


@task_type(
    key="demo.sleep",
    queue="demo",
    cap=2,  # trying it out must not take every slot
    timeout_seconds=600,
    grace_seconds=1,
    memory_bytes=256 * MEBIBYTE,
    max_attempts=3,
    backoff=Backoff(base_seconds=1, cap_seconds=10, jitter_seconds=0.5),
)
def demo_sleep(
    context: Context,
    seconds: Annotated[float, JsonSchema(minimum=0, maximum=300)] = 0,
    then: Behaviour | None = None,
    label: Annotated[str, JsonSchema(maxLength=200)] = "",
) -> dict[str, Any]:
    """Sleep and report progress; then, on request, fail, use up the memory or die."""
    if then == "ignore_cancel":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    start = time.monotonic()
    while (slept := time.monotonic() - start) < seconds:
        if context.cancelled and then != "ignore_cancel":
            break
        context.progress(int(slept * 1000), int(seconds * 1000), "asleep")
        time.sleep(min(STEP_SECONDS, seconds - slept))
    if not context.cancelled:
        _misbehave(then)
    return {"slept_seconds": round(min(slept, seconds), 3)}


def _misbehave(how: str | None) -> None:
    if how == "fail":
        raise Expected("this task was told to fail")
    if how == "fatal":
        raise Fatal("this task was told to fail without a retry")
    if how == "retry":
        raise Retry("told to try again", after_seconds=1)
    if how == "discard":
        raise Discard("told to discard the task")
    if how == "hog":
        taken: list[bytearray] = []
        while len(taken) < MOST_BLOCKS:
            taken.append(bytearray(16 * MEBIBYTE))
    if how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
