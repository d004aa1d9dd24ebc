"""Reads of a company's background work: tasks, their events and their actors."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from jobs.models import ApiKey, User
from pipeline.domain.errors import ScheduleNotFound
from pipeline.models import Producer
from pipeline.selectors.paging import Page
from tasks.control import find_task
from tasks.models import Schedule, Task, TaskEvent
from tasks.models.statuses import Status

_WAITING = """
SELECT count(*) FROM (
    SELECT FROM tasks_task WHERE owner_id = %s AND status = 'PENDING' LIMIT %s
) waiting
"""
_WORDS = {"worker": "a worker", "system": "the site"}
# Actors of the site itself: its code, its back office, its command line.
_SITES_OWN = ("", "site", "staff", "operator")


def tasks_of(
    company_id: UUID,
    *,
    status: str | None = None,
    type_key: str | None = None,
    after: UUID | None = None,
    limit: int,
) -> Page[Task]:
    """Return a company's tasks with their types, newest first; `after` continues behind a task."""
    found = _owned(company_id, type_key).order_by("-id")
    if status:
        found = found.filter(status=status)
    if after:
        found = found.filter(id__lt=after)
    return Page.cut(list(found[: limit + 1]), limit)


def dead_of(
    company_id: UUID, *, type_key: str | None = None, after: UUID | None = None, limit: int
) -> Page[Task]:
    """Return a company's dead letters with their types, the oldest first."""
    found = _owned(company_id, type_key).filter(status=Status.DEAD).order_by("id")
    if after:
        found = found.filter(id__gt=after)
    return Page.cut(list(found[: limit + 1]), limit)


def task_of(company_id: UUID, task_id: UUID) -> Task:
    """Return a task of a company with its type, in one query. Raises TaskNotFound."""
    return find_task(task_id, owner_id=company_id)


def tasks_by_id(company_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Task]:
    """Return some tasks of a company with their types, by id, in one query."""
    return _owned(company_id, None).in_bulk(list(ids))


def events_of(task_id: UUID, *, after: int | None = None, limit: int) -> Page[TaskEvent]:
    """Return a task's events, oldest first; `after` continues after an event's id."""
    found = TaskEvent.objects.filter(task_id=task_id).order_by("id")
    if after:
        found = found.filter(id__gt=after)
    return Page.cut(list(found[: limit + 1]), limit)


def waiting_of(company_id: UUID, *, most: int) -> int:
    """Count a company's waiting tasks, up to `most`."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [company_id, most])
        return int(cursor.fetchone()[0])


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


def actors_named(actors: Iterable[str]) -> dict[str, str]:
    """Return each actor of tasks as text: key, member or schedule; in three queries.

    A worker is called just that, and our own people are the site: the names of our machines and
    theirs are nobody's business.
    """
    parts = {actor: actor_parts(actor) for actor in actors}

    def ids(kind: str) -> list[UUID]:
        return [thing for of, thing in parts.values() if of == kind and thing is not None]

    names = {
        "key": _named(ApiKey, "name", "the key “{}”", ids("key")),
        "member": _named(User, "email", "{}", ids("member")),
        "schedule": _named(Schedule, "name", "the schedule “{}”", ids("schedule")),
    }
    return {
        actor: _WORDS.get(kind) or names[kind].get(thing, f"a {kind} that is gone")
        for actor, (kind, thing) in parts.items()
    }


def limits_of(key_ids: Iterable[UUID]) -> dict[UUID, Producer]:
    """Return the limits of some keys' background work, where set; in one query."""
    return Producer.objects.in_bulk(list(key_ids))


def _named(
    model: type[ApiKey] | type[User] | type[Schedule], column: str, words: str, ids: list[UUID]
) -> dict[UUID | None, str]:
    if not ids:
        return {}
    rows = model._default_manager.filter(pk__in=ids).values_list("pk", column)
    return {row_id: words.format(name) for row_id, name in rows}


def schedules_of(company_id: UUID, *, after: UUID | None = None, limit: int) -> Page[Schedule]:
    """Return a company's schedules, newest first."""
    found = Schedule.objects.filter(owner_id=company_id).order_by("-id")
    if after:
        found = found.filter(id__lt=after)
    return Page.cut(list(found[: limit + 1]), limit)


def schedule_of(company_id: UUID, schedule_id: UUID) -> Schedule:
    """Return a schedule of a company. Raises ScheduleNotFound."""
    found = Schedule.objects.filter(owner_id=company_id, id=schedule_id).first()
    if found is None:
        raise ScheduleNotFound
    return found


def _owned(company_id: UUID, type_key: str | None) -> QuerySet[Task]:
    found = Task.objects.select_related("type").filter(owner_id=company_id)
    return found.filter(type__key=type_key) if type_key else found
