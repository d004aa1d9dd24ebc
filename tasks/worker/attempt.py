"""A run: one attempt of a task, as its worker sees it, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tasks import retry
from tasks.child import failure_report
from tasks.json import as_json
from tasks.models.statuses import Status
from tasks.registry import TaskSpec

CANCELLED, TIMED_OUT, LOST, ENDING = "cancelled", "timed out", "lost", "ending"


@dataclass(eq=False)
class Run:
    """A claimed task. Times are of the worker's monotonic clock; `begun` is 0 while it waits."""

    id: str
    attempt: int
    max_attempts: int
    kind: TaskSpec
    payload: str
    request_id: str
    lease_ends: float
    claimed: float
    owner_id: str | None = None
    trace: str = ""
    begun: float = 0.0
    why: str = ""
    """Why it is being ended, if it is: one of the four words above."""
    asked: float = 0.0
    """When the child was asked to end it."""
    interrupted: bool = False
    may_begin: bool = False
    """Whether the database knows that it begins, if it is the last attempt."""
    is_probe: bool = False
    """Whether its success closes the breaker of its type."""

    @property
    def is_last(self) -> bool:
        """Whether no attempt follows: it must not be lost to a worker's death before it begins."""
        return self.attempt >= self.max_attempts

    def message(self) -> bytes:
        """What the child is told; the payload is JSON already."""
        return (
            f'["run","{self.id}",{as_json(self.kind.key)},{self.kind.version},{self.attempt},'
            f"{self.max_attempts},{self.payload},{as_json(self.request_id)},"
            f"{as_json(self.owner_id)},{as_json(self.trace)}]"
        ).encode()

    def hooks_message(self) -> bytes:
        """What a child is told about a task that died without having called its hooks."""
        key = as_json(self.kind.key)
        return (
            f'["hooks","{self.id}",{key},{self.kind.version},{self.attempt},{self.payload},'
            f"{as_json(self.owner_id)}]"
        ).encode()

    def succeeded(self, seconds: float, result: Any, worker: str) -> dict[str, Any]:
        """How it ended, as the acknowledgement takes it."""
        return self._end(worker, Status.SUCCEEDED, seconds=seconds, result=result)

    def cancelled(self, worker: str) -> dict[str, Any]:
        """The same for one that was ended because somebody cancelled it."""
        return self._end(worker, Status.CANCELLED)

    def failed(self, told: dict[str, Any], seconds: float, worker: str) -> dict[str, Any]:
        """The same for a failure as `failures.describe` tells it."""
        decision = retry.after_failure(
            told["how"],
            attempt=self.attempt,
            max_attempts=self.max_attempts,
            backoff=self.kind.backoff,
            asked_seconds=told.get("after_seconds"),
        )
        return self._end(
            worker,
            decision.status,
            delay_seconds=decision.delay_seconds,
            seconds=seconds,
            failed=told["how"] != "discard",
            error=told["error"] | {"worker": worker},
        )

    def fell(self, name: str, message: str, seconds: float, worker: str) -> dict[str, Any]:
        """The same for one whose child could not tell: it died, or had to be killed."""
        error = failure_report.as_entry(name=name, message=message, attempt=self.attempt)
        return self.failed({"how": "error", "error": error}, seconds, worker)

    def _end(self, worker: str, outcome: Status, **more: Any) -> dict[str, Any]:
        base = {"id": self.id, "attempt": self.attempt, "outcome": outcome, "worker": worker}
        return base | {"failed": False} | more
