"""Data of the pages about a company's background work, beyond the tasks themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Q, Value, Window
from django.db.models.functions import Lead

from jobs.models import JobPosting
from pipeline.models import ImportRun
from pipeline.selectors.paging import Page
from tasks import control
from tasks.models import EventKind, Task, TaskEvent, TaskType
from tasks.models.statuses import HELD, Breaker

# How many of a company's newest tasks are looked at to count those that ended lately.
MOST_READ = 2_000
# Dead letters of a type are counted up to this number, and one more.
MOST_COUNTED = 1_000

# How many jobs are offered to choose from.
MOST_JOBS = 200


class Import(NamedTuple):
    """An import: of which job, and of how many rows, when that is known."""

    job_id: UUID
    rows: int | None


@dataclass(frozen=True, slots=True)
class Subjects:
    """Subjects of tasks: titles of jobs and facts of imports, by the ids in payloads."""

    jobs: dict[str, str]
    imports: dict[str, Import]


def subjects_of(company_id: UUID, tasks: Iterable[Task]) -> Subjects:
    """Return the subjects of a company's tasks; two queries at most."""
    return subjects_of_payloads(company_id, [task.payload for task in tasks])


def subjects_of_payloads(company_id: UUID, given: Iterable[object]) -> Subjects:
    """Return the subjects of payloads; two queries at most."""
    payloads = [payload for payload in given if isinstance(payload, dict)]
    imports = {}
    if ids := _ids(payloads, "import_id"):
        runs = ImportRun.objects.filter(file_id__in=ids, file__company_id=company_id)
        for file_id, job_id, rows in runs.values_list("file_id", "file__job_id", "total_rows"):
            imports[str(file_id)] = Import(job_id, rows or None)  # 0: not read yet
    wanted = _ids(payloads, "job_id") | {found.job_id for found in imports.values()}
    titles = JobPosting.objects.filter(job_id__in=wanted, job__company_id=company_id)
    found = titles.values_list("job_id", "title") if wanted else []
    return Subjects({str(job_id): title for job_id, title in found}, imports)


def _ids(payloads: list[dict[str, object]], name: str) -> set[UUID]:
    found = set()
    for payload in payloads:
        try:
            found.add(UUID(str(payload[name])))
        except (KeyError, ValueError):
            continue
    return found


def job_choices(company_id: UUID, *, and_this: str = "") -> list[tuple[str, str]]:
    """Return ids and titles of a company's newest jobs as choices, always including `and_this`."""
    theirs = JobPosting.objects.filter(job__company_id=company_id)
    found = theirs.order_by("-job_id").values_list("job_id", "title")
    choices = [(str(job_id), title) for job_id, title in found[:MOST_JOBS]]
    if and_this and and_this not in dict(choices):
        choices += [(str(job_id), title) for job_id, title in found.filter(job_id=and_this)]
    return choices


def running_tasks(company_id: UUID, *, limit: int) -> list[Task]:
    """Return the company's tasks that workers have now, the one that began last first."""
    held = Task.objects.select_related("type").filter(owner_id=company_id, status__in=HELD)
    return list(held.order_by("-started_at", "-id")[:limit])


class RecentlyDone(NamedTuple):
    """Number of a company's tasks done within the hour; `more` if there may be more."""

    done: int
    more: bool
    now: datetime


_RECENTLY_DONE = """
WITH clock AS MATERIALIZED (SELECT statement_timestamp() AS now)
SELECT count(*) FILTER (WHERE t.status = 'SUCCEEDED' AND t.finished_at > now - interval '1 hour'),
       count(t.*) = %(most)s AND min(t.created_at) > min(now) - interval '1 hour', min(clock.now)
FROM clock LEFT JOIN LATERAL (
    SELECT status, finished_at, created_at FROM tasks_task
    WHERE owner_id = %(owner)s ORDER BY id DESC LIMIT %(most)s) t ON true
"""


def recently_done(company_id: UUID) -> RecentlyDone:
    """Count the done tasks among the company's newest; also read the database's time."""
    with connection.cursor() as cursor:
        cursor.execute(_RECENTLY_DONE, {"owner": company_id, "most": MOST_READ})
        done, more, now = cursor.fetchone()
    return RecentlyDone(done, bool(more), now)


class DeadOfType(NamedTuple):
    """A company's dead letters of a type: how many (up to MOST_COUNTED + 1), and the newest."""

    key: str
    is_sensitive: bool
    number: int
    newest_error: dict[str, str] | None
    newest_at: datetime


_DEAD = """
SELECT k.key, bool_or(k.sensitive), sum(d.count)::int,
       (array_agg(d.error ORDER BY d.at DESC))[1], max(d.at)
FROM tasks_tasktype k CROSS JOIN LATERAL (
    SELECT count(*) AS count, max(finished_at) AS at,
           (array_agg(errors -> -1 ORDER BY finished_at DESC))[1] AS error
    FROM (SELECT finished_at, errors FROM tasks_task
          WHERE status = 'DEAD' AND type_id = k.id AND owner_id = %(owner)s
          ORDER BY id DESC LIMIT %(most)s) newest) d
WHERE d.count > 0 GROUP BY k.key ORDER BY max(d.at) DESC
"""


def dead_by_type(company_id: UUID) -> list[DeadOfType]:
    """Return the company's dead letters, type by type; that with the newest first."""
    with connection.cursor() as cursor:
        cursor.execute(_DEAD, {"owner": company_id, "most": MOST_COUNTED + 1})
        rows = cursor.fetchall()
    return [
        DeadOfType(key, sensitive, number, json.loads(error) if error else None, at)
        for key, sensitive, number, error, at in rows
    ]


def last_event_id(task_id: UUID) -> int:
    """Return the id of a task's last event; it changes with every event."""
    last = TaskEvent.objects.filter(task_id=task_id).order_by("-id").values_list("id")[:1]
    return next((row[0] for row in last), 0)


def paused_for(company_id: UUID) -> set[str]:
    """Return the types that do not start for this company: paused by it.

    A type may be paused by the company or stopped for everyone.
    """
    return {*control.types_paused_by_owner(company_id), *stopped_types()[0]}


def stopped_types(company_id: UUID | None = None) -> tuple[set[str], set[str]]:
    """Return the types that are paused for everybody, and those whose breaker is open.

    Both hold the types' keys. With a company, its own open breakers count too.
    """
    rows = TaskType.objects.filter(Q(paused=True) | Q(breaker=Breaker.OPEN))
    found = list(rows.values_list("key", "paused", "breaker"))
    stopped = {key for key, paused, _ in found if paused}
    broken = {key for key, _, breaker in found if breaker == Breaker.OPEN}
    return stopped, broken | {*(control.types_broken_for_owner(company_id) if company_id else ())}


def events_for_people(task_id: UUID, *, after: int | None = None, limit: int) -> Page[TaskEvent]:
    """Return a task's events for people, oldest first.

    Of progress that follows on progress only the last is told: work that takes long tells of it
    twice a second. `after` continues behind an event's id. Reads all events of the task.
    """
    following = Window(Lead("kind", default=Value("")), order_by="id")
    happened = TaskEvent.objects.filter(task_id=task_id).annotate(next_kind=following)
    progress = EventKind.PROGRESS
    found = happened.exclude(kind=progress, next_kind=progress).order_by("id")
    if after:
        found = found.filter(id__gt=after)
    return Page.cut(list(found[: limit + 1]), limit)
