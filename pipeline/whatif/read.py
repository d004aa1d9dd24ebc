"""Reads of a job's log for a simulation, and of its last what-if."""

from __future__ import annotations

from uuid import UUID

from pipeline.models import Event, LastWhatIf
from pipeline.whatif.behaviour import LoggedEvent
from tasks.models import Task

KEY = "line.what_if"
# A longer log is not replayed.
MOST_EVENTS = 20_000
MOST_DAYS = 3_650

_COLUMNS = ("seq", "at", "application_id", "event", "from_status", "to_status", "data")


def read_what_if_log(job_id: UUID) -> list[LoggedEvent]:
    """Return a job's log, oldest first, in one query."""
    rows = Event.objects.filter(job_id=job_id).order_by("seq").values_list(*_COLUMNS)
    return [LoggedEvent(*row) for row in rows]


def read_last_what_if_task(company_id: UUID, job_id: UUID) -> Task | None:
    """Return a job's last what-if that a page has started or that has begun, in one query.

    Returns None if there was none, or if it was so long ago that its task has been removed. A run
    that the API has planned for later is shown once it begins.
    """
    last = LastWhatIf.objects.filter(job_id=job_id).values("task_id")
    found = Task.objects.filter(id__in=last, owner_id=company_id, type__key=KEY)
    return found.select_related("type").first()
