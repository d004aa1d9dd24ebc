"""Reports of failed attempts: the kind of failure, and the error in a form to store and show."""

from __future__ import annotations

import traceback
from typing import Any

from django.utils.translation import gettext_noop

from tasks.errors import Cancelled, Discard, Fatal, Retry
from tasks.payloads import hide_secrets

LONGEST_MESSAGE, LONGEST_TRACEBACK = 500, 6_000  # characters


def describe(error: BaseException, *, attempt: int, secrets: list[str]) -> dict[str, Any]:
    """Describe a handler's exception: the kind of failure (`how`) and the error.

    `how` is error, retry, fatal or discard.
    """
    verdicts = ((Discard, "discard"), (Fatal, "fatal"), (Retry, "retry"))
    how = next((name for kind, name in verdicts if isinstance(error, kind)), "error")
    kind = type(error)
    try:
        message = str(error)
    except Exception:
        message = gettext_noop("an error that cannot be shown")
    if isinstance(error, MemoryError):
        message = message or gettext_noop("the run exceeded the memory limit of its type")
    elif isinstance(error, Cancelled):
        message = gettext_noop("the run was interrupted")
    is_builtin = kind.__module__ == "builtins"
    return {
        "how": how,
        "after_seconds": getattr(error, "after_seconds", None) if how == "retry" else None,
        "error": build_entry(
            name=kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}",
            message=hide_secrets(message, secrets),
            attempt=attempt,
            trace=hide_secrets("".join(traceback.format_exception(error)), secrets),
        ),
    }


def build_entry(*, name: str, message: str, attempt: int, trace: str = "") -> dict[str, Any]:
    """Return an entry for a task's `errors`. Long texts are cut; a traceback keeps its end."""
    return {
        "class": name,
        "message": _clean_text(message)[:LONGEST_MESSAGE],
        "attempt": attempt,
        "traceback": _clean_text(trace)[-LONGEST_TRACEBACK:],
    }


def _clean_text(text: str) -> str:
    """Remove what PostgreSQL's jsonb refuses: NUL and lone surrogates."""
    return text.replace("\0", "").encode(errors="replace").decode()
