"""What can be refused when a company starts background work, beyond what the engine refuses."""

from __future__ import annotations

from tasks.errors import OutOfRange


class WorkError(Exception):
    """The root of what this package refuses. The text is for people."""


class TypeNotAllowed(WorkError):
    """The key's owner has not allowed it to start work of this type."""

    def __init__(self, key: str) -> None:
        super().__init__(f"This key may not start {key}. An owner can change what it may start.")
        self.key = key


class Backlogged(WorkError):
    """Too much waits already: of this company, or of all together. `wait` is in seconds."""

    def __init__(self, *, own: bool, limit: int, wait: int) -> None:
        whose = "of your tasks wait" if own else "tasks wait"
        super().__init__(f"Too many {whose} already (the limit is {limit}). Try again later.")
        self.own = own
        self.limit = limit
        self.wait = wait


class RateExceeded(WorkError):
    """Whoever asks has started too much in too short a time. `wait` is in seconds."""

    def __init__(self, *, limit: int, seconds: int, wait: int) -> None:
        super().__init__(f"You may start {limit} tasks in {seconds} seconds, and no more at once.")
        self.limit = limit
        self.seconds = seconds
        self.wait = wait


class TooManyAtOnce(WorkError, OutOfRange):
    """More at once than the rate of whoever asks ever lets through: waiting is of no use."""

    def __init__(self, *, count: int, limit: int, seconds: int) -> None:
        OutOfRange.__init__(self, "tasks", count, 1, limit)
        self.args = (f"You may start {limit} tasks in {seconds} seconds, and no more at once.",)


class TaskRequestRefused(WorkError):
    """One of several requested tasks is refused, so none is enqueued."""

    def __init__(self, number: int, reason: Exception) -> None:
        super().__init__(str(reason))
        self.number = number  # from 0
        self.reason = reason


class TooManySchedules(WorkError):
    """The company has as many schedules as it may have."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"A company can have {limit} schedules. Delete one that is not needed.")
        self.limit = limit
