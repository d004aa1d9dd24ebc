"""Fields that every log line of a request or run carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_fields: ContextVar[Mapping[str, object]] = ContextVar("log_fields", default={})  # noqa: B039  never changed


def current_fields() -> Mapping[str, object]:
    """Return the current fields of this thread's log lines."""
    return _fields.get()


def add_fields(**fields: object) -> None:
    """Add fields to the log lines until the surrounding `bound_fields` ends."""
    _fields.set({**_fields.get(), **fields})


@contextmanager
def bound_fields(**fields: object) -> Iterator[None]:
    """Add fields to the log lines written inside this context."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)
