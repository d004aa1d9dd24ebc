"""Fields that stand on every log line of a request or of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_fields: ContextVar[Mapping[str, object]] = ContextVar("log_fields", default={})  # noqa: B039  never changed


def log_fields() -> Mapping[str, object]:
    """Return the fields of this thread's log lines now."""
    return _fields.get()


@contextmanager
def bound_log_fields(**fields: object) -> Iterator[None]:
    """Put fields on the log lines of what runs inside."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)
