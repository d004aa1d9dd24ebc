"""Endpoints for the types of background work that a company may start, and for pausing them."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import authorize_company
from pipeline.api.callers import CompanyCaller, caller_of
from pipeline.api.endpoint import Endpoint, endpoint_body
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.fields import Nothing
from pipeline.api.v1.tasks.outputs import TaskTypeOut, TaskTypesOut, task_type_out
from pipeline.background.catalog import KnownType, catalogued_type, catalogued_types
from pipeline.background.start import types_to_start
from pipeline.background.task_actors import names_of_task_actors
from pipeline.domain.errors import TaskTypeNotFound
from pipeline.domain.permissions import Action
from tasks import control


class TaskTypes(Endpoint):
    """`/task-types`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("list_task_types", Tag.TASKS, Action.READ_COMPANY, TaskTypesOut)
    def get(self, request: Request) -> Response:
        """List the types that the company may start, with their limits and pauses."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        return Response({"data": _task_types_out(caller, catalogued_types()), "next_cursor": None})


class PauseTaskType(Endpoint):
    """`/task-types/{key}/pause`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "pause_task_type",
        Tag.TASKS,
        Action.MANAGE_TASKS,
        TaskTypeOut,
        takes=(Nothing,),
        about="Running tasks continue, and new ones wait. Other companies' tasks are not affected.",
    )
    def post(self, request: Request, type_key: str) -> Response:
        """Pause the company's tasks of a type. Repeating it is harmless."""
        caller = authorize_company(caller_of(request), Action.MANAGE_TASKS)
        endpoint_body(request, Nothing)
        found = _task_type_or_404(type_key)
        control.pause(found.about.key, actor=caller.producer, owner_id=caller.company_id)
        return Response(_task_types_out(caller, [found])[0])


class ResumeTaskType(Endpoint):
    """`/task-types/{key}/resume`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("resume_task_type", Tag.TASKS, Action.MANAGE_TASKS, TaskTypeOut, takes=(Nothing,))
    def post(self, request: Request, type_key: str) -> Response:
        """Resume the company's tasks of a type. Repeating it is harmless."""
        caller = authorize_company(caller_of(request), Action.MANAGE_TASKS)
        endpoint_body(request, Nothing)
        found = _task_type_or_404(type_key)
        control.resume(found.about.key, actor=caller.producer, owner_id=caller.company_id)
        return Response(_task_types_out(caller, [found])[0])


def _task_type_or_404(key: str) -> KnownType:
    found = catalogued_type(key)
    if found is None:
        raise TaskTypeNotFound
    return found


def _task_types_out(caller: CompanyCaller, known: list[KnownType]) -> list[TaskTypeOut]:
    paused = control.paused_types_to_control(caller.company_id)
    names = names_of_task_actors(paused.values())
    allowed = types_to_start(caller.key_id)
    broken = control.broken_types_to_control(caller.company_id)
    return [
        task_type_out(
            each,
            paused_by=paused.get(each.about.key),
            names=names,
            allowed=allowed,
            broken_since=broken.get(each.about.key),
        )
        for each in known
    ]
