"""Attempts: claimed tasks as the worker sees them, and the results that it writes."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tasks import retry
from tasks.child import failure_report
from tasks.json import as_json
from tasks.models import Status
from tasks.registry import TaskSpec


class EndReason(StrEnum):
    """Reasons why a worker ends a running attempt."""

    CANCELLED = "cancelled"
    TIMED_OUT = "timed out"
    LOST = "lost"
    SHUTDOWN = "shutdown"


@dataclass(eq=False)
class Attempt:
    """Attempt at a task. Times are monotonic, of the worker; `begun_at` is 0 until it runs."""

    task_id: str
    number: int
    max_attempts: int
    spec: TaskSpec
    payload: str
    request_id: str
    lease_ends: float
    claimed_at: float
    owner_id: str | None = None
    trace: str = ""
    begun_at: float = 0.0
    end_reason: EndReason | None = None
    asked_at: float = 0.0  # when the child was asked to stop
    interrupted: bool = False
    may_begin: bool = False  # of a last attempt: the database has recorded its beginning
    is_probe: bool = False  # its success closes the breaker of its type or owner

    @property
    def is_last(self) -> bool:
        """Tell whether this is the last attempt; it counts only once its beginning is recorded."""
        return self.number >= self.max_attempts

    @property
    def is_lost(self) -> bool:
        """Tell whether another worker may have the task by now."""
        return self.end_reason is EndReason.LOST

    @property
    def log_ids(self) -> dict[str, str]:
        """Return the ids that log lines about this attempt carry."""
        return {"task_id": self.task_id, "request_id": self.request_id}

    def run_message(self) -> bytes:
        """Return the message that tells a child to run it. The payload is JSON already."""
        spec = self.spec
        return (
            f'["run","{self.task_id}",{as_json(spec.key)},{spec.version},{self.number},'
            f"{self.max_attempts},{self.payload},{as_json(self.request_id)},"
            f"{as_json(self.owner_id)},{as_json(self.trace)}]"
        ).encode()

    def hooks_message(self) -> bytes:
        """Return the message that tells a child to call the hooks of a task whose child died."""
        spec = self.spec
        return (
            f'["hooks","{self.task_id}",{as_json(spec.key)},{spec.version},{self.number},'
            f"{self.payload},{as_json(self.owner_id)}]"
        ).encode()

    def succeeded(self, seconds: float, result: Any, worker: str) -> dict[str, Any]:
        """Return the result of a success, in the form that the acknowledgement expects."""
        return self._result(worker, Status.SUCCEEDED, seconds=seconds, result=result)

    def cancelled(self, worker: str) -> dict[str, Any]:
        """Return the result of an attempt that was ended because its task was cancelled."""
        return self._result(worker, Status.CANCELLED)

    def failed(self, report: dict[str, Any], seconds: float, worker: str) -> dict[str, Any]:
        """Return the result of a failure that `failure_report.describe` reported."""
        decision = retry.decide(
            report["how"],
            attempt=self.number,
            max_attempts=self.max_attempts,
            backoff=self.spec.backoff,
            asked_seconds=report.get("after_seconds"),
        )
        is_waiting = report["how"] == "retry" and decision.status is Status.PENDING
        return self._result(
            worker,
            decision.status,
            delay_seconds=decision.delay_seconds,
            seconds=seconds,
            failed=report["how"] != "discard" and not (is_waiting and self.spec.waits_for_service),
            error=report["error"] | {"worker": worker},
        )

    def crashed(self, name: str, message: str, seconds: float, worker: str) -> dict[str, Any]:
        """Return the result of a failure that the child could not report itself."""
        error = failure_report.build_entry(name=name, message=message, attempt=self.number)
        return self.failed({"how": "error", "error": error}, seconds, worker)

    def died(self, code: int, seconds: float, worker: str) -> dict[str, Any]:
        """Return the result of an attempt whose child ended with this exit code."""
        cause = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        return self.crashed("ChildDied", f"the child ended with {cause}", seconds, worker)

    def timed_out(self, seconds: float, worker: str) -> dict[str, Any]:
        """Return the result of an attempt that exceeded its timeout."""
        message = f"the run took longer than {self.spec.timeout_seconds:g} seconds"
        return self.crashed("TimedOut", message, seconds, worker)

    def _result(self, worker: str, outcome: Status, **more: Any) -> dict[str, Any]:
        base = {"id": self.task_id, "attempt": self.number, "outcome": outcome, "worker": worker}
        return base | {"failed": False} | more
