"""Task that carries out a company's decision when it is due."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pipeline.decisions.carry_out import TASK, carry_out_decision, give_up_carrying_out
from tasks.context import Context
from tasks.registry import task_type
from tasks.retry import Backoff


def give_up_decision_in_task(payload: dict[str, Any], _context: Context) -> None:
    """Refuse the remaining decisions when the last attempt has failed."""
    give_up_carrying_out(UUID(payload["decision"]))


@task_type(
    key=TASK,
    urgent=True,
    timeout_seconds=120,
    max_attempts=20,
    backoff=Backoff(base_seconds=1, cap_seconds=30, jitter_seconds=1),
    on_fail=give_up_decision_in_task,
    schema={
        "type": "object",
        "properties": {"decision": {"type": "string", "format": "uuid"}},
        "required": ["decision"],
        "additionalProperties": False,
    },
)
def carry_out_decision_in_task(payload: dict[str, Any], context: Context) -> None:
    """Carry out a decision, and report the number of people decided on."""
    carry_out_decision(UUID(payload["decision"]), after_each=context.progress)
