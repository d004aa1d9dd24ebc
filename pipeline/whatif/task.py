"""Task that replays a job's log under other rules, started by hand."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from jobs.models import Job
from jobs.policies import POLICY_FIELDS, policy_limits
from pipeline.database.instants import database_now
from pipeline.domain.errors import JobNotFound
from pipeline.line.removed_logs import log_removed_at
from pipeline.models import LastWhatIf
from pipeline.selectors.jobs import read_job
from pipeline.whatif.compare import Cancelled, NotReproducible, compare_rules
from pipeline.whatif.read import KEY, MOST_DAYS, MOST_EVENTS, read_what_if_log
from pipeline.whatif.state import Change, TooLong
from tasks.context import Context
from tasks.errors import Discard, Fatal
from tasks.registry import task_type


def _what_if_task_number_schema(name: str, *, optional: bool = False) -> dict[str, Any]:
    low, high = policy_limits(name)
    kinds = ["integer", "null"] if optional else "integer"
    return {"type": kinds, "minimum": low, "maximum": high}


@task_type(
    key=KEY,
    queue="files",
    timeout_seconds=600,
    max_attempts=2,
    cap=1,
    schema={
        "type": "object",
        "properties": {
            "job_id": {"type": "string", "format": "uuid"},
            "days": {"type": "integer", "minimum": 1, "maximum": MOST_DAYS},
            "capacity": {"type": "integer", "minimum": 1, "maximum": 10_000},
            "acknowledgment_window_seconds": _what_if_task_number_schema(
                "acknowledgment_window_seconds"
            ),
            "penalty_places": _what_if_task_number_schema("penalty_places"),
            "max_decays": _what_if_task_number_schema("max_decays", optional=True),
            "cooldown_seconds": _what_if_task_number_schema("cooldown_seconds"),
        },
        "required": ["job_id"],
        "additionalProperties": False,
    },
)
def what_if_in_task(payload: dict[str, Any], context: Context) -> dict[str, Any] | None:
    """Compare the last `days` of a job, by default all, with the outcome under other rules.

    Rules and seats that are not given stay as they were.
    """
    if context.owner_id is None:
        raise Fatal("a what-if must be for a company")
    try:
        job = read_job(UUID(payload["job_id"]))
    except JobNotFound as error:
        raise Fatal(str(error)) from None
    if job.company_id != context.owner_id:
        raise Fatal(str(JobNotFound()))
    if why := _what_if_task_refusal(job):
        raise Discard(why)
    LastWhatIf.objects.update_or_create(job_id=job.id, defaults={"task_id": context.task_id})
    end = max(job.last_event_at, database_now(ahead_seconds=job.clock_offset_seconds))
    since = job.created_at
    if days := payload.get("days"):
        since = max(since, end - timedelta(days=days))
    policy = {name: payload[name] for name in POLICY_FIELDS if name in payload}
    try:
        return compare_rules(
            read_what_if_log(job.id),
            Change(since, policy, payload.get("capacity")),
            end,
            tell=partial(context.progress, note="runs"),
            is_cancelled=lambda: context.cancelled,
        )
    except Cancelled:
        return None
    except (NotReproducible, TooLong) as error:
        raise Discard(str(error)) from None


def _what_if_task_refusal(job: Job) -> str:
    if job.draw_at is not None:
        return "A job whose order is drawn by lot cannot be run again under other rules."
    if log_removed_at(job):
        return "The log of this job is in the archive. Whoever runs the site can put it back."
    if job.seq > MOST_EVENTS:
        return f"The log has more than {MOST_EVENTS:,} events, too many for a what-if."
    return ""
