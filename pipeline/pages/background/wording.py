"""Background work in words: what a task does, how it stands, what happened to it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.background.catalog import COMPANY_TYPES
from pipeline.background.page_data import Subjects
from pipeline.wording.english import count, short_duration
from tasks.models import Task
from tasks.models.statuses import Status
from tasks.registry import TaskSpec

FORMATS = {"csv": "CSV", "jsonl": "JSON lines"}
GONE = "a job that is gone"

MISBEHAVIOURS = {
    "done": "Nothing more: it is done",
    "fail": "Fail, at each of three attempts",
    "fatal": "Fail for good, at once",
    "retry": "Ask to be tried again",
    "discard": "Say that nobody wants it any more",
    "ignore_cancel": "Nothing more, but do not listen when it is cancelled",
    "hog": "Take all memory it can get",
    "die": "Kill its own process",
}
"""What a task that sleeps may be told to do when it has slept."""

_THEN = {
    "fail": ", then fail",
    "fatal": ", then fail for good",
    "retry": ", then ask to be tried again",
    "discard": ", then be unwanted",
    "hog": ", then take all memory",
    "die": ", then kill its process",
    "ignore_cancel": ", deaf to cancelling",
}


def what(key: str, payload: Any, subjects: Subjects) -> str:
    """What a task does: Export the log of Cook as CSV."""
    given = payload if isinstance(payload, dict) else {}
    title = subjects.jobs.get(str(given.get("job_id")), GONE)
    match key:
        case "applications.import":
            return _import(given, subjects)
        case "applications.export":
            return f"Export the applications to {title}{_as(given)}"
        case "log.export":
            return f"Export the log of {title}{_as(given)}"
        case "report.weekly":
            week = given.get("week")
            return f"Weekly report of {title}" + (f", week of {week}" if week else "")
        case "demo.sleep":
            then = _THEN.get(str(given.get("then")), "")
            return f"Sleep {seconds(given.get('seconds', 0))}{then}"
    return title_of(key)


def title_of(key: str) -> str:
    """A type as people know it."""
    known = COMPANY_TYPES.get(key)
    return known.title if known else key


def _import(given: Mapping[str, Any], subjects: Subjects) -> str:
    found = subjects.imports.get(str(given.get("import_id")))
    if found is None:
        return "Import applicants from a file that is gone"
    people = "applicants"
    if found.rows is not None:
        people = count(found.rows, "applicant")
    return f"Import {people} into {subjects.jobs.get(str(found.job_id), GONE)}"


def _as(given: Mapping[str, Any]) -> str:
    return f" as {FORMATS[given['format']]}" if given.get("format") in FORMATS else ""


def seconds(value: Any) -> str:
    """So many seconds: 2.5 s."""
    return f"{value:g} s" if isinstance(value, int | float) else "a while"


class Progress(NamedTuple):
    """How far a task is; `total` is above 0."""

    done: int
    total: int
    note: str

    @property
    def percent(self) -> int:
        """In whole percent; 100 only when all is done."""
        return min(100, self.done * 100 // self.total)


def progress_of(task: Task) -> Progress | None:
    """What a running task last told of its progress."""
    told = task.progress or {}
    total = told.get("total") or 0
    if task.status not in (Status.RUNNING, Status.CANCELLING) or total <= 0:
        return None
    return Progress(min(told.get("done") or 0, total), total, told.get("note") or "")


def result_of(task: Task) -> str:
    """What came of a task that is done, in a few words; nothing if that says nothing."""
    found = task.result if isinstance(task.result, dict) else {}
    if "accepted" in found:
        return f"{found['accepted']:,} taken in, {found.get('refused', 0):,} refused"
    if "rows" in found:
        return count(found["rows"], "row")
    if "slept_seconds" in found:
        return f"slept {found['slept_seconds']:g} s"
    return ""


def limits_of(kind: TaskSpec) -> list[str]:
    """What bounds the runs of a type, in short sentences."""
    said = [f"Up to {count(kind.max_attempts, 'attempt')}"]
    said.append(f"at most {short_duration(kind.timeout_seconds)} each")
    if kind.cap:
        said.append(f"{kind.cap} at a time")
    return said


_SHAPES = {
    "uuid": "an id, as it stands in addresses",
    "date": "a day, like 2026-11-16",
    "number": "a number",
    "integer": "a whole number",
    "string": "a text",
}


def fields_of(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a payload is made of: each field's name, and what may stand in it."""
    required = schema.get("required", [])
    return [
        (name, _field(about) + ("" if name in required else "; may be left out"))
        for name, about in sorted((schema.get("properties") or {}).items())
    ]


def _field(about: Mapping[str, Any]) -> str:
    if "enum" in about:
        return " or ".join(str(each) for each in about["enum"])
    kind = str(about.get("format") or about.get("type") or "anything")
    said = _SHAPES.get(kind, kind)
    if "minimum" in about and "maximum" in about:
        return f"{said} from {about['minimum']} to {about['maximum']}"
    return f"{said} of at most {about['maxLength']} characters" if "maxLength" in about else said
