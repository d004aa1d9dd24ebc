"""Tasks in words: titles, statuses, progress, results, limits and fields of payloads."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from pipeline.wording.english import count, isolated, short_duration
from pipeline.wording.task_words import TASK_STATUS_WORDS
from pipeline.work.catalog import COMPANY_TYPES
from pipeline.work.start import Subjects, find_subjects
from pipeline.work.tasks import actor_names
from tasks.models import Status, Task
from tasks.registry import TaskSpec

FORMATS = {"csv": "CSV", "jsonl": "JSON lines"}
GONE = "a deleted job"

# The endings that a test task can have.
ENDINGS = {
    "done": "Finish",
    "fail": "Fail on each of three attempts",
    "fatal": "Fail immediately, without retries",
    "retry": "Request a retry",
    "discard": "Report that it is no longer needed",
    "ignore_cancel": "Finish, but ignore cancelling",
    "hog": "Use up all memory",
    "die": "Kill its own process",
}

_THEN = {
    "fail": ", then fail",
    "fatal": ", then fail without retries",
    "retry": ", then request a retry",
    "discard": ", then report that it is not needed",
    "hog": ", then use up all memory",
    "die": ", then kill its process",
    "ignore_cancel": ", ignoring cancelling",
}


_IMPORT_TASKS = {
    "applications.import": "Import {}",
    "applications.check_import": "Check a file of {}",
    "applications.undo_import": "Undo the import of {}",
}


def describe_task_subject(key: str, payload: Any, subjects: Subjects) -> str:
    """Describe what a task does, like "Export the log of Cook as CSV"."""
    given = payload if isinstance(payload, dict) else {}
    title = isolated(subjects.jobs.get(str(given.get("job_id")), GONE))
    match key:
        case "applications.import" | "applications.check_import" | "applications.undo_import":
            found = subjects.imports.get(str(given.get("import_id")))
            if found is None:
                return "Import applicants from a deleted file"
            people = "applicants" if found.rows is None else count(found.rows, "applicant")
            into = isolated(subjects.jobs.get(str(found.job_id), GONE))
            return _IMPORT_TASKS[key].format(f"{people} into {into}")
        case "applications.export":
            return f"Export the applications to {title}{_describe_task_format(given)}"
        case "log.export":
            return f"Export the log of {title}{_describe_task_format(given)}"
        case "report.weekly":
            week = given.get("week")
            return f"Weekly report of {title}" + (f", week of {week}" if week else "")
        case "demo.sleep":
            then = _THEN.get(str(given.get("then")), "")
            return f"Sleep {describe_task_seconds(given.get('seconds', 0))}{then}"
        case "webhooks.redeliver":
            return "Send failed webhooks again"
    return describe_task_type(key) + (f" of {title}" if "job_id" in given else "")


def describe_task_type(key: str) -> str:
    """Return the title of a type."""
    known = COMPANY_TYPES.get(key)
    return known.title if known else key


def _describe_task_format(given: Mapping[str, Any]) -> str:
    return f" as {FORMATS[given['format']]}" if given.get("format") in FORMATS else ""


def describe_task_seconds(value: Any) -> str:
    """Format seconds, like "2.5 s"."""
    return f"{value:g} s" if isinstance(value, int | float) else "a while"


class DescribedTaskProgress(NamedTuple):
    """Progress of a task; `total` is above 0."""

    done: int
    total: int
    note: str

    @property
    def percent(self) -> int:
        """Return whole percent; 100 only when all is done."""
        return min(100, self.done * 100 // self.total)


def describe_task_progress(task: Task) -> DescribedTaskProgress | None:
    """Return the last reported progress of a running task, or None."""
    report = task.progress or {}
    total = report.get("total") or 0
    if task.status not in (Status.RUNNING, Status.CANCELLING) or total <= 0:
        return None
    return DescribedTaskProgress(
        min(report.get("done") or 0, total), total, report.get("note") or ""
    )


def describe_task_result(task: Task) -> str:
    """Summarise the result of a finished task; empty if there is nothing to say."""
    found = task.result if isinstance(task.result, dict) else {}
    if "accepted" in found:
        return f"{found['accepted']:,} accepted, {found.get('refused', 0):,} refused"
    if "undone" in found:
        return f"{found['undone']:,} removed"
    if "checked" in found:
        return f"{found['checked']:,} checked, {found.get('refused', 0):,} would be refused"
    if "rows" in found:
        return count(found["rows"], "row")
    if "slept_seconds" in found:
        return f"slept {found['slept_seconds']:g} s"
    return ""


def describe_task_limits(spec: TaskSpec) -> list[str]:
    """Return the limits of a type's runs as short phrases."""
    limits = [f"Up to {count(spec.max_attempts, 'attempt')}"]
    limits.append(f"at most {short_duration(spec.timeout_seconds)} each")
    if spec.cap:
        limits.append(f"{spec.cap} at a time")
    return limits


_SHAPES = {
    "uuid": "an id, as in addresses",
    "date": "a date, like 2026-11-16",
    "number": "a number",
    "integer": "a whole number",
    "string": "text",
}


def describe_task_fields(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Describe a payload's fields: each name with its allowed values."""
    required = schema.get("required", [])
    return [
        (name, _describe_task_field(about) + ("" if name in required else "; optional"))
        for name, about in sorted((schema.get("properties") or {}).items())
    ]


def _describe_task_field(about: Mapping[str, Any]) -> str:
    if "enum" in about:
        return " or ".join(str(each) for each in about["enum"])
    kind = str(about.get("format") or about.get("type") or "anything")
    shape = _SHAPES.get(kind, kind)
    if "minimum" in about and "maximum" in about:
        return f"{shape} from {about['minimum']} to {about['maximum']}"
    if "maxLength" in about:
        return f"{shape} of at most {about['maxLength']} characters"
    return shape


# Task errors as shown to their company: with lines of code, but without paths of our machines.


HOME = f"{settings.BASE_DIR}/"
LINE = 200  # characters of an error in a list

_FILE = re.compile(r'File "([^"]+)"')
_LIBRARY = re.compile(r"^.*/(?:site-packages|python3\.\d+)/")
_PATH = re.compile(r"(?<![\w:/.…])/(?:[\w.@+-]+/)+[\w.@+-]*")


class Failure(NamedTuple):
    """A failed attempt; `title` is the error in one line."""

    attempt: int
    title: str
    traceback: str


def describe_failures(errors: list[Mapping[str, Any]]) -> list[Failure]:
    """Return every error of a task, newest first."""
    return [
        Failure(
            int(error.get("attempt") or 0),
            error_line(error),
            shorten_paths(str(error.get("traceback") or "")).strip(),
        )
        for error in reversed(errors)
    ]


def error_line(error: Mapping[str, Any] | None) -> str:
    """Return an error in one line, like "ValueError: no such week"."""
    given = error or {}
    name = str(given.get("class") or "Error").rpartition(".")[2]
    message = " ".join(shorten_paths(str(given.get("message") or "")).split())
    line = f"{name}: {message}" if message else name
    return line if len(line) <= LINE else line[: LINE - 1] + "…"


def shorten_paths(text: str) -> str:
    """Shorten paths in a text, relative to the product or a library."""

    def shorten_error_path(found: re.Match[str]) -> str:
        path = _LIBRARY.sub("", found[1].removeprefix(HOME))
        return f'File "{PurePosixPath(path).name if path.startswith("/") else path}"'

    text = _FILE.sub(shorten_error_path, text)
    return _PATH.sub(lambda found: f"…/{PurePosixPath(found[0]).name}", text)


# Tasks in lists and pages: in words, with their subject and who started them.


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


class TaskLink(NamedTuple):
    """Link to a task's result, and its text; some lead to what viewers may not open."""

    url: str
    label: str
    for_recruiters: bool = False


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task in words."""

    task: Task
    what: str
    word: str
    tone: str
    who: str
    progress: DescribedTaskProgress | None
    result: str
    error: str
    link: TaskLink | None
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


def build_task_rows(
    company_id: UUID, tasks: Sequence[Task], now: datetime, *, paused: Collection[str] = ()
) -> list[TaskRow]:
    """Describe tasks of a company, in their order, with at most five queries.

    `paused` names the types that start no tasks now.
    """
    subjects = find_subjects(company_id, tasks)
    actors = actor_names({task.producer for task in tasks})
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
        what=describe_task_subject(task.type.key, task.payload, subjects),
        word=str(words.label),
        tone=words.tone,
        who=who,
        progress=describe_task_progress(task),
        result=describe_task_result(task) if task.status == Status.SUCCEEDED else "",
        error=error_line(task.errors[-1]) if task.errors else "",
        link=_task_row_link(task, subjects),
        now=now,
        is_held=task.status == Status.PENDING and task.type.key in paused,
    )


def _task_row_link(task: Task, subjects: Subjects) -> TaskLink | None:
    """Return the link to a task's result; for an import, as soon as it starts."""
    given = task.payload if isinstance(task.payload, dict) else {}
    found = task.result if isinstance(task.result, dict) else {}
    if run := subjects.imports.get(str(given.get("import_id"))):
        url = reverse("import_result", args=[run.job_id, given["import_id"]])
        return TaskLink(url, "The import", for_recruiters=True)
    if task.status != Status.SUCCEEDED:
        return None
    if "file_id" in found:
        return TaskLink(reverse("stored_file", args=[found["file_id"]]), DOWNLOAD)
    if task.type.key == "report.weekly" and given.get("job_id"):
        return TaskLink(reverse("reports", args=[given["job_id"]]), "The reports")
    return None
