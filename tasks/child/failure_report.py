"""How a failed attempt is told: which kind of failure, and an error that can be kept and shown."""

from __future__ import annotations

import traceback
from typing import Any

from tasks.errors import Cancelled, Discard, Fatal, Retry
from tasks.payloads import hide

LONGEST_MESSAGE, LONGEST_TRACEBACK = 500, 6_000  # characters


def describe(error: BaseException, *, attempt: int, secrets: list[str]) -> dict[str, Any]:
    """What a handler's exception means: how (error, retry, fatal, discard), and the error."""
    how = "error"
    if isinstance(error, Discard):
        how = "discard"
    elif isinstance(error, Fatal):
        how = "fatal"
    elif isinstance(error, Retry):
        how = "retry"
    return {
        "how": how,
        "after_seconds": getattr(error, "after_seconds", None) if how == "retry" else None,
        "error": as_entry(
            name=_name_of(error),
            message=hide(_message_of(error), secrets),
            attempt=attempt,
            trace=hide("".join(traceback.format_exception(error)), secrets),
        ),
    }


def as_entry(*, name: str, message: str, attempt: int, trace: str = "") -> dict[str, Any]:
    """An entry of a task's `errors`, within bounds; a long traceback keeps its end."""
    return {
        "class": name,
        "message": _clean(message)[:LONGEST_MESSAGE],
        "attempt": attempt,
        "traceback": _clean(trace)[-LONGEST_TRACEBACK:],
    }


def _name_of(error: BaseException) -> str:
    kind = type(error)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def _message_of(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return str(error) or "the run took more memory than its type may have"
    if isinstance(error, Cancelled):
        return "the run was interrupted"
    try:
        return str(error)
    except Exception:
        return "an error that cannot be shown"


def _clean(text: str) -> str:
    """Without what PostgreSQL's jsonb refuses: NUL and lone surrogates."""
    return text.replace("\0", "").encode(errors="replace").decode()
