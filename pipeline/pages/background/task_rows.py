"""Tasks as the lists and pages show them: in words, with what each is about and who started it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.urls import reverse

from pipeline.background.page_data import Subjects, subjects_of
from pipeline.background.tasks import actors_named
from pipeline.pages.background import wording
from pipeline.pages.background.error_details import error_line
from pipeline.wording.task_words import TASK_STATUS_WORDS
from tasks.models import Task
from tasks.models.statuses import Status

DOWNLOAD = "Download"
SOON, LATE = timedelta(minutes=1), timedelta(minutes=10)


def moves_soon(task: Task, now: datetime) -> bool:
    """Whether its state may change at any moment: it runs, or its time is about to come. What has
    waited for long (nobody takes it) is looked at less often."""
    if task.status == Status.PENDING:
        return now - LATE < task.run_after < now + SOON
    return task.status in (Status.RUNNING, Status.CANCELLING)


@dataclass(frozen=True, slots=True)
class Row:
    """A task in words. `link` is where its result is, with the words of that link."""

    task: Task
    what: str
    word: str
    tone: str
    who: str
    progress: wording.Progress | None
    result: str
    error: str
    link: tuple[str, str] | None
    now: datetime
    is_held: bool
    """Whether it waits because its type is paused."""

    @property
    def elapsed(self) -> timedelta | None:
        """How long its last attempt has run, or ran."""
        end = self.task.finished_at or self.now
        begun = self.task.started_at
        return end - begun if begun and self.task.status != Status.PENDING else None

    @property
    def is_later(self) -> bool:
        """Whether its time has not come yet."""
        return self.task.status == Status.PENDING and self.task.run_after > self.now

    @property
    def next_attempt(self) -> int:
        """Which attempt comes next, of a task that waits."""
        return self.task.attempt + 1

    @property
    def is_open(self) -> bool:
        """Whether it can be cancelled: it has not begun, or it runs."""
        return self.task.status in (Status.PENDING, Status.RUNNING)


def rows_of(
    company_id: UUID, tasks: Sequence[Task], now: datetime, *, paused: Collection[str] = ()
) -> list[Row]:
    """Tasks of a company in words, in their order; five queries at most, whatever their number.

    `paused` are the types of which nothing begins now.
    """
    subjects = subjects_of(company_id, tasks)
    actors = actors_named({task.producer for task in tasks})
    return [_row(task, subjects, actors[task.producer], now, paused) for task in tasks]


def _row(task: Task, subjects: Subjects, who: str, now: datetime, paused: Collection[str]) -> Row:
    words = TASK_STATUS_WORDS[task.status]
    return Row(
        task=task,
        what=wording.what(task.type.key, task.payload, subjects),
        word=words.label,
        tone=words.tone,
        who=who,
        progress=wording.progress_of(task),
        result=wording.result_of(task) if task.status == Status.SUCCEEDED else "",
        error=error_line(task.errors[-1]) if task.errors else "",
        link=_link(task, subjects),
        now=now,
        is_held=task.status == Status.PENDING and task.type.key in paused,
    )


def _link(task: Task, subjects: Subjects) -> tuple[str, str] | None:
    """Where one finds what came of a task; of an import, from its beginning."""
    given = task.payload if isinstance(task.payload, dict) else {}
    found = task.result if isinstance(task.result, dict) else {}
    if run := subjects.imports.get(str(given.get("import_id"))):
        return reverse("import_result", args=[run.job_id, given["import_id"]]), "The import"
    if task.status != Status.SUCCEEDED:
        return None
    if "file_id" in found:
        return reverse("stored_file", args=[found["file_id"]]), DOWNLOAD
    if task.type.key == "report.weekly" and given.get("job_id"):
        return reverse("reports", args=[given["job_id"]]), "The reports"
    return None
