"""Actors of a company's tasks: keys, members, schedules, workers and the site."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.utils.crypto import salted_hmac

from jobs.models import ApiKey, User
from tasks.models import Schedule

_WORDS = {"worker": "a worker", "system": "the site"}
# Actors of the site itself: its code, its back office, its command line.
_SITES_OWN = ("", "site", "staff", "operator")


def task_actor_parts(actor: str) -> tuple[str, UUID | None]:
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
    if task_actor_parts(actor)[0] != "worker":
        return None
    return salted_hmac("tasks.worker", actor).hexdigest()[:8]


def names_of_task_actors(actors: Iterable[str]) -> dict[str, str]:
    """Return the names of keys, members and schedules that are actors of tasks, in three queries.

    A worker is called just that, and operators are called the site: companies do not see the names
    of our machines and staff.
    """
    parts = {actor: task_actor_parts(actor) for actor in actors}

    def task_actor_ids(kind: str) -> list[UUID]:
        return [thing for of, thing in parts.values() if of == kind and thing is not None]

    names = {
        "key": _names_of_task_actors(ApiKey, "name", "the key “{}”", task_actor_ids("key")),
        "member": _names_of_task_actors(User, "email", "{}", task_actor_ids("member")),
        "schedule": _names_of_task_actors(
            Schedule, "name", "the schedule “{}”", task_actor_ids("schedule")
        ),
    }
    return {
        actor: _WORDS.get(kind) or names[kind].get(thing, f"a {kind} that was deleted")
        for actor, (kind, thing) in parts.items()
    }


def _names_of_task_actors(
    model: type[ApiKey] | type[User] | type[Schedule], column: str, words: str, ids: list[UUID]
) -> dict[UUID | None, str]:
    if not ids:
        return {}
    rows = model._default_manager.filter(pk__in=ids).values_list("pk", column)
    return {row_id: words.format(name) for row_id, name in rows}
