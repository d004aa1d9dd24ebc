"""A company's background work: tasks, their events, and who acted on them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet, Value, Window
from django.db.models.functions import Lead
from django.utils.crypto import salted_hmac
from django.utils.translation import pgettext, pgettext_lazy

from jobs.models import ApiKey, JobPosting, User
from pipeline.maintenance.name_index import folded
from pipeline.models import StoredFile
from pipeline.selectors.pages import Page
from pipeline.wording.english import isolated
from tasks.control import find_task
from tasks.models import HELD, EventKind, Schedule, Status, Task, TaskEvent

# How many of a company's newest tasks are searched to count those that ended recently.
MOST_READ = 2_000
MOST_SEARCHED = 20_000
MOST_JOBS = 200  # by whose title tasks are found
MOST_CANCELLED = 5_000  # with one press
CANCELLABLE = [Status.PENDING, Status.RUNNING]


def owned_tasks(company_id: UUID, type_key: str | None) -> QuerySet[Task]:
    """Return a company's tasks with their types; with a key only those of the type."""
    found = Task.objects.select_related("type").filter(owner_id=company_id)
    return found.filter(type__key=type_key) if type_key else found


def read_task_page(
    company_id: UUID,
    *,
    status: str | None = None,
    type_key: str | None = None,
    search: str = "",
    after: UUID | None = None,
    limit: int,
) -> Page[Task]:
    """Return a company's tasks with their types, newest first. `after` continues after a task.

    `search` is explained at `_search`.
    """
    found = owned_tasks(company_id, type_key).order_by("-id")
    if status:
        found = found.filter(status=status)
    if search:
        found = _search(company_id, found, search)
    if after:
        found = found.filter(id__lt=after)
    return Page.cut(list(found[: limit + 1]), limit)


def find_cancellable(
    company_id: UUID, *, status: str | None, type_key: str | None, search: str, newest: UUID | None
) -> list[UUID]:
    """Return the ids of a company's waiting and running tasks that match, at most MOST_CANCELLED.

    `newest` is the id of the newest one; later ones are left out.
    """
    found = owned_tasks(company_id, type_key).filter(status__in=CANCELLABLE).order_by("-id")
    if status:
        found = found.filter(status=status)
    if search:
        found = _search(company_id, found, search)
    if newest:
        found = found.filter(id__lte=newest)
    return list(found.values_list("id", flat=True)[:MOST_CANCELLED])


def _search(company_id: UUID, tasks: QuerySet[Task], text: str) -> QuerySet[Task]:
    """Find the tasks with this id or idempotency key, label, or job, by its id or in its title.

    Only the company's newest MOST_SEARCHED tasks are searched.
    """
    jobs = JobPosting.objects.filter(job__company_id=company_id)
    wanted = Q(idempotency_key=text) | Q(payload__label__icontains=text)
    try:
        wanted |= Q(id=UUID(text))
        jobs = jobs.filter(job_id=UUID(text))
    except ValueError:
        jobs = jobs.alias(folded=folded(F("title"))).filter(folded__contains=folded(Value(text)))
        jobs = jobs.order_by("-job_id")
    ids = list(jobs.values_list("job_id", flat=True)[:MOST_JOBS])
    files = StoredFile.objects.filter(company_id=company_id, job_id__in=ids)
    named = {"job_id": ids, "import_id": files.values_list("id", flat=True) if ids else []}
    for name, found in named.items():
        wanted |= Q(**{f"payload__{name}__in": [str(each) for each in found]})
    everything = Task.objects.filter(owner_id=company_id).order_by("-id").values_list("id")
    if last := everything[MOST_SEARCHED : MOST_SEARCHED + 1].first():
        tasks = tasks.filter(id__gt=last[0])
    return tasks.filter(wanted)


def read_task(company_id: UUID, task_id: UUID) -> Task:
    """Return a task of a company with its type, in one query. Raises TaskNotFound."""
    return find_task(task_id, owner_id=company_id)


def find_tasks(company_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Task]:
    """Return some tasks of a company with their types, by id, in one query."""
    return owned_tasks(company_id, None).in_bulk(list(ids))


def read_running_tasks(company_id: UUID, *, limit: int) -> list[Task]:
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


# Actors of a company's tasks: keys, members, schedules, workers and the site.


# Translators: these, and the names of keys and schedules below, stand after "by".
_WORDS = {
    "worker": pgettext_lazy("by", "a worker"),
    "system": pgettext_lazy("by", "the site"),
}
_DELETED = {
    "key": pgettext_lazy("by", "a key that was deleted"),
    "member": pgettext_lazy("by", "a member that was deleted"),
    "schedule": pgettext_lazy("by", "a schedule that was deleted"),
}
# Actors of the site itself: its code, its back office, its command line.
_SITES_OWN = ("", "site", "staff", "operator")


def actor_parts(actor: str) -> tuple[str, UUID | None]:
    """Return the kind of an actor of tasks (key, member, schedule, worker or system).

    The second part is the actor's id.
    """
    kind, _, text = actor.partition(":")
    if kind in ("key", "member", "schedule"):
        try:
            return kind, UUID(text)
        except ValueError:
            return kind, None
    return ("system" if kind in _SITES_OWN else "worker"), None


def worker_mark(actor: str) -> str | None:
    """Return a mark of the worker that is an actor of tasks, or None if it is not a worker.

    The same worker has the same mark; its name, which is of our machines, cannot be read from it.
    """
    if actor_parts(actor)[0] != "worker":
        return None
    return salted_hmac("tasks.worker", actor).hexdigest()[:8]


def actor_names(actors: Iterable[str]) -> dict[str, str]:
    """Return the names of keys, members and schedules that are actors of tasks, in three queries.

    A worker is called just that, and operators are called the site: companies do not see the names
    of our machines and staff.
    """
    parts = {actor: actor_parts(actor) for actor in actors}

    def task_actor_ids(kind: str) -> list[UUID]:
        return [thing for of, thing in parts.values() if of == kind and thing is not None]

    names = {
        "key": _read_names(ApiKey, pgettext("by", "the key “%(name)s”"), task_actor_ids("key")),
        "member": _read_member_names(task_actor_ids("member")),
        "schedule": _read_names(
            Schedule, pgettext("by", "the schedule “%(name)s”"), task_actor_ids("schedule")
        ),
    }
    return {
        actor: str(_WORDS[kind] if kind in _WORDS else names[kind].get(thing, _DELETED[kind]))
        for actor, (kind, thing) in parts.items()
    }


def _read_member_names(ids: list[UUID]) -> dict[UUID | None, str]:
    return {each.id: each.shown_name for each in User.objects.filter(id__in=ids)} if ids else {}


def _read_names(
    model: type[ApiKey] | type[Schedule], words: str, ids: list[UUID]
) -> dict[UUID | None, str]:
    if not ids:
        return {}
    rows = model._default_manager.filter(pk__in=ids).values_list("pk", "name")
    return {row_id: words % {"name": isolated(name)} for row_id, name in rows}


# Reads of a task's events, for programs and for people.


def read_events(task_id: UUID, *, after: int | None = None, limit: int) -> Page[TaskEvent]:
    """Return a task's events, oldest first. `after` continues after an event's id."""
    found = TaskEvent.objects.filter(task_id=task_id).order_by("id")
    if after:
        found = found.filter(id__gt=after)
    return Page.cut(list(found[: limit + 1]), limit)


def last_event_id(task_id: UUID) -> int:
    """Return the id of a task's last event; it changes with every event."""
    last = TaskEvent.objects.filter(task_id=task_id).order_by("-id").values_list("id")[:1]
    return next((row[0] for row in last), 0)


def read_shown_events(task_id: UUID, *, after: int | None = None, limit: int) -> Page[TaskEvent]:
    """Return a task's events for people, oldest first.

    Of consecutive progress events, only the last is returned, since long tasks report progress
    twice a second. `after` continues after an event's id. Reads all events of the task.
    """
    following = Window(Lead("kind", default=Value("")), order_by="id")
    happened = TaskEvent.objects.filter(task_id=task_id).annotate(next_kind=following)
    progress = EventKind.PROGRESS
    found = happened.exclude(kind=progress, next_kind=progress).order_by("id")
    if after:
        found = found.filter(id__gt=after)
    return Page.cut(list(found[: limit + 1]), limit)
