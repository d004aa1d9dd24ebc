"""Reads of imports and their progress."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Now

from pipeline.domain.errors import StoredFileNotFound
from pipeline.models import ImportRun
from tasks.models import Task
from tasks.models.statuses import Status

_ENDED = {Status.SUCCEEDED, Status.CANCELLED, Status.DEAD, Status.DISCARDED}


# How long after its end an import can be undone.
UNDO_WITHIN = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """Import with the status of its task ("" once that is removed)."""

    run: ImportRun
    task_status: str
    now: datetime
    started_at: datetime | None = None
    undo_status: str = ""
    # When its task ended, for whatever reason.
    stopped_at: datetime | None = None

    @property
    def left(self) -> int:
        """Return the number of rows that were neither accepted nor refused."""
        return self.run.total_rows - self.run.next_row

    @property
    def seconds_left(self) -> float | None:
        """Return how long the rest takes at the pace so far; None before a pace is known."""
        if self.is_over or not (self.started_at and self.run.next_row and self.left):
            return None
        return (self.now - self.started_at).total_seconds() * self.left / self.run.next_row

    @property
    def is_over(self) -> bool:
        """Return True if no more rows are imported unless the task is started again."""
        return self.run.finished_at is not None or self.task_status in ("", *_ENDED)

    @property
    def undo_until(self) -> datetime:
        """Return until when the import can be undone, if it has ended and added someone."""
        return (self.run.finished_at or self.stopped_at or self.run.file.created_at) + UNDO_WITHIN

    @property
    def can_undo(self) -> bool:
        """Tell whether an undo of the import can be started, or started again."""
        added = self.is_over and self.run.accepted and self.run.admitted_seqs
        undoing = self.is_being_undone or self.run.undo_ended_at
        return bool(added and not undoing and self.now < self.undo_until)

    @property
    def is_being_undone(self) -> bool:
        """Tell whether a task will remove more people."""
        return bool(self.undo_status) and self.undo_status not in _ENDED


def progress_of_import(company_id: UUID, import_id: UUID) -> ImportProgress:
    """Return an import of a company. Raises StoredFileNotFound."""
    return _import_progress(
        ImportRun.objects.filter(file_id=import_id, file__company_id=company_id)
    )


def progress_of_import_task(company_id: UUID, task_id: UUID) -> ImportProgress:
    """Return the import of a task. Raises StoredFileNotFound."""
    return _import_progress(
        ImportRun.objects.filter(file__task_id=task_id, file__company_id=company_id)
    )


def imports_into_job(company_id: UUID, job_id: UUID, *, limit: int) -> list[ImportRun]:
    """Return the last imports into a company's job, newest first."""
    runs = ImportRun.objects.filter(file__company_id=company_id, file__job_id=job_id)
    return list(runs.select_related("file").order_by("-file_id")[:limit])


def _import_progress(runs: QuerySet[ImportRun]) -> ImportProgress:
    run = runs.select_related("file").annotate(now=Now()).first()
    if run is None:
        raise StoredFileNotFound
    tasks = Task.objects.in_bulk([each for each in (run.file.task_id, run.undo_task_id) if each])
    own, undo = tasks.get(run.file.task_id), tasks.get(run.undo_task_id)
    return ImportProgress(
        run,
        own.status if own else "",
        run.now,
        own.started_at if own else None,
        undo.status if undo else "",
        own.finished_at if own else None,
    )
