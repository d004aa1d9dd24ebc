"""Schedule of a job's weekly reports: its id, and the schedule itself."""

from __future__ import annotations

from contextlib import suppress
from uuid import NAMESPACE_OID, UUID, uuid5

from pipeline.background.schedules import delete_company_schedule
from pipeline.domain.errors import ScheduleNotFound
from pipeline.reports.read import KEY
from tasks.models import Schedule


def report_schedule_id(job_id: UUID) -> UUID:
    """Return the id of the schedule that makes a job's reports. A job has at most one."""
    return uuid5(NAMESPACE_OID, f"{KEY} {job_id}")


def report_schedule_of(company_id: UUID, job_id: UUID) -> Schedule | None:
    """Return the schedule that makes a job's reports, or None, in one query."""
    return Schedule.objects.filter(id=report_schedule_id(job_id), owner_id=company_id).first()


def delete_report_schedule(company_id: UUID, job_id: UUID) -> None:
    """Delete the schedule that makes a job's reports, if there is one."""
    with suppress(ScheduleNotFound):
        delete_company_schedule(
            company_id=company_id,
            schedule_id=report_schedule_id(job_id),
            actor="site",
        )
