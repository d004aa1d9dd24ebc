"""Schedules: cron expressions in a time zone, kept by whichever worker leads at the moment.

The leader holds an advisory lock for the length of one transaction, in which it reads the
database's clock, enqueues what is due and moves each schedule on: all of it or nothing. A key for
each time makes a second task for it impossible in any case.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from croniter import CroniterError, croniter
from django.db import connection, transaction

from tasks.acts import TaskAct, note
from tasks.enqueue import enqueue
from tasks.errors import BadSchedule, TaskError
from tasks.models import Schedule

log = logging.getLogger(__name__)

What = TaskAct.What
SITE = "site"

LEADER_LOCK, ENSURE_LOCK = 7_305_114_001, 7_305_114_002
LONGEST_REST_SECONDS = 5.0
MOST_AT_ONCE = 100
"""Schedules kept in one transaction."""
MOST_MADE_UP = 100
"""Missed times of one schedule made up in one transaction; the next turn goes on."""


@dataclass(frozen=True)
class Times:
    """The times of a cron expression in a zone. Raises BadSchedule when one cannot be read."""

    cron: str
    zone: str

    def __post_init__(self) -> None:
        if len(self.cron.split()) != 5 or not croniter.is_valid(self.cron):
            raise BadSchedule(f"{self.cron!r} is no cron expression of five fields")
        try:
            ZoneInfo(self.zone)
        except Exception:
            raise BadSchedule(f"{self.zone!r} is no time zone") from None
        self.after(datetime(2024, 1, 1, tzinfo=UTC))

    def after(self, moment: datetime) -> datetime:
        """The first time after a moment, in UTC.

        What lies in the hour that a change to summer time leaves out runs right after it; what
        names an hour that comes twice runs in the first.
        """
        try:
            times = croniter(self.cron, moment.astimezone(ZoneInfo(self.zone)))
            found = times.get_next(datetime)
            while self._names_hours and _is_second_of_two(found):
                found = times.get_next(datetime)
        except (CroniterError, OverflowError) as error:
            raise BadSchedule(f"{self.cron!r} has no next time: {error}") from None
        return found.astimezone(UTC)

    @property
    def _names_hours(self) -> bool:
        return not self.cron.split()[1].startswith("*")


def _is_second_of_two(time: datetime) -> bool:
    """Whether the clocks showed this time an hour ago as well."""
    return time.replace(fold=0).utcoffset() != time.replace(fold=1).utcoffset() and (
        time.utcoffset() == time.replace(fold=1).utcoffset()
    )


def create_schedule(
    *, name: str, cron: str, type_key: str, zone: str = "UTC", actor: str = "", **columns: Any
) -> Schedule:
    """Make a schedule; it first runs at its next time. Raises BadSchedule, UnknownType and others.

    `columns` are payload, priority, type_version, enabled, catch_up and owner_id.
    """
    schedule = Schedule(name=name, cron=cron, type_key=type_key, zone=zone, **columns)
    return save_schedule(schedule, actor=actor)


def ensure(
    name: str,
    cron: str,
    type_key: str,
    payload: dict[str, Any] | None = None,
    zone: str = "UTC",
) -> Schedule:
    """A standing schedule of the product's own, without an owner; it is made if there is none yet.

    Safe to call at every start, by any number of processes at once. One of this name that is there
    already stays as it is, with what people have changed. Raises what `create_schedule` raises.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ENSURE_LOCK])
        found = Schedule.objects.filter(name=name, owner_id=None).first()
        return found or create_schedule(
            name=name, cron=cron, type_key=type_key, zone=zone, payload=payload or {}, actor=SITE
        )


def next_times(cron: str, zone: str = "UTC", count: int = 5) -> list[datetime]:
    """The next times of a cron expression in a zone, in UTC. Raises BadSchedule."""
    times, at, found = Times(cron, zone), _database_time(), []
    for _ in range(count):
        at = times.after(at)
        found.append(at)
    return found


def save_schedule(schedule: Schedule, *, actor: str = "") -> Schedule:
    """Check and save a schedule whose columns were changed; its next time is counted from now."""
    from tasks import types
    from tasks.payloads import checked

    checked(types.find(schedule.type_key, schedule.type_version), schedule.payload)
    schedule.next_at = Times(schedule.cron, schedule.zone).after(_database_time())
    schedule.problem = ""
    with transaction.atomic():
        _note(
            What.SCHEDULE_CREATED if schedule._state.adding else What.SCHEDULE_CHANGED,
            schedule,
            actor,
        )
        schedule.save()
    return schedule


@transaction.atomic
def delete_schedule(schedule: Schedule, *, actor: str = "") -> None:
    """End a schedule; what it has started stays."""
    _note(What.SCHEDULE_DELETED, schedule, actor)
    schedule.delete()


def enqueue_due() -> float:
    """Enqueue what is due, if nobody else is at it; says after how many seconds to look again."""
    with transaction.atomic():
        if not _lead():
            return LONGEST_REST_SECONDS / 2
        now = _database_time()
        due = Schedule.objects.select_for_update().filter(enabled=True, next_at__lte=now)
        for schedule in due.order_by("next_at")[:MOST_AT_ONCE]:
            _keep(schedule, now)
        next_at = (
            Schedule.objects.filter(enabled=True).order_by("next_at").values_list("next_at")[:1]
        ).first()
    if next_at is None:
        return LONGEST_REST_SECONDS
    return min(LONGEST_REST_SECONDS, max(0.0, (next_at[0] - now).total_seconds()))


def _keep(schedule: Schedule, now: datetime) -> None:
    """Enqueue a schedule's due times and move it on; one that cannot run is switched off."""
    try:
        with transaction.atomic():
            for slot in _slots(schedule, now):
                _enqueue(schedule, slot)
                schedule.last_enqueued_for = slot
                schedule.next_at = _times(schedule).after(slot)
            if not schedule.catch_up:
                schedule.next_at = _times(schedule).after(now)
    except TaskError as error:
        log.error("schedule %s is switched off: %s", schedule.id, error)
        schedule.refresh_from_db()
        schedule.enabled, schedule.problem = False, str(error)[:500]
        _note(What.SCHEDULE_SWITCHED_OFF, schedule, SITE)
    schedule.save()


def _slots(schedule: Schedule, now: datetime) -> Iterator[datetime]:
    """The due times: all that were missed, or only the last one, and that only if it is recent."""
    times = _times(schedule)
    slot = schedule.next_at
    if schedule.catch_up:
        for _ in range(MOST_MADE_UP):
            if slot > now:
                return
            yield slot
            slot = times.after(slot)
    else:
        slot = _last_before(times, slot, now)
        if now - slot < max(timedelta(minutes=1), (times.after(slot) - slot) / 2):
            yield slot


def _last_before(times: Times, first: datetime, now: datetime) -> datetime:
    """The last time that is not after `now`; `first` is one of them."""
    step = timedelta(minutes=2)
    while now - step > first:
        if (found := times.after(now - step)) <= now:
            first = found
            break
        step *= 4
    while (following := times.after(first)) <= now:
        first = following
    return first


def _enqueue(schedule: Schedule, slot: datetime) -> None:
    enqueue(
        schedule.type_key,
        schedule.payload,
        version=schedule.type_version,
        priority=schedule.priority,
        owner_id=schedule.owner_id,
        producer=f"schedule:{schedule.id}",
        idempotency_key=f"schedule:{schedule.id}:{slot.astimezone(UTC).isoformat()}",
    )


def _note(what: TaskAct.What, schedule: Schedule, actor: str) -> None:
    columns = ("name", "cron", "zone", "type_key", "enabled", "problem")  # no payload: secrets
    data = {name: getattr(schedule, name) for name in columns}
    note(what, str(schedule.id), actor=actor, owner_id=schedule.owner_id, data=data)


def _times(schedule: Schedule) -> Times:
    return Times(schedule.cron, schedule.zone)


def _lead() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LEADER_LOCK])
        return bool(cursor.fetchone()[0])


def _database_time() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        found: datetime = cursor.fetchone()[0]
    return found
