"""A company's schedules: work that starts repeatedly."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any
from uuid import UUID

from django.db import transaction

from jobs.models import Company
from pipeline.domain.errors import ScheduleNotFound
from pipeline.selectors.pages import Page
from pipeline.work.start import (
    TaskRequest,
    TooManySchedules,
    check_type,
    ids_not_owned,
    read_limits,
    start_tasks,
)
from tasks.enqueue import Enqueued
from tasks.models import Schedule, Task
from tasks.scheduling import schedules

# The most schedules that a company can have.
MOST_SCHEDULES = 100


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a schedule: the work, and its times as five cron fields in a time zone."""

    name: str
    cron: str
    type_key: str
    zone: str = "UTC"
    type_version: int | None = None
    payload: dict[str, Any] = field(default_factory=dict)
    priority: int = 0
    enabled: bool = True
    catch_up: bool = False


FIELDS = tuple(each.name for each in fields(Plan))
_WHEN = ("cron", "zone", "enabled")


@transaction.atomic
def create(
    *,
    company_id: UUID,
    plan: Plan,
    key_id: UUID | None = None,
    schedule_id: UUID | None = None,
    actor: str = "",
) -> Schedule:
    """Create a company's schedule in the name of `actor`. It first runs at its next time.

    With a `schedule_id`, repeating the call is harmless. Raises TooManySchedules, BadSchedule, and
    the errors of `pipeline.work.start.start_tasks` about type and payload.
    """
    Company.objects.select_for_update(no_key=True).get(id=company_id)
    theirs = Schedule.objects.filter(owner_id=company_id)
    if schedule_id and (made := theirs.filter(id=schedule_id).first()):
        return made
    if theirs.count() >= MOST_SCHEDULES:
        raise TooManySchedules(MOST_SCHEDULES)
    schedule = Schedule(owner_id=company_id, **{name: getattr(plan, name) for name in FIELDS})
    if schedule_id:
        schedule.id = schedule_id
    _check(company_id, schedule, key_id)
    return schedules.save(schedule, actor=actor)


@transaction.atomic
def change(
    *,
    company_id: UUID,
    schedule_id: UUID,
    changes: dict[str, Any],
    key_id: UUID | None = None,
    actor: str = "",
) -> Schedule:
    """Change some fields of a plan, all or nothing.

    Its next time stays unless the times change. Raises ScheduleNotFound, and the errors of
    `schedules.create`.
    """
    schedule = _lock(company_id, schedule_id)
    next_at, had_problem = schedule.next_at, bool(schedule.problem)
    for name in FIELDS:
        if name in changes:
            setattr(schedule, name, changes[name])
    _check(company_id, schedule, key_id)
    schedules.save(schedule, actor=actor)
    if not had_problem and not any(name in changes for name in _WHEN):
        schedule.next_at = next_at
        schedule.save(update_fields=["next_at"])
    return schedule


@transaction.atomic
def delete(*, company_id: UUID, schedule_id: UUID, actor: str = "") -> None:
    """Delete a schedule. Tasks that it has started remain. Raises ScheduleNotFound."""
    schedules.delete(_lock(company_id, schedule_id), actor=actor)


def _lock(company_id: UUID, schedule_id: UUID) -> Schedule:
    """Lock a schedule, so that the scheduler cannot advance it. Raises ScheduleNotFound."""
    theirs = Schedule.objects.filter(owner_id=company_id, id=schedule_id)
    found = theirs.select_for_update().first()
    if found is None:
        raise ScheduleNotFound
    return found


def _check(company_id: UUID, schedule: Schedule, key_id: UUID | None) -> None:
    """Refuse a type or payload that the company or key may not start.

    The engine checks the rest.
    """
    check_type(schedule.type_key, read_limits(key_id))
    foreign = ids_not_owned(company_id, [(schedule.type_key, schedule.payload)])
    if foreign:
        raise foreign[0]


def read_page(company_id: UUID, *, after: UUID | None = None, limit: int) -> Page[Schedule]:
    """Return a company's schedules, newest first."""
    found = Schedule.objects.filter(owner_id=company_id).order_by("-id")
    if after:
        found = found.filter(id__lt=after)
    return Page.cut(list(found[: limit + 1]), limit)


def read(company_id: UUID, schedule_id: UUID) -> Schedule:
    """Return a schedule of a company. Raises ScheduleNotFound."""
    found = Schedule.objects.filter(owner_id=company_id, id=schedule_id).first()
    if found is None:
        raise ScheduleNotFound
    return found


def run_now(*, company_id: UUID, schedule_id: UUID, once: UUID, producer: str) -> Enqueued:
    """Start a schedule's task now; its next time stays.

    Repeating it with the same `once` starts nothing more. Raises ScheduleNotFound, and the errors
    of `pipeline.work.start.start_tasks`.
    """
    schedule = read(company_id, schedule_id)
    request = TaskRequest(
        schedule.type_key,
        schedule.payload,
        version=schedule.type_version,
        priority=schedule.priority,
        idempotency_key=f"schedule:{schedule.id}:now:{once}",
    )
    (started,) = start_tasks(company_id=company_id, producer=producer, requests=[request])
    return started


def read_tasks(schedule: Schedule, *, limit: int) -> list[Task]:
    """Return the last tasks that a schedule has started, by itself or by hand, newest first."""
    started = Task.objects.filter(
        owner_id=schedule.owner_id,
        type__key=schedule.type_key,
        idempotency_key__startswith=f"schedule:{schedule.id}:",
    )
    return list(started.select_related("type").order_by("-id")[:limit])
