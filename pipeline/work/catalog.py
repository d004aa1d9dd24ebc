"""Types of background work that a company may start, with their texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext_lazy

from tasks import control, registry
from tasks.models import Breaker, Status, Task, TaskType
from tasks.registry import TaskSpec
from tasks.sql.prepared import PreparedStatement


@dataclass(frozen=True, slots=True)
class CompanyType:
    """A type of background work that a company may start."""

    key: str
    title: Promise
    noun: Promise  # the title after “starts”
    about: Promise
    result: dict[str, Any]  # JSON schema of what a run returns


@dataclass(frozen=True, slots=True)
class KnownType:
    """A type as people see it: its newest version's rules, and its current state."""

    about: CompanyType
    kind: TaskSpec
    row: TaskType | None  # None until the type is used or a worker has started


_NUMBER = {"type": "integer", "minimum": 0}
_FILE = {
    "type": ["object", "null"],
    "description": "The file, at `/files/{file_id}`; null after a cancellation.",
    "properties": {"file_id": {"type": "string", "format": "uuid"}, "rows": _NUMBER},
    "required": ["file_id", "rows"],
}
_IMPORT = {
    "type": "object",
    "description": "Numbers of rows, and how it ended; `trouble` says why a BAD_FILE is one. "
    "`left` were not reached.",
    "properties": {
        **dict.fromkeys(("accepted", "already_there", "refused", "total", "left"), _NUMBER),
        "ending": {
            "enum": ["COMPLETE", "JOB_PAUSED", "JOB_CLOSED", "JOB_FULL", "BAD_FILE", "STOPPED"]
        },
        "trouble": {"type": "string"},
    },
    "required": ["accepted", "refused", "total", "left", "ending"],
}
_REPORT = {
    "type": "object",
    "description": "The report, at `/jobs/{job_id}/reports/{week}`.",
    "properties": {"week": {"type": "string", "format": "date"}, "events": _NUMBER},
    "required": ["week", "events"],
}
_SECONDS = {"type": ["number", "null"], "minimum": 0}
_LEDGER = dict.fromkeys(("used", "missed", "cooldown", "nobody", "paused"), _SECONDS)
_RUN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "seat_seconds": {"type": "object", "properties": _LEDGER},
        "median_wait_seconds": _SECONDS,
        **dict.fromkeys(("offered", "misses"), _NUMBER),
    },
    "required": ["seat_seconds", "median_wait_seconds", "offered", "misses"],
}
_WHAT_IF = {
    "type": "object",
    "description": "What happened and what would have happened, side by side; how many people"
    " would have been offered their first seat earlier or later; and a run for each window.",
    "properties": {
        "start": {"type": "string", "format": "date-time"},
        "end": {"type": "string", "format": "date-time"},
        "happened": _RUN,
        "what_if": _RUN,
        **dict.fromkeys(("earlier", "later"), _NUMBER),
        "windows": {
            "type": "array",
            "items": {**_RUN, "properties": {"window_seconds": _NUMBER, **_RUN["properties"]}},
        },
    },
    "required": ["start", "end", "happened", "what_if", "earlier", "later", "windows"],
}
_SLEEP = {
    "type": "object",
    "properties": {"slept_seconds": {"type": "number", "minimum": 0}},
    "required": ["slept_seconds"],
}

_ALL = (
    CompanyType(
        "applications.import",
        gettext_lazy("Import of applications"),
        pgettext_lazy("starts", "import of applications"),
        gettext_lazy("Imports the people in a CSV file, row by row, and keeps the refused rows."),
        _IMPORT,
    ),
    CompanyType(
        "applications.export",
        gettext_lazy("Export of applications"),
        pgettext_lazy("starts", "export of applications"),
        gettext_lazy(
            "Writes everyone who has ever applied to a job to a file, as CSV or JSON lines."
        ),
        _FILE,
    ),
    CompanyType(
        "log.export",
        gettext_lazy("Export of the log"),
        pgettext_lazy("starts", "export of the log"),
        gettext_lazy("Writes a job’s log to a file, as CSV or JSON lines."),
        _FILE,
    ),
    CompanyType(
        "report.weekly",
        gettext_lazy("Weekly report"),
        pgettext_lazy("starts", "weekly report"),
        gettext_lazy("Counts what happened in a job from one Monday to the next."),
        _REPORT,
    ),
    CompanyType(
        "line.what_if",
        pgettext_lazy("task type", "What-if"),
        pgettext_lazy("starts", "what-if"),
        gettext_lazy(
            "Replays a job’s log under other rules and compares the result with what happened."
        ),
        _WHAT_IF,
    ),
    CompanyType(
        "demo.sleep",
        pgettext_lazy("task type", "Sleep"),
        pgettext_lazy("starts", "sleep"),
        gettext_lazy(
            "Sleeps, so that you can try things out. It can be made to fail in several ways."
            " Available only if the site has switched it on."
        ),
        _SLEEP,
    ),
)

# The types that a company may start, by key, in display order.
COMPANY_TYPES: dict[str, CompanyType] = {each.key: each for each in _ALL}


# Types that are only for trying out the engine, offered if the site switches them on (DEMO_TASKS).
DEMO_TYPES = {"demo.sleep"}


def catalogued_company_types() -> list[CompanyType]:
    """Return the types that a company may start and this process can check."""
    known = {kind.key for kind in registry.registered_types()}
    return [each for each in _ALL if each.key in known and not is_switched_off(each.key)]


def is_switched_off(key: str) -> bool:
    """Tell whether a type is a demo type on a site that has switched those off."""
    return key in DEMO_TYPES and not settings.DEMO_TASKS


def catalogued_types() -> list[KnownType]:
    """Return the types that a company may start, with their rows, in one query."""
    kinds = [registry.find_registered_type(about.key) for about in catalogued_company_types()]
    found = TaskType.objects.filter(key__in=COMPANY_TYPES)
    rows = {(row.key, row.version): row for row in found}
    return [
        KnownType(COMPANY_TYPES[kind.key], kind, rows.get((kind.key, kind.version)))
        for kind in kinds
    ]


def catalogued_type(key: str) -> KnownType | None:
    """Return one of `catalogued_types`, or None if a company may not start it."""
    return next((each for each in catalogued_types() if each.about.key == key), None)


# Each start of a task over HTTP asks for it.
_PAUSED = PreparedStatement(
    """
SELECT key FROM tasks_tasktype
WHERE paused OR id IN (SELECT type_id FROM tasks_taskpause WHERE owner_id = %(company_id)s)
"""
)


def paused_catalogued_types(company_id: UUID) -> set[str]:
    """Return the types that do not start for this company.

    A type may be paused by the company or stopped for everyone.
    """
    return {key for (key,) in _PAUSED.all(company_id=company_id)}


def paused_types_among(company_id: UUID, tasks: Iterable[Task]) -> set[str]:
    """Return the paused types of the tasks that are pending: none, without a query, if none is."""
    if any(task.status == Status.PENDING for task in tasks):
        return paused_catalogued_types(company_id)
    return set()


def stopped_catalogued_types(company_id: UUID | None = None) -> tuple[set[str], set[str]]:
    """Return the types that are paused for everyone, and those whose breaker is open.

    Both hold the types' keys. With a company, its own open breakers count too.
    """
    rows = TaskType.objects.filter(Q(paused=True) | Q(breaker=Breaker.OPEN))
    found = list(rows.values_list("key", "paused", "breaker"))
    stopped = {key for key, paused, _ in found if paused}
    broken = {key for key, _, breaker in found if breaker == Breaker.OPEN}
    return stopped, broken | {*(control.broken_types(company_id) if company_id else ())}
