"""Reads of a company's background work: its tasks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from jobs.models import JobPosting
from pipeline.models import StoredFile
from pipeline.selectors.page import Page
from tasks.control import find_task
from tasks.models import Task
from tasks.models.statuses import HELD, Status

# How many of a company's newest tasks are searched to count those that ended recently.
MOST_READ = 2_000
MOST_SEARCHED = 20_000
MOST_JOBS = 200  # by whose title tasks are found
MOST_CANCELLED = 5_000  # with one press
CANCELLABLE = [Status.PENDING, Status.RUNNING]

_WAITING = """
SELECT count(*) FROM (
    SELECT FROM tasks_task WHERE owner_id = %s AND status = 'PENDING' LIMIT %s
) waiting
"""


def owned_tasks(company_id: UUID, type_key: str | None) -> QuerySet[Task]:
    """Return a company's tasks with their types; with a key only those of the type."""
    found = Task.objects.select_related("type").filter(owner_id=company_id)
    return found.filter(type__key=type_key) if type_key else found


def tasks_of(
    company_id: UUID,
    *,
    status: str | None = None,
    type_key: str | None = None,
    search: str = "",
    after: UUID | None = None,
    limit: int,
) -> Page[Task]:
    """Return a company's tasks with their types, newest first. `after` continues after a task.

    `search` is explained at `_search_in_tasks`.
    """
    found = owned_tasks(company_id, type_key).order_by("-id")
    if status:
        found = found.filter(status=status)
    if search:
        found = _search_in_tasks(company_id, found, search)
    if after:
        found = found.filter(id__lt=after)
    return Page.cut(list(found[: limit + 1]), limit)


def tasks_to_cancel(
    company_id: UUID, *, status: str | None, type_key: str | None, search: str, newest: UUID | None
) -> list[UUID]:
    """Return the ids of a company's waiting and running tasks that match, at most MOST_CANCELLED.

    `newest` is the id of the newest one; later ones are left out.
    """
    found = owned_tasks(company_id, type_key).filter(status__in=CANCELLABLE).order_by("-id")
    if status:
        found = found.filter(status=status)
    if search:
        found = _search_in_tasks(company_id, found, search)
    if newest:
        found = found.filter(id__lte=newest)
    return list(found.values_list("id", flat=True)[:MOST_CANCELLED])


def _search_in_tasks(company_id: UUID, tasks: QuerySet[Task], text: str) -> QuerySet[Task]:
    """Find the tasks with this id or idempotency key, label, or job, by its id or in its title.

    Only the company's newest MOST_SEARCHED tasks are searched.
    """
    jobs = JobPosting.objects.filter(job__company_id=company_id)
    wanted = Q(idempotency_key=text) | Q(payload__label__icontains=text)
    try:
        wanted |= Q(id=UUID(text))
        jobs = jobs.filter(job_id=UUID(text))
    except ValueError:
        jobs = jobs.filter(title__icontains=text).order_by("-job_id")
    ids = list(jobs.values_list("job_id", flat=True)[:MOST_JOBS])
    files = StoredFile.objects.filter(company_id=company_id, job_id__in=ids)
    named = {"job_id": ids, "import_id": files.values_list("id", flat=True) if ids else []}
    for name, found in named.items():
        wanted |= Q(**{f"payload__{name}__in": [str(each) for each in found]})
    everything = Task.objects.filter(owner_id=company_id).order_by("-id").values_list("id")
    if last := everything[MOST_SEARCHED : MOST_SEARCHED + 1].first():
        tasks = tasks.filter(id__gt=last[0])
    return tasks.filter(wanted)


def task_of(company_id: UUID, task_id: UUID) -> Task:
    """Return a task of a company with its type, in one query. Raises TaskNotFound."""
    return find_task(task_id, owner_id=company_id)


def tasks_by_id(company_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Task]:
    """Return some tasks of a company with their types, by id, in one query."""
    return owned_tasks(company_id, None).in_bulk(list(ids))


def count_waiting_tasks(company_id: UUID, *, most: int) -> int:
    """Count a company's waiting tasks, up to `most`."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [company_id, most])
        return int(cursor.fetchone()[0])


def running_tasks(company_id: UUID, *, limit: int) -> list[Task]:
    """Return the company's running tasks, most recently started first."""
    held = Task.objects.select_related("type").filter(owner_id=company_id, status__in=HELD)
    return list(held.order_by("-started_at", "-id")[:limit])


class RecentlyDone(NamedTuple):
    """Number of a company's tasks done within the last hour.

    `more` means that there may be more.
    """

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


def count_recently_done_tasks(company_id: UUID) -> RecentlyDone:
    """Count the done tasks among the company's newest, and read the database's time."""
    with connection.cursor() as cursor:
        cursor.execute(_RECENTLY_DONE, {"owner": company_id, "most": MOST_READ})
        done, more, now = cursor.fetchone()
    return RecentlyDone(done, bool(more), now)
