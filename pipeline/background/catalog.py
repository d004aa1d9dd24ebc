"""Types of background work that a company may start, with their texts."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from tasks import control, registry
from tasks.models import TaskType
from tasks.models.statuses import Breaker
from tasks.registry import TaskSpec


@dataclass(frozen=True, slots=True)
class CompanyType:
    """A type of background work that a company may start."""

    key: str
    title: str
    about: str


@dataclass(frozen=True, slots=True)
class KnownType:
    """A type as people see it: its newest version's rules, and its current state."""

    about: CompanyType
    kind: TaskSpec
    row: TaskType | None  # None until the type is used or a worker has started


_ALL = (
    CompanyType(
        "applications.import",
        "Import of applications",
        "Imports the people in a CSV file, row by row, and keeps the refused rows.",
    ),
    CompanyType(
        "applications.export",
        "Export of applications",
        "Writes everybody who has ever applied to a job to a file, as CSV or JSON lines.",
    ),
    CompanyType(
        "log.export",
        "Export of the log",
        "Writes a job's log to a file, as CSV or JSON lines.",
    ),
    CompanyType(
        "report.weekly",
        "Weekly report",
        "Counts what happened in a job from one Monday to the next.",
    ),
    CompanyType(
        "demo.sleep",
        "Sleep",
        "Only waits, to try things out. It can be made to fail in several ways. Available "
        "only if the site has switched it on.",
    ),
)

# The types that a company may start, by key, in display order.
COMPANY_TYPES: dict[str, CompanyType] = {each.key: each for each in _ALL}


# Types that only try the engine out, offered if the site switches them on (DEMO_TASKS).
DEMO_TYPES = {"demo.sleep"}


def catalogued_company_types() -> list[CompanyType]:
    """Return the types that a company may start and this process can check."""
    known = {kind.key for kind in registry.registered_types()}
    return [each for each in _ALL if each.key in known and not is_switched_off_in_catalog(each.key)]


def is_switched_off_in_catalog(key: str) -> bool:
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


def paused_catalogued_types(company_id: UUID) -> set[str]:
    """Return the types that do not start for this company.

    A type may be paused by the company or stopped for everyone.
    """
    return {*control.types_paused_by_owner(company_id), *stopped_catalogued_types()[0]}


def stopped_catalogued_types(company_id: UUID | None = None) -> tuple[set[str], set[str]]:
    """Return the types that are paused for everybody, and those whose breaker is open.

    Both hold the types' keys. With a company, its own open breakers count too.
    """
    rows = TaskType.objects.filter(Q(paused=True) | Q(breaker=Breaker.OPEN))
    found = list(rows.values_list("key", "paused", "breaker"))
    stopped = {key for key, paused, _ in found if paused}
    broken = {key for key, _, breaker in found if breaker == Breaker.OPEN}
    return stopped, broken | {*(control.types_broken_for_owner(company_id) if company_id else ())}
