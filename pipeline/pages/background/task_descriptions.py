"""Tasks in words: titles, statuses, progress, results, limits and fields of payloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.background.catalog import COMPANY_TYPES
from pipeline.background.subjects import Subjects
from pipeline.wording.english import count, short_duration
from tasks.models import Task
from tasks.models.statuses import Status
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
    title = subjects.jobs.get(str(given.get("job_id")), GONE)
    match key:
        case "applications.import" | "applications.check_import" | "applications.undo_import":
            found = subjects.imports.get(str(given.get("import_id")))
            if found is None:
                return "Import applicants from a deleted file"
            people = "applicants" if found.rows is None else count(found.rows, "applicant")
            into = subjects.jobs.get(str(found.job_id), GONE)
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
