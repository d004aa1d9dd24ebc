"""Bodies of requests about schedules."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.auth import authorize_company, caller_of
from pipeline.api.endpoint import Endpoint, answer_page, answer_read, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import PAGED
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import page_cursor_id, page_limit, paginated
from pipeline.api.problem_types import (
    INVALID_PAYLOAD,
    INVALID_SCHEDULE,
    LIMIT_REACHED,
    TYPE_NOT_ALLOWED,
    UNKNOWN_TASK_TYPE,
)
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.fields import AnyObject, Flag, Line, Name, Shape
from pipeline.api.v1.outputs import Count, PageOf
from pipeline.api.v1.tasks.shapes import LONGEST_TYPE, Priority, priority_field, version_field
from pipeline.database import instants
from pipeline.domain.permissions import Action
from pipeline.selectors.pages import encode_cursor
from pipeline.work import schedules
from pipeline.work.schedules import Plan
from tasks import registry
from tasks.errors import BadSchedule, UnknownType
from tasks.models import Schedule
from tasks.payloads import redact_payload
from tasks.scheduling.cron import CronTimes

LONGEST_NAME = 200
LONGEST_CRON = 100
LONGEST_ZONE = 64


class _PlanIn(Shape):
    version = version_field()
    payload = AnyObject(required=False)
    priority = priority_field()
    zone = Line(max_length=LONGEST_ZONE, required=False)
    enabled = Flag(required=False)
    catch_up = Flag(required=False)


class TaskScheduleIn(_PlanIn):
    """A new schedule: work to start repeatedly."""

    name = Name(max_length=LONGEST_NAME)
    cron = Line(max_length=LONGEST_CRON)
    type = Line(max_length=LONGEST_TYPE)
    zone = Line(max_length=LONGEST_ZONE, default="UTC")
    enabled = Flag(default=True)
    catch_up = Flag(default=False)


class TaskScheduleChangeIn(_PlanIn):
    """Changes to a schedule. Fields that are not named stay as they are."""

    name = Name(max_length=LONGEST_NAME, required=False)
    cron = Line(max_length=LONGEST_CRON, required=False)
    type = Line(max_length=LONGEST_TYPE, required=False)


# Names of API fields in a plan, where they differ.
_COLUMNS = {"type": "type_key", "version": "type_version"}


def plan_columns(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a plan from a body's."""
    return {_COLUMNS.get(name, name): value for name, value in given.items()}


# Responses about schedules.


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


# Endpoints for a company's schedules.


_REFUSES = (INVALID_SCHEDULE, UNKNOWN_TASK_TYPE, INVALID_PAYLOAD, TYPE_NOT_ALLOWED)


class Schedules(Endpoint):
    """`/schedules`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "list_schedules", Tag.TASKS, Action.READ_COMPANY, PageOf[TaskScheduleOut], parameters=PAGED
    )
    def get(self, request: Request) -> Response:
        """Return the company's schedules, newest first, each with its next five times."""
        company_id = authorize_company(caller_of(request), Action.READ_COMPANY).company_id
        after, limit = page_cursor_id(request), page_limit(request)
        page, now = schedules.read_page(company_id, after=after, limit=limit), instants.now()
        listing = paginated(
            page,
            lambda each: schedule_out(each, now),
            lambda schedule: encode_cursor(str(schedule.id)),
        )
        return answer_page(request, listing)

    @describes(
        "create_schedule",
        Tag.TASKS,
        Action.MANAGE_SCHEDULES,
        TaskScheduleOut,
        status=201,
        takes=(TaskScheduleIn,),
        refuses=(*_REFUSES, LIMIT_REACHED),
        about="`cron` has five fields: minute, hour, day, month, day of the week; the times "
        "are in `zone`. With `catch_up`, work is also started for missed times.",
    )
    def post(self, request: Request) -> Response:
        """Create a schedule that starts work repeatedly: 201."""
        caller = authorize_company(caller_of(request), Action.MANAGE_SCHEDULES)
        schedule = schedules.create(
            company_id=caller.company_id,
            plan=Plan(**plan_columns(read_body(request, TaskScheduleIn))),
            key_id=caller.key_id,
            schedule_id=idempotent_row_id(request),
            actor=caller.producer,
        )
        where = {"Location": f"{request.path}/{schedule.id}"}
        return Response(schedule_out(schedule, instants.now()), status=201, headers=where)


class OneSchedule(Endpoint):
    """`/schedules/{id}`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("get_schedule", Tag.TASKS, Action.READ_COMPANY, TaskScheduleOut, tagged=True)
    def get(self, request: Request, schedule_id: UUID) -> Response:
        """Return a schedule with its next five times."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        schedule = schedules.read(caller.company_id, schedule_id)
        return answer_read(request, schedule_out(schedule, instants.now()))

    @describes(
        "change_schedule",
        Tag.TASKS,
        Action.MANAGE_SCHEDULES,
        TaskScheduleOut,
        takes=(TaskScheduleChangeIn,),
        refuses=_REFUSES,
    )
    def patch(self, request: Request, schedule_id: UUID) -> Response:
        """Change a schedule, all or nothing."""
        caller = authorize_company(caller_of(request), Action.MANAGE_SCHEDULES)
        schedule = schedules.change(
            company_id=caller.company_id,
            schedule_id=schedule_id,
            changes=plan_columns(read_body(request, TaskScheduleChangeIn)),
            key_id=caller.key_id,
            actor=caller.producer,
        )
        return Response(schedule_out(schedule, instants.now()))

    @describes("delete_schedule", Tag.TASKS, Action.MANAGE_SCHEDULES, None, status=204)
    def delete(self, request: Request, schedule_id: UUID) -> Response:
        """Delete a schedule: 204. Tasks that it has started remain."""
        caller = authorize_company(caller_of(request), Action.MANAGE_SCHEDULES)
        schedules.delete(
            company_id=caller.company_id, schedule_id=schedule_id, actor=caller.producer
        )
        return Response(status=204)
