"""Endpoints for a company's schedules."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import authorize_company
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, endpoint_answer, endpoint_body, endpoint_page_answer
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import PAGED
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.pagination import page_cursor_id, page_limit, paginated
from pipeline.api.problem_types import (
    INVALID_PAYLOAD,
    INVALID_SCHEDULE,
    LIMIT_REACHED,
    TYPE_NOT_ALLOWED,
    UNKNOWN_TASK_TYPE,
)
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.outputs import PageOf
from pipeline.api.v1.schedules.inputs import (
    TaskScheduleChangeIn,
    TaskScheduleIn,
    schedule_columns_of_input,
)
from pipeline.api.v1.schedules.outputs import TaskScheduleOut, schedule_out
from pipeline.background.schedules import (
    Plan,
    change_company_schedule,
    create_company_schedule,
    delete_company_schedule,
    schedule_of_company,
    schedules_of_company,
)
from pipeline.database.instants import database_now
from pipeline.domain.permissions import Action
from pipeline.selectors.cursors import encode_cursor

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
        page, now = schedules_of_company(company_id, after=after, limit=limit), database_now()
        listing = paginated(
            page,
            lambda each: schedule_out(each, now),
            lambda schedule: encode_cursor(str(schedule.id)),
        )
        return endpoint_page_answer(request, listing)

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
        schedule = create_company_schedule(
            company_id=caller.company_id,
            plan=Plan(**schedule_columns_of_input(endpoint_body(request, TaskScheduleIn))),
            key_id=caller.key_id,
            schedule_id=idempotent_row_id(request),
            actor=caller.producer,
        )
        where = {"Location": f"{request.path}/{schedule.id}"}
        return Response(schedule_out(schedule, database_now()), status=201, headers=where)


class OneSchedule(Endpoint):
    """`/schedules/{id}`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("get_schedule", Tag.TASKS, Action.READ_COMPANY, TaskScheduleOut, tagged=True)
    def get(self, request: Request, schedule_id: UUID) -> Response:
        """Return a schedule with its next five times."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        schedule = schedule_of_company(caller.company_id, schedule_id)
        return endpoint_answer(request, schedule_out(schedule, database_now()))

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
        schedule = change_company_schedule(
            company_id=caller.company_id,
            schedule_id=schedule_id,
            changes=schedule_columns_of_input(endpoint_body(request, TaskScheduleChangeIn)),
            key_id=caller.key_id,
            actor=caller.producer,
        )
        return Response(schedule_out(schedule, database_now()))

    @describes("delete_schedule", Tag.TASKS, Action.MANAGE_SCHEDULES, None, status=204)
    def delete(self, request: Request, schedule_id: UUID) -> Response:
        """Delete a schedule: 204. Tasks that it has started remain."""
        caller = authorize_company(caller_of(request), Action.MANAGE_SCHEDULES)
        delete_company_schedule(
            company_id=caller.company_id, schedule_id=schedule_id, actor=caller.producer
        )
        return Response(status=204)
