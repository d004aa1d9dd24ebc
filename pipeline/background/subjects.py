"""Subjects of a company's tasks: the job or the import that a payload names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from jobs.models import JobPosting
from pipeline.models import ImportRun
from tasks.models import Task

# How many jobs are offered as choices.
MOST_JOBS = 200


class Import(NamedTuple):
    """An import: its job, and its number of rows once known."""

    job_id: UUID
    rows: int | None


@dataclass(frozen=True, slots=True)
class Subjects:
    """Subjects of tasks: titles of jobs and facts of imports, by the ids in payloads."""

    jobs: dict[str, str]
    imports: dict[str, Import]


def subjects_of(company_id: UUID, tasks: Iterable[Task]) -> Subjects:
    """Return the subjects of a company's tasks, in at most two queries."""
    return subjects_of_payloads(company_id, [task.payload for task in tasks])


def subjects_of_payloads(company_id: UUID, given: Iterable[object]) -> Subjects:
    """Return the subjects of payloads, in at most two queries."""
    payloads = [payload for payload in given if isinstance(payload, dict)]
    imports = {}
    if ids := _subject_ids(payloads, "import_id"):
        runs = ImportRun.objects.filter(file_id__in=ids, file__company_id=company_id)
        for file_id, job_id, rows in runs.values_list("file_id", "file__job_id", "total_rows"):
            imports[str(file_id)] = Import(job_id, rows or None)  # 0: not read yet
    wanted = _subject_ids(payloads, "job_id") | {found.job_id for found in imports.values()}
    titles = JobPosting.objects.filter(job_id__in=wanted, job__company_id=company_id)
    found = titles.values_list("job_id", "title") if wanted else []
    return Subjects({str(job_id): title for job_id, title in found}, imports)


def _subject_ids(payloads: list[dict[str, object]], name: str) -> set[UUID]:
    found = set()
    for payload in payloads:
        try:
            found.add(UUID(str(payload[name])))
        except (KeyError, ValueError):
            continue
    return found


def job_subject_choices(company_id: UUID, *, and_this: str = "") -> list[tuple[str, str]]:
    """Return ids and titles of a company's newest jobs as choices, always including `and_this`."""
    theirs = JobPosting.objects.filter(job__company_id=company_id)
    found = theirs.order_by("-job_id").values_list("job_id", "title")
    choices = [(str(job_id), title) for job_id, title in found[:MOST_JOBS]]
    if and_this and and_this not in dict(choices):
        choices += [(str(job_id), title) for job_id, title in found.filter(job_id=and_this)]
    return choices
