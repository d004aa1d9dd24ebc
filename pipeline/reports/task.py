"""Task that makes weekly reports, started by a schedule on Mondays or by hand."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

from pipeline.domain.errors import JobNotFound, LogArchived
from pipeline.reports.read import KEY
from pipeline.reports.schedule import delete_report_schedule
from pipeline.reports.weekly import BadWeek, JobOver, NothingToReport, make_weekly_report
from tasks.context import Context
from tasks.errors import Discard, Fatal
from tasks.registry import task_type


@task_type(
    key=KEY,
    queue="files",
    timeout_seconds=600,
    max_attempts=5,
    cap=2,
    schema={
        "type": "object",
        "properties": {
            "job_id": {"type": "string", "format": "uuid"},
            "week": {"type": "string", "format": "week"},
            "zone": {"type": "string", "maxLength": 64, "format": "time-zone"},
        },
        "required": ["job_id"],
        "additionalProperties": False,
    },
)
def report_weekly_in_task(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Make the report of a job's week: {"week", "events"}.

    `week` is a Monday of time zone `zone`.

    Without a week, it is the last whole one in that zone. Without a zone, it is UTC.
    """
    if context.owner_id is None:
        raise Fatal("a report must be for a company")
    week = payload.get("week")
    try:
        report = make_weekly_report(
            job_id=UUID(payload["job_id"]),
            company_id=context.owner_id,
            week=date.fromisoformat(week) if week else None,
            zone=payload.get("zone", "UTC"),
        )
    except JobNotFound as error:  # deleted, too: a draft with a schedule
        delete_report_schedule(context.owner_id, UUID(payload["job_id"]))
        raise Fatal(str(error)) from None
    # The request is wrong, not the type, so its breaker counts no failure.
    except (BadWeek, LogArchived) as error:
        raise Discard(str(error)) from None
    except NothingToReport as error:
        if isinstance(error, JobOver):
            delete_report_schedule(context.owner_id, UUID(payload["job_id"]))
        raise Discard(str(error)) from None
    return {"week": report.week.isoformat(), "events": report.figures["week"]["events"]}
