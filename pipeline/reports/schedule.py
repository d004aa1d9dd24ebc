"""Schedule of a job's weekly reports: its id, and the schedule itself."""

from __future__ import annotations

from contextlib import suppress
from uuid import NAMESPACE_OID, UUID, uuid5

from jobs.models import Job
from pipeline.background.schedules import (
    Plan,
    change_company_schedule,
    create_company_schedule,
    delete_company_schedule,
)
from pipeline.domain.errors import ScheduleNotFound
from pipeline.reports.read import KEY
from tasks.models import Schedule

MONDAY_MORNING = "0 8 * * 1"


def report_schedule_id(job_id: UUID) -> UUID:
    """Return the id of the schedule that makes a job's reports. A job has at most one."""
    return uuid5(NAMESPACE_OID, f"{KEY} {job_id}")


def report_schedule_of(company_id: UUID, job_id: UUID) -> Schedule | None:
    """Return the schedule that makes a job's reports, or None, in one query."""
    return Schedule.objects.filter(id=report_schedule_id(job_id), owner_id=company_id).first()


def schedule_reports(job: Job, *, zone: str, actor: str) -> None:
    """Schedule the report for every Monday at 08:00 in a time zone; safe to call again."""
    plan = Plan(
        name=f"Weekly report of {job.posting.title}"[:200],
        cron=MONDAY_MORNING,
        type_key=KEY,
        zone=zone,
        payload={"job_id": str(job.id), "zone": zone},
    )
    own, company_id = report_schedule_id(job.id), job.company_id
    made = create_company_schedule(company_id=company_id, plan=plan, schedule_id=own, actor=actor)
    if (made.zone, made.enabled) != (zone, True):
        changes = {"zone": zone, "payload": plan.payload, "cron": plan.cron, "enabled": True}
        change_company_schedule(
            company_id=company_id, schedule_id=own, changes=changes, actor=actor
        )


def delete_report_schedule(company_id: UUID, job_id: UUID, *, actor: str = "site") -> None:
    """Delete the schedule that makes a job's reports, if there is one."""
    with suppress(ScheduleNotFound):
        delete_company_schedule(
            company_id=company_id,
            schedule_id=report_schedule_id(job_id),
            actor=actor,
        )
