"""Responses about schedules."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from pipeline.api.v1.outputs import Count
from pipeline.api.v1.tasks.outputs import Priority
from tasks import registry
from tasks.errors import BadSchedule, UnknownType
from tasks.models import Schedule
from tasks.payloads import redact_payload
from tasks.scheduling.cron import CronTimes

NEXT_TIMES = 5


class TaskScheduleOut(TypedDict):
    """Work that is started repeatedly. `problem` says why it was switched off, if it was."""

    id: UUID
    name: str
    cron: str
    zone: str
    type: str
    version: Count | None
    payload: Any
    priority: Priority
    enabled: bool
    catch_up: bool
    last_enqueued_for: datetime | None
    next_times: list[datetime]
    problem: str | None
    created_at: datetime


def schedule_out(schedule: Schedule, now: datetime) -> TaskScheduleOut:
    """Return a schedule with its next five times after `now`.

    If this release does not know the type, the whole payload is hidden.
    """
    try:
        schema = registry.find_registered_type(schedule.type_key, schedule.type_version).schema
    except UnknownType:
        schema = {"secret": True}
    times = [now]
    with suppress(BadSchedule):  # no further times, or a time zone that no longer exists
        following = CronTimes(schedule.cron, schedule.zone)
        while schedule.enabled and len(times) <= NEXT_TIMES:
            times.append(following.after(times[-1]))
    return {
        "id": schedule.id,
        "name": schedule.name,
        "cron": schedule.cron,
        "zone": schedule.zone,
        "type": schedule.type_key,
        "version": schedule.type_version,
        "payload": redact_payload(schema, schedule.payload),
        "priority": schedule.priority,
        "enabled": schedule.enabled,
        "catch_up": schedule.catch_up,
        "last_enqueued_for": schedule.last_enqueued_for,
        "next_times": times[1:],
        "problem": schedule.problem or None,
        "created_at": schedule.created_at,
    }
