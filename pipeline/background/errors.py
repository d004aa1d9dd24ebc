"""Refusals when a company starts background work, beyond those of the engine."""

from __future__ import annotations

from tasks.errors import OutOfRange, UnknownType


class WorkError(Exception):
    """Base class of these refusals. The text is for people."""


class TypeNotAllowed(WorkError):
    """The API key may not start work of this type."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"This key may not start {key}. An owner can change the limits of the key."
        )
        self.key = key


class DemoSwitchedOff(WorkError, UnknownType):
    """The type is a demo type, and this site has switched those off."""

    def __init__(self, key: str) -> None:
        UnknownType.__init__(self, key)
        self.args = (
            f"{key} is a demo type, and those are switched off on this site (DEMO_TASKS=off).",
        )


class Backlogged(WorkError):
    """Too many tasks are waiting, for this company or in total. `wait` is in seconds."""

    def __init__(self, *, own: bool, limit: int, wait: int) -> None:
        whose = "of your tasks" if own else "tasks"
        super().__init__(f"Too many {whose} are waiting (the limit is {limit}). Try again later.")
        self.own = own
        self.limit = limit
        self.wait = wait


class RateExceeded(WorkError):
    """The caller has started too many tasks recently. `wait` is in seconds."""

    def __init__(self, *, limit: int, seconds: int, wait: int) -> None:
        super().__init__(f"You can start at most {limit} tasks in {seconds} seconds.")
        self.limit = limit
        self.seconds = seconds
        self.wait = wait


class TooManyAtOnce(WorkError, OutOfRange):
    """The caller requests more tasks at once than its rate limit ever allows.

    Waiting does not help.
    """

    def __init__(self, *, count: int, limit: int, seconds: int) -> None:
        OutOfRange.__init__(self, "tasks", count, 1, limit)
        self.args = (f"You can start at most {limit} tasks in {seconds} seconds.",)


class TaskRequestRefused(WorkError):
    """One of several requested tasks is refused, so none is enqueued."""

    def __init__(self, number: int, reason: Exception) -> None:
        super().__init__(str(reason))
        self.number = number  # from 0
        self.reason = reason


class TooManySchedules(WorkError):
    """The company has reached its limit of schedules."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"A company can have {limit} schedules. Delete one that is not needed.")
        self.limit = limit
