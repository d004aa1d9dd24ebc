"""Reads of a job's log for a simulation, and of its last what-if."""

from __future__ import annotations

from uuid import UUID

from pipeline.models import Event
from pipeline.whatif.behaviour import LoggedEvent
from tasks.models import Task

KEY = "line.what_if"
# A longer log is not run again.
MOST_EVENTS = 20_000
MOST_DAYS = 3_650
# How many of a company's last tasks are searched for a job's last what-if.
LOOKED_AT = 200

_COLUMNS = ("seq", "at", "application_id", "event", "from_status", "to_status", "data")


def read_log(job_id: UUID) -> list[LoggedEvent]:
    """Return a job's log, oldest first, in one query."""
    rows = Event.objects.filter(job_id=job_id).order_by("seq").values_list(*_COLUMNS)
    return [LoggedEvent(*row) for row in rows]


def last_what_if_task(company_id: UUID, job_id: UUID) -> Task | None:
    """Return a job's last what-if among the company's last tasks, or None, in one query."""
    latest = Task.objects.filter(owner_id=company_id).order_by("-id").values("id")[:LOOKED_AT]
    of_job = Task.objects.filter(id__in=latest, type__key=KEY, payload__job_id=str(job_id))
    return of_job.select_related("type").order_by("-id").first()
