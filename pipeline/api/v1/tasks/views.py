"""Endpoints for background work: start, read, cancel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import authorize_company
from pipeline.api.callers import CompanyCaller, caller_of
from pipeline.api.endpoint import Endpoint, endpoint_answer, endpoint_body, endpoint_page_answer
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import OF_TASK_TYPE, PAGED, TASK_STATUS, fields_parameter
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.pagination import page_cursor_id, page_cursor_number, page_limit, paginated
from pipeline.api.parameters import choice_parameter, text_parameter
from pipeline.api.problem_types import (
    BACKPRESSURE,
    INVALID_PAYLOAD,
    INVALID_TRANSITION,
    TYPE_NOT_ALLOWED,
    UNKNOWN_TASK_TYPE,
)
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.throttles import note_throttle_count
from pipeline.api.v1.fields import Nothing
from pipeline.api.v1.outputs import PageOf
from pipeline.api.v1.tasks.inputs import OF_A_REQUEST, TaskBatchIn, TaskIn
from pipeline.api.v1.tasks.outputs import (
    FullTaskOut,
    NewTaskOut,
    NewTasksOut,
    TaskEventOut,
    TaskOut,
    TaskStatsOut,
    full_task_out,
    new_task_out,
    task_events_out,
    task_out,
)
from pipeline.background.catalog import paused_types_among
from pipeline.background.start import RATE, TaskRequest, start_tasks
from pipeline.background.task_events import task_events_of
from pipeline.background.tasks import task_of, tasks_by_id, tasks_of
from pipeline.database.instants import database_now
from pipeline.domain.permissions import Action
from pipeline.selectors.cursors import encode_cursor
from tasks import control
from tasks.models import Task
from tasks.models.statuses import HELD, Status
from tasks.stats.owner import owner_depth, owner_oldest_age_seconds, owner_task_counts
from tasks.stats.site import site_workers_alive

# The ways in which starting work can be refused.
STARTS = (UNKNOWN_TASK_TYPE, INVALID_PAYLOAD, TYPE_NOT_ALLOWED, BACKPRESSURE)


class Tasks(Endpoint):
    """`/tasks`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "list_tasks",
        Tag.TASKS,
        Action.READ_COMPANY,
        PageOf[TaskOut],
        parameters=(TASK_STATUS, OF_TASK_TYPE, *PAGED, fields_parameter(TaskOut)),
        about="Ended tasks are kept for a week, dead ones for thirty days.",
    )
    def get(self, request: Request) -> Response:
        """Return the company's tasks, newest first."""
        company_id = authorize_company(caller_of(request), Action.READ_COMPANY).company_id
        page = tasks_of(
            company_id,
            status=choice_parameter(request, "status", Status),
            type_key=text_parameter(request, "type"),
            after=page_cursor_id(request),
            limit=page_limit(request),
        )
        paused = paused_types_among(company_id, page.rows)
        shape = partial(task_out, paused=paused)
        return endpoint_page_answer(
            request, paginated(page, shape, lambda task: encode_cursor(str(task.id)))
        )

    @describes(
        "start_task",
        Tag.TASKS,
        Action.MANAGE_TASKS,
        {200: NewTaskOut, 201: NewTaskOut},
        takes=(TaskIn,),
        refuses=STARTS,
        headers=("Location",),
        about="If the `idempotency_key` was already used for this type: 200 and the first "
        "task, whatever its status.",
    )
    def post(self, request: Request) -> Response:
        """Start background work: 201."""
        caller = authorize_company(caller_of(request), Action.MANAGE_TASKS)
        [(task, is_new)] = _start_tasks_of_caller(request, caller, [endpoint_body(request, TaskIn)])
        where = {"Location": f"{request.path}/{task.id}"}
        paused = paused_types_among(caller.company_id, [task])
        answer = new_task_out(task, is_new=is_new, paused=paused)
        return Response(answer, status=201 if is_new else 200, headers=where)


class TaskBatch(Endpoint):
    """`/tasks/batch`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "start_tasks",
        Tag.TASKS,
        Action.MANAGE_TASKS,
        NewTasksOut,
        status=201,
        takes=(TaskBatchIn,),
        refuses=STARTS,
    )
    def post(self, request: Request) -> Response:
        """Start up to 100 tasks, all or none: 201."""
        caller = authorize_company(caller_of(request), Action.MANAGE_TASKS)
        started = _start_tasks_of_caller(
            request, caller, endpoint_body(request, TaskBatchIn)["tasks"]
        )
        paused = paused_types_among(caller.company_id, [task for task, _ in started])
        data = [new_task_out(task, is_new=is_new, paused=paused) for task, is_new in started]
        where = {"Location": request.path.removesuffix("/batch")}
        return Response({"data": data}, status=201, headers=where)


class OneTask(Endpoint):
    """`/tasks/{id}`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("get_task", Tag.TASKS, Action.READ_COMPANY, FullTaskOut, tagged=True)
    def get(self, request: Request, task_id: UUID) -> Response:
        """Return a task with its payload and all its errors; 304 if nothing has changed."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        task = task_of(caller.company_id, task_id)
        paused = paused_types_among(caller.company_id, [task])
        return endpoint_answer(request, full_task_out(task, paused))


class CancelTask(Endpoint):
    """`/tasks/{id}/cancel`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "cancel_task",
        Tag.TASKS,
        Action.MANAGE_TASKS,
        TaskOut,
        status=202,
        takes=(Nothing,),
        refuses=(INVALID_TRANSITION,),
        about="A running task is asked to stop, and is killed if it does not.",
    )
    def post(self, request: Request, task_id: UUID) -> Response:
        """Cancel a task: 202. Repeating it is harmless."""
        caller = authorize_company(caller_of(request), Action.MANAGE_TASKS)
        endpoint_body(request, Nothing)
        control.cancel(task_id, actor=caller.producer, owner_id=caller.company_id)
        return Response(task_out(task_of(caller.company_id, task_id)), status=202)


class EventsOfTask(Endpoint):
    """`/tasks/{id}/events`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "list_task_events",
        Tag.TASKS,
        Action.READ_COMPANY,
        PageOf[TaskEventOut],
        parameters=PAGED,
    )
    def get(self, request: Request, task_id: UUID) -> Response:
        """List a task's events, oldest first, with their actors."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        task = task_of(caller.company_id, task_id)
        after, limit = page_cursor_number(request), page_limit(request)
        page = task_events_of(task.id, after=after, limit=limit)
        following = encode_cursor(page.rows[-1].id) if page.more else None
        return endpoint_page_answer(
            request, {"data": task_events_out(page.rows), "next_cursor": following}
        )


class TaskStats(Endpoint):
    """`/tasks/stats`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("get_task_stats", Tag.TASKS, Action.READ_COMPANY, TaskStatsOut)
    def get(self, request: Request) -> Response:
        """Return the company's background work in numbers."""
        owner_id = authorize_company(caller_of(request), Action.READ_COMPANY).company_id
        counts = owner_task_counts(owner_id)
        depth, ages = owner_depth(owner_id), owner_oldest_age_seconds(owner_id)
        return Response(
            {
                "depth": [
                    {"type": name, "priority": priority, "count": count}
                    for (name, priority), count in sorted(depth.items())
                ],
                "oldest": [
                    {"priority": priority, "age_seconds": round(age, 3)}
                    for priority, age in sorted(ages.items(), reverse=True)
                ],
                "running": sum(counts.get(each, 0) for each in HELD),
                "dead": counts.get(Status.DEAD, 0),
                "workers_alive": site_workers_alive(),
                "server_time": database_now(),
            }
        )


def _start_tasks_of_caller(
    request: Request, caller: CompanyCaller, given: Sequence[dict[str, Any]]
) -> list[tuple[Task, bool]]:
    """Start the tasks of a request, and return each with whether it is new.

    A task without its own key gets the request's, so that a retry after a crash finds it.
    """
    own_id = idempotent_row_id(request)
    own_keys = [
        f"{OF_A_REQUEST}{own_id}:{number}" if own_id else None for number in range(len(given))
    ]
    made = start_tasks(
        company_id=caller.company_id,
        producer=caller.producer,
        requests=[
            TaskRequest(
                key=each["type"],
                payload=each.get("payload"),
                version=each.get("version"),
                priority=each.get("priority", 0),
                run_after=each.get("run_after"),
                delay_seconds=each.get("delay_seconds", 0),
                max_attempts=each.get("max_attempts"),
                idempotency_key=each.get("idempotency_key") or own_key,
            )
            for each, own_key in zip(given, own_keys, strict=True)
        ],
        key_id=caller.key_id,
        on_count=partial(note_throttle_count, request, RATE),
    )
    found = tasks_by_id(caller.company_id, [each.id for each in made])
    rows = [(found[each.id], each.is_new) for each in made]
    # A task created by an earlier attempt of the same request counts as new.
    return [
        (row, is_new or (row.idempotency_key or "").startswith(OF_A_REQUEST))
        for row, is_new in rows
    ]
