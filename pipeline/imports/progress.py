"""Reads of imports and their progress."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from pipeline.domain.errors import StoredFileNotFound
from pipeline.models import ImportRun
from tasks.models import Task
from tasks.models.statuses import Status

_ENDED = {Status.SUCCEEDED, Status.CANCELLED, Status.DEAD, Status.DISCARDED}


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """Import with the status of its task ("" once that is removed)."""

    run: ImportRun
    task_status: str

    @property
    def left(self) -> int:
        """Return the number of rows that were neither accepted nor refused."""
        return self.run.total_rows - self.run.next_row

    @property
    def is_over(self) -> bool:
        """Return True if no more rows are imported unless the task is started again."""
        return self.run.finished_at is not None or self.task_status in ("", *_ENDED)


def import_of(company_id: UUID, import_id: UUID) -> ImportProgress:
    """Return an import of a company. Raises StoredFileNotFound."""
    return _import_progress(
        ImportRun.objects.filter(file_id=import_id, file__company_id=company_id)
    )


def import_of_task(company_id: UUID, task_id: UUID) -> ImportProgress:
    """Return the import of a task. Raises StoredFileNotFound."""
    return _import_progress(
        ImportRun.objects.filter(file__task_id=task_id, file__company_id=company_id)
    )


def imports_into(company_id: UUID, job_id: UUID, *, limit: int) -> list[ImportRun]:
    """Return the last imports into a company's job, newest first."""
    runs = ImportRun.objects.filter(file__company_id=company_id, file__job_id=job_id)
    return list(runs.select_related("file").order_by("-file_id")[:limit])


def _import_progress(runs: QuerySet[ImportRun]) -> ImportProgress:
    run = runs.select_related("file").first()
    if run is None:
        raise StoredFileNotFound
    tasks = Task.objects.filter(id__in=[run.file.task_id] if run.file.task_id else [])
    return ImportProgress(run, tasks.values_list("status", flat=True).first() or "")
