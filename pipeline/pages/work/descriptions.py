"""Tasks in words: titles, statuses, progress, results, limits and fields of payloads."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, npgettext, pgettext, pgettext_lazy

from pipeline.wording.english import isolated, short_duration
from pipeline.wording.language import number as in_digits
from pipeline.wording.task_words import TASK_STATUS_WORDS
from pipeline.work.catalog import COMPANY_TYPES
from pipeline.work.start import Subjects, find_subjects
from pipeline.work.tasks import actor_names
from tasks.models import Status, Task
from tasks.registry import TaskSpec

FORMATS: dict[str, str | Promise] = {"csv": "CSV", "jsonl": gettext_lazy("JSON lines")}

# The endings that a test task can have.
ENDINGS = {
    "done": pgettext_lazy("ending of a test task", "Finish"),
    "fail": gettext_lazy("Fail on each of three attempts"),
    "fatal": gettext_lazy("Fail immediately, without retries"),
    "retry": gettext_lazy("Request a retry"),
    "discard": gettext_lazy("Report that it is no longer needed"),
    "ignore_cancel": gettext_lazy("Finish, but ignore cancelling"),
    "hog": gettext_lazy("Use up all memory"),
    "die": gettext_lazy("Kill its own process"),
}

# Titles of test tasks by their ending. %(time)s is how long they sleep.
_SLEEPS = {
    "fail": gettext_lazy("Sleep %(time)s, then fail"),
    "fatal": gettext_lazy("Sleep %(time)s, then fail without retries"),
    "retry": gettext_lazy("Sleep %(time)s, then request a retry"),
    "discard": gettext_lazy("Sleep %(time)s, then report that it is not needed"),
    "hog": gettext_lazy("Sleep %(time)s, then use up all memory"),
    "die": gettext_lazy("Sleep %(time)s, then kill its process"),
    "ignore_cancel": gettext_lazy("Sleep %(time)s, ignoring cancelling"),
}


_OF_JOB = {
    "report.weekly": gettext_lazy("Weekly report of %(job)s"),
    "line.what_if": gettext_lazy("What-if of %(job)s"),
}


def describe_task_subject(key: str, payload: Any, subjects: Subjects) -> str:
    """Describe what a task does, like "Export the log of Cook as CSV"."""
    given = payload if isinstance(payload, dict) else {}
    title = _job_title(given.get("job_id"), subjects)
    match key:
        case "applications.import" | "applications.check_import" | "applications.undo_import":
            return _describe_import(key, given, subjects)
        case "applications.export" | "log.export":
            return _describe_export(key, title, FORMATS.get(str(given.get("format"))))
        case "report.weekly" if week := given.get("week"):
            return _("Weekly report of %(job)s, week of %(week)s") % {"job": title, "week": week}
        case "report.weekly" | "line.what_if":
            return str(_OF_JOB[key]) % {"job": title}
        case "demo.sleep":
            words = _SLEEPS.get(str(given.get("then")), gettext_lazy("Sleep %(time)s"))
            return str(words) % {"time": describe_task_seconds(given.get("seconds", 0))}
        case "webhooks.redeliver":
            return _("Send failed webhooks again")
    return describe_task_type(key)


def _job_title(job_id: object, subjects: Subjects) -> str:
    found = subjects.jobs.get(str(job_id))
    return _("a deleted job") if found is None else isolated(found)


def _describe_import(key: str, given: Mapping[str, Any], subjects: Subjects) -> str:
    found = subjects.imports.get(str(given.get("import_id")))
    if found is None:
        return _("Import applicants from a deleted file")
    number = found.rows
    if number is None:
        words = {
            "applications.import": _("Import applicants into %(job)s"),
            "applications.check_import": _("Check a file of applicants into %(job)s"),
            "applications.undo_import": _("Undo the import of applicants into %(job)s"),
        }[key]
        return words % {"job": _job_title(found.job_id, subjects)}
    words = {
        "applications.import": ngettext(
            "Import %(count)s applicant into %(job)s",
            "Import %(count)s applicants into %(job)s",
            number,
        ),
        "applications.check_import": ngettext(
            "Check a file of %(count)s applicant into %(job)s",
            "Check a file of %(count)s applicants into %(job)s",
            number,
        ),
        "applications.undo_import": ngettext(
            "Undo the import of %(count)s applicant into %(job)s",
            "Undo the import of %(count)s applicants into %(job)s",
            number,
        ),
    }[key]
    return words % {"count": in_digits(number), "job": _job_title(found.job_id, subjects)}


def _describe_export(key: str, title: str, format: str | Promise | None) -> str:
    given = {"job": title, "format": format}
    match key, format:
        case "applications.export", None:
            return _("Export the applications to %(job)s") % given
        case "applications.export", _any:
            return _("Export the applications to %(job)s as %(format)s") % given
        case _log, None:
            return _("Export the log of %(job)s") % given
    return _("Export the log of %(job)s as %(format)s") % given


def describe_task_type(key: str) -> str:
    """Return the title of a type."""
    known = COMPANY_TYPES.get(key)
    return str(known.title) if known else key


def describe_task_seconds(value: Any) -> str:
    """Format seconds, like "2.5 s"."""
    if not isinstance(value, int | float):
        return pgettext("duration", "a while")
    # Translators: a duration in seconds.
    return _("%(number)s s") % {"number": f"{value:g}"}


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
        min(report.get("done") or 0, total), total, describe_note(report.get("note"))
    )


# Notes on progress that hold numbers, which workers store in English, and their messages.
_NOTES = (
    (
        re.compile(r"(?P<accepted>[\d,]+) accepted, (?P<refused>[\d,]+) refused"),
        pgettext_lazy("applications", "%(accepted)s accepted, %(refused)s refused"),
    ),
    (
        re.compile(r"(?P<refused>[\d,]+) would be refused"),
        pgettext_lazy("applications", "%(refused)s would be refused"),
    ),
)


def describe_note(note: object) -> str:
    """Return a worker's note on its progress in the reader's language."""
    text = str(note or "")
    for pattern, words in _NOTES:
        if found := pattern.fullmatch(text):
            return str(words) % found.groupdict()
    return _translate_stored(text)


def describe_task_result(task: Task) -> str:
    """Summarise the result of a finished task; empty if there is nothing to say."""
    found = task.result if isinstance(task.result, dict) else {}
    refused = f"{found.get('refused', 0):,}"
    if "accepted" in found:
        given = {"accepted": in_digits(found["accepted"]), "refused": refused}
        words = pgettext("applications", "%(accepted)s accepted, %(refused)s refused")
        return words % given
    if "undone" in found:
        number = found["undone"]
        return npgettext("applications", "%(count)s removed", "%(count)s removed", number) % {
            "count": in_digits(number)
        }
    if "checked" in found:
        given = {"checked": in_digits(found["checked"]), "refused": refused}
        words = pgettext("rows", "%(checked)s checked, %(refused)s would be refused")
        return words % given
    if "rows" in found:
        number = found["rows"]
        return ngettext("%(count)s row", "%(count)s rows", number) % {"count": in_digits(number)}
    if "slept_seconds" in found:
        return _("slept %(number)s s") % {"number": f"{found['slept_seconds']:g}"}
    return ""


def describe_task_limits(spec: TaskSpec) -> str:
    """Return the limits of a type's runs as a sentence."""
    attempts = ngettext("%(count)s attempt", "%(count)s attempts", spec.max_attempts) % {
        "count": in_digits(spec.max_attempts)
    }
    given = {"attempts": attempts, "time": short_duration(spec.timeout_seconds), "cap": spec.cap}
    if spec.cap:
        # Translators: a limit of a kind of background task. %(attempts)s is "3 attempts",
        # %(time)s how long each may take, %(cap)s how many run at the same time.
        return _("Up to %(attempts)s, at most %(time)s each, %(cap)s at a time.") % given
    return _("Up to %(attempts)s, at most %(time)s each.") % given


_SHAPES = {
    "uuid": gettext_lazy("an id, as in addresses"),
    "date": gettext_lazy("a date, like 2026-11-16"),
    "number": gettext_lazy("a number"),
    "integer": gettext_lazy("a whole number"),
    "string": pgettext_lazy("value of a field", "text"),
}


def describe_task_fields(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Describe a payload's fields: each name with its allowed values."""
    required = schema.get("required", [])
    return [
        (name, words if name in required else _("%(values)s; optional") % {"values": words})
        for name, about in sorted((schema.get("properties") or {}).items())
        for words in [_describe_task_field(about)]
    ]


def _or(values: str, value: str) -> str:
    # Translators: values of a field, like "csv or jsonl".
    return _("%(values)s or %(value)s") % {"values": values, "value": value}


def _describe_task_field(about: Mapping[str, Any]) -> str:
    if "enum" in about:
        return reduce(_or, map(str, about["enum"]))
    kind = str(about.get("format") or about.get("type") or "anything")
    shape = str(_SHAPES.get(kind, kind))
    if "minimum" in about and "maximum" in about:
        given = {"value": shape, "least": about["minimum"], "most": about["maximum"]}
        # Translators: values of a field, like "a whole number from 1 to 60".
        return _("%(value)s from %(least)s to %(most)s") % given
    if "maxLength" in about:
        most = about["maxLength"]
        # Translators: values of a field, like "text of at most 20 characters".
        return ngettext(
            "%(value)s of at most %(count)s character",
            "%(value)s of at most %(count)s characters",
            most,
        ) % {"value": shape, "count": most}
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
    name = str(given.get("class") or pgettext("label", "Error")).rpartition(".")[2]
    message = _translate_stored(" ".join(shorten_paths(str(given.get("message") or "")).split()))
    line = f"{name}: {message}" if message else name
    return line if len(line) <= LINE else line[: LINE - 1] + "…"


def _translate_stored(text: str) -> str:
    """Translate a text that a worker stored in English, if it is a whole message."""
    return _(text) if text else ""


def shorten_paths(text: str) -> str:
    """Shorten paths in a text, relative to the product or a library."""

    def shorten_error_path(found: re.Match[str]) -> str:
        path = _LIBRARY.sub("", found[1].removeprefix(HOME))
        return f'File "{PurePosixPath(path).name if path.startswith("/") else path}"'

    text = _FILE.sub(shorten_error_path, text)
    return _PATH.sub(lambda found: f"…/{PurePosixPath(found[0]).name}", text)


# Tasks in lists and pages: in words, with their subject and who started them.


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
    is_file: bool = False


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
    for _words, equal in groupby(rows, key=lambda row: row.words):
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
        return TaskLink(url, _("The import"), for_recruiters=True)
    if task.status != Status.SUCCEEDED:
        return None
    if "file_id" in found:
        url = reverse("stored_file", args=[found["file_id"]])
        return TaskLink(url, pgettext("act", "Download"), is_file=True)
    if task.type.key == "report.weekly" and given.get("job_id"):
        return TaskLink(reverse("reports", args=[given["job_id"]]), _("The reports"))
    return None
