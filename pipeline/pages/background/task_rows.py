"""Tasks in lists and pages: in words, with their subject and who started them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from django.urls import reverse

from pipeline.background.subjects import Subjects, subjects_of
from pipeline.background.task_actors import names_of_task_actors
from pipeline.pages.background import task_descriptions
from pipeline.pages.background.error_details import error_details_in_line
from pipeline.wording.task_words import TASK_STATUS_WORDS
from tasks.models import Task
from tasks.models.statuses import Status

DOWNLOAD = "Download"
MOST_REPEATED = 2  # rows below an equal one that are not folded
SOON, LATE = timedelta(minutes=1), timedelta(minutes=10)


def task_row_changes_soon(task: Task, now: datetime) -> bool:
    """Tell whether a task's state may change at any moment: it runs or is about to start.

    False for tasks overdue by more than LATE, because no worker seems to take them.
    """
    if task.status == Status.PENDING:
        return now - LATE < task.run_after < now + SOON
    return task.status in (Status.RUNNING, Status.CANCELLING)


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task in words. `link` is the URL of its result and the link's text."""

    task: Task
    what: str
    word: str
    tone: str
    who: str
    progress: task_descriptions.DescribedTaskProgress | None
    result: str
    error: str
    link: tuple[str, str] | None
    now: datetime
    is_held: bool  # it waits because its type is paused

    @property
    def elapsed(self) -> timedelta | None:
        """Return how long its last attempt has run, or ran."""
        end = self.task.finished_at or self.now
        begun = self.task.started_at
        return end - begun if begun and self.task.status != Status.PENDING else None

    @property
    def words(self) -> tuple[Any, ...]:
        """Return the words of a list apart from times; for a running task, with its id."""
        runs = self.task.status in (Status.RUNNING, Status.CANCELLING)
        said = (self.what, self.who, self.word, self.result, self.error, self.link)
        return (*said, self.is_held, self.is_later, self.task.attempt, runs and self.task.id)

    @property
    def is_later(self) -> bool:
        """Tell whether the task is scheduled for later."""
        return self.task.status == Status.PENDING and self.task.run_after > self.now

    @property
    def next_attempt(self) -> int:
        """Return the number of its next attempt."""
        return self.task.attempt + 1

    @property
    def is_open(self) -> bool:
        """Tell whether it can be cancelled: it is waiting or running."""
        return self.task.status in (Status.PENDING, Status.RUNNING)


def task_rows_of(
    company_id: UUID, tasks: Sequence[Task], now: datetime, *, paused: Collection[str] = ()
) -> list[TaskRow]:
    """Describe tasks of a company, in their order, with at most five queries.

    `paused` names the types that start no tasks now.
    """
    subjects = subjects_of(company_id, tasks)
    actors = names_of_task_actors({task.producer for task in tasks})
    return [_task_row(task, subjects, actors[task.producer], now, paused) for task in tasks]


def fold_equal_task_rows(rows: Sequence[TaskRow]) -> list[tuple[TaskRow, list[TaskRow]]]:
    """Fold consecutive equal rows behind the first one, if more than two follow it."""
    folded: list[tuple[TaskRow, list[TaskRow]]] = []
    for _, equal in groupby(rows, key=lambda row: row.words):
        first, *others = equal
        if len(others) > MOST_REPEATED:
            folded.append((first, others))
        else:
            folded += [(row, []) for row in (first, *others)]
    return folded


def _task_row(
    task: Task, subjects: Subjects, who: str, now: datetime, paused: Collection[str]
) -> TaskRow:
    words = TASK_STATUS_WORDS[task.status]
    return TaskRow(
        task=task,
        what=task_descriptions.describe_task_subject(task.type.key, task.payload, subjects),
        word=words.label,
        tone=words.tone,
        who=who,
        progress=task_descriptions.describe_task_progress(task),
        result=task_descriptions.describe_task_result(task)
        if task.status == Status.SUCCEEDED
        else "",
        error=error_details_in_line(task.errors[-1]) if task.errors else "",
        link=_task_row_link(task, subjects),
        now=now,
        is_held=task.status == Status.PENDING and task.type.key in paused,
    )


def _task_row_link(task: Task, subjects: Subjects) -> tuple[str, str] | None:
    """Return the link to a task's result; for an import, as soon as it starts."""
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
