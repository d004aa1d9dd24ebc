"""Fields that every log line of a request or run carries."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar

_fields: ContextVar[Mapping[str, object]] = ContextVar("log_fields", default={})  # noqa: B039  never changed


def current_fields() -> Mapping[str, object]:
    """Return the current fields of this thread's log lines."""
    return _fields.get()


def add_fields(**fields: object) -> None:
    """Add fields to the log lines until the surrounding `bound_fields` ends."""
    _fields.set({**_fields.get(), **fields})


class bound_fields:
    """Add fields to the log lines written inside this context."""

    def __init__(self, **fields: object) -> None:
        self._added = fields

    def __enter__(self) -> None:
        self._token = _fields.set({**_fields.get(), **self._added})

    def __exit__(self, *_: object) -> None:
        _fields.reset(self._token)
