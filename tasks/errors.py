"""Errors of background work, each with its data."""

from __future__ import annotations

from typing import Any
from uuid import UUID


class TaskError(Exception):
    """Base class of this package's errors."""


class DatabaseAway(Exception):
    """Base class of errors which mean that the database cannot be used now."""


class UnknownType(TaskError, LookupError):
    """No type with this key (and version) is registered."""

    def __init__(self, key: str, version: int | None = None) -> None:
        super().__init__(f"no task type {key}" + (f"@{version}" if version else ""))
        self.key = key
        self.version = version


class InvalidPayload(TaskError):
    """The payload does not fit the type's schema, or PostgreSQL cannot store it."""

    def __init__(self, key: str, problems: list[tuple[str, str]]) -> None:
        listed = "; ".join(f"{path or 'payload'}: {problem}" for path, problem in problems)
        super().__init__(f"{key} does not take this payload: {listed}")
        self.key = key
        self.problems = problems


class PayloadTooLarge(TaskError):
    """The payload exceeds the limit. Both sizes are in bytes of JSON."""

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"the payload has {size_bytes} bytes, the limit is {limit_bytes}")
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class OutOfRange(TaskError):
    """One of the task's numbers is out of range."""

    def __init__(self, name: str, value: Any, lowest: float | str, highest: float | str) -> None:
        super().__init__(f"{name} is {value}; it must be {lowest} to {highest}")
        self.name = name
        self.value = value
        self.lowest = lowest
        self.highest = highest


class TaskNotFound(TaskError):
    """There is no such task, or it belongs to another owner."""

    def __init__(self, task_id: UUID | str) -> None:
        super().__init__(f"no task {task_id}")
        self.task_id = task_id


class WrongStatus(TaskError):
    """The task's status does not allow the action."""

    def __init__(self, task_id: UUID | str, status: str, wanted: str) -> None:
        super().__init__(f"task {task_id} is {status}, not {wanted}")
        self.task_id = task_id
        self.status = status
        self.wanted = wanted


class ConfirmationNeeded(TaskError):
    """The type is sensitive: its replay must be confirmed."""

    def __init__(self, key: str) -> None:
        super().__init__(f"replaying {key} needs a confirmation: the type is sensitive")
        self.key = key


class BadSchedule(TaskError):
    """The cron expression or the time zone of a schedule cannot be read."""


class Retry(Exception):
    """Raised by a handler to try again after `after_seconds`, or after the usual back-off."""

    def __init__(self, message: str = "", *, after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.after_seconds = after_seconds


class Discard(Exception):
    """Raised by a handler whose work is no longer needed: no retry, no dead letter."""


class Expected(Exception):
    """Raised by a handler that fails as it should: like any other error, but without a warning."""


class Fatal(Exception):
    """Raised by a handler when no retry can succeed: the task becomes a dead letter at once."""


class Cancelled(BaseException):
    """Raised inside a handler that has not ended after being asked to."""
