"""Schedules: cron expressions in a time zone, run by whichever worker is the leader.

The leader holds an advisory lock for one transaction. In it, the leader reads the database's clock,
enqueues due tasks and advances each schedule: all or nothing. An idempotency key for each time
rules out a second task for it in any case.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from tasks import registry
from tasks.advisory_locks import ENSURE_SCHEDULE, SCHEDULE_LEADER
from tasks.enqueue import enqueue
from tasks.errors import TaskError, UnknownType
from tasks.models import Schedule, Status, Task, TaskAct, note_action
from tasks.payloads import check_payload
from tasks.scheduling.cron import CronTimes

log = logging.getLogger(__name__)

What = TaskAct.What
SITE = "site"

LONGEST_REST_SECONDS = 5.0
# Most schedules, and about how many tasks, in one transaction: meanwhile the worker does nothing
# else and its leases run down.
MOST_AT_ONCE, MOST_TASKS = 100, 200
# Missed times of one schedule made up in one transaction; the next run continues.
MOST_MADE_UP = 20
# Schedules add no tasks for an owner with this many waiting, unless the setting
# TASK_BACKLOG_PER_COMPANY says otherwise.
MOST_WAITING = 10_000
# How long a schedule of a type unknown to this process is left to another release.
PATIENCE = timedelta(hours=1)


def create(
    *, name: str, cron: str, type_key: str, zone: str = "UTC", actor: str = "", **columns: Any
) -> Schedule:
    """Create a schedule, which first runs at its next time.

    `columns` are payload, priority, type_version, enabled, catch_up and owner_id. Raises
    BadSchedule, UnknownType, InvalidPayload and PayloadTooLarge.
    """
    schedule = Schedule(name=name, cron=cron, type_key=type_key, zone=zone, **columns)
    return save(schedule, actor=actor)


def ensure(
    name: str,
    cron: str,
    type_key: str,
    payload: dict[str, Any] | None = None,
    zone: str = "UTC",
    priority: int = 0,
) -> Schedule:
    """Create one of the product's own schedules, without an owner, unless the name exists.

    Safe to call at every start, in any number of processes. An existing schedule keeps the changes
    that people made. Raises the errors of `create`.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ENSURE_SCHEDULE])
        found = Schedule.objects.filter(name=name, owner_id=None).first()
        return found or create(
            name=name,
            cron=cron,
            type_key=type_key,
            zone=zone,
            payload=payload or {},
            priority=priority,
            actor=SITE,
        )


def next_times(cron: str, zone: str = "UTC", count: int = 5) -> list[datetime]:
    """Return the next times of a cron expression in a zone, in UTC. Raises BadSchedule."""
    times, at, found = CronTimes(cron, zone), _database_now(), []
    for _ in range(count):
        at = times.after(at)
        found.append(at)
    return found


def save(schedule: Schedule, *, actor: str = "") -> Schedule:
    """Check and save a new or changed schedule; its next time is computed from now."""
    check_payload(
        registry.find_registered_type(schedule.type_key, schedule.type_version), schedule.payload
    )
    schedule.next_at = CronTimes(schedule.cron, schedule.zone).after(_database_now())
    schedule.problem = ""
    with transaction.atomic():
        _note_act(
            What.SCHEDULE_CREATED if schedule._state.adding else What.SCHEDULE_CHANGED,
            schedule,
            actor,
        )
        schedule.save()
    return schedule


@transaction.atomic
def delete(schedule: Schedule, *, actor: str = "") -> None:
    """Delete a schedule. Tasks that it enqueued remain."""
    _note_act(What.SCHEDULE_DELETED, schedule, actor)
    schedule.delete()


def enqueue_due() -> float:
    """Enqueue due schedules unless another worker leads; return the seconds until the next look."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [SCHEDULE_LEADER])
            [leads] = cursor.fetchone()
        if not leads:
            return LONGEST_REST_SECONDS / 2
        run = _ScheduleRun(_database_now())
        due = Schedule.objects.filter(enabled=True, next_at__lte=run.now).order_by("next_at")
        for schedule in due.select_for_update(skip_locked=True)[:MOST_AT_ONCE]:
            run.enqueue_due(schedule)
            if run.enqueued >= MOST_TASKS:
                break
        others = Schedule.objects.filter(enabled=True).exclude(id__in=run.left)
        next_at = others.order_by("next_at").values_list("next_at")[:1].first()
    if next_at is None:
        return LONGEST_REST_SECONDS
    return min(LONGEST_REST_SECONDS, max(0.0, (next_at[0] - run.now).total_seconds()))


class _ScheduleRun:
    """Run of the leading worker: one pass over the due schedules."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.enqueued = 0
        # Schedules left for another release to run.
        self.left: list[UUID] = []
        self._has_room: dict[UUID, bool] = {}

    def enqueue_due(self, schedule: Schedule) -> None:
        """Enqueue a task for each due time and advance the schedule; switch off one that fails."""
        try:
            with transaction.atomic():
                self._enqueue_due(schedule)
        except TaskError as error:
            schedule.refresh_from_db()
            if isinstance(error, UnknownType) and self.now - schedule.next_at < PATIENCE:
                self.left.append(schedule.id)
                return
            log.error("schedule %s is switched off: %s", schedule.id, error)
            schedule.enabled, schedule.problem = False, str(error)[:500]
            _note_act(What.SCHEDULE_SWITCHED_OFF, schedule, SITE)
        schedule.save()

    def _enqueue_due(self, schedule: Schedule) -> None:
        is_full = not self._room_for(schedule.owner_id)
        if is_full:
            log.warning("schedule %s skips its times: its owner's backlog is full", schedule.id)
        for slot in () if is_full else _due_times(schedule, self.now):
            enqueue(
                schedule.type_key,
                schedule.payload,
                version=schedule.type_version,
                priority=schedule.priority,
                owner_id=schedule.owner_id,
                producer=f"schedule:{schedule.id}",
                idempotency_key=f"schedule:{schedule.id}:{slot.astimezone(UTC).isoformat()}",
            )
            self.enqueued += 1
            schedule.last_enqueued_for = slot
            schedule.next_at = _cron_times(schedule).after(slot)
        if is_full or not schedule.catch_up:
            schedule.next_at = _cron_times(schedule).after(self.now)

    def _room_for(self, owner_id: UUID | None) -> bool:
        """Tell whether an owner's backlog has room. Unlike for requests, nothing has checked it."""
        if owner_id is None:
            return True
        if owner_id not in self._has_room:
            most = getattr(settings, "TASK_BACKLOG_PER_COMPANY", MOST_WAITING)
            waiting = Task.objects.filter(owner_id=owner_id, status=Status.PENDING)
            self._has_room[owner_id] = waiting[:most].count() < most
        return self._has_room[owner_id]


def _due_times(schedule: Schedule, now: datetime) -> Iterator[datetime]:
    """Iterate over due times: at most MOST_MADE_UP with `catch_up`, else the last, if recent."""
    times = _cron_times(schedule)
    slot = schedule.next_at
    if schedule.catch_up:
        for _ in range(MOST_MADE_UP):
            if slot > now:
                return
            yield slot
            slot = times.after(slot)
    else:
        slot = _last_time(times, slot, now)
        if now - slot < max(timedelta(minutes=1), (times.after(slot) - slot) / 2):
            yield slot


def _last_time(times: CronTimes, first: datetime, now: datetime) -> datetime:
    """Return the last time that is not after `now`, searching from the earlier time `first`."""
    step = timedelta(minutes=2)
    while now - step > first:
        if (found := times.after(now - step)) <= now:
            first = found
            break
        step *= 4
    while (following := times.after(first)) <= now:
        first = following
    return first


def _note_act(what: TaskAct.What, schedule: Schedule, actor: str) -> None:
    columns = ("name", "cron", "zone", "type_key", "enabled", "problem")  # no payload: secrets
    data = {name: getattr(schedule, name) for name in columns}
    note_action(what, str(schedule.id), actor=actor, owner_id=schedule.owner_id, data=data)


def _cron_times(schedule: Schedule) -> CronTimes:
    return CronTimes(schedule.cron, schedule.zone)


def _database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        found: datetime = cursor.fetchone()[0]
    return found
