"""Endpoints for dead letters: tasks that failed their last attempt and wait for a decision."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.access import authorize_company
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, endpoint_body, endpoint_page_answer
from pipeline.api.openapi.parameters import OF_TASK_TYPE, PAGED
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.pagination import page_cursor_id, page_limit, paginated
from pipeline.api.parameters import text_parameter
from pipeline.api.problem_types import (
    CONFIRMATION_NEEDED,
    INVALID_PAYLOAD,
    INVALID_TRANSITION,
    TYPE_NOT_ALLOWED,
    UNKNOWN_TASK_TYPE,
)
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.fields import Nothing
from pipeline.api.v1.outputs import PageOf
from pipeline.api.v1.tasks.inputs import TaskReplayIn, TaskReplaysIn
from pipeline.api.v1.tasks.outputs import ReplayedOut, TaskOut, task_out
from pipeline.background.dead_letters import (
    dead_letters_of,
    replay_company_dead_letter,
    replay_company_dead_letters,
)
from pipeline.background.tasks import task_of
from pipeline.domain.permissions import Action
from pipeline.selectors.cursors import encode_cursor
from tasks import dead_letters


class DeadLetters(Endpoint):
    """`/tasks/dead`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "list_dead_tasks",
        Tag.TASKS,
        Action.READ_COMPANY,
        PageOf[TaskOut],
        parameters=(OF_TASK_TYPE, *PAGED),
        about="A single task shows its payload and all its errors with their tracebacks.",
    )
    def get(self, request: Request) -> Response:
        """Return the company's dead letters, oldest first, each with its last error."""
        page = dead_letters_of(
            authorize_company(caller_of(request), Action.READ_COMPANY).company_id,
            type_key=text_parameter(request, "type"),
            after=page_cursor_id(request),
            limit=page_limit(request),
        )
        rows = paginated(page, task_out, lambda task: encode_cursor(str(task.id)))
        return endpoint_page_answer(request, rows)


class ReplayDeadLetter(Endpoint):
    """`/tasks/{id}/replay`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "replay_task",
        Tag.TASKS,
        Action.MANAGE_TASKS,
        TaskOut,
        takes=(TaskReplayIn,),
        refuses=(
            INVALID_TRANSITION,
            CONFIRMATION_NEEDED,
            INVALID_PAYLOAD,
            UNKNOWN_TASK_TYPE,
            TYPE_NOT_ALLOWED,
        ),
    )
    def post(self, request: Request, task_id: UUID) -> Response:
        """Replay a dead letter with its full number of attempts, and another payload if given."""
        caller = authorize_company(caller_of(request), Action.MANAGE_TASKS)
        given = endpoint_body(request, TaskReplayIn)
        replay_company_dead_letter(
            company_id=caller.company_id,
            task_id=task_id,
            actor=caller.producer,
            key_id=caller.key_id,
            payload=given.get("payload"),
            confirmed=given["confirmed"],
        )
        return Response(task_out(task_of(caller.company_id, task_id)))


class DiscardDeadLetter(Endpoint):
    """`/tasks/{id}/discard`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "discard_task",
        Tag.TASKS,
        Action.MANAGE_TASKS,
        TaskOut,
        takes=(Nothing,),
        refuses=(INVALID_TRANSITION,),
    )
    def post(self, request: Request, task_id: UUID) -> Response:
        """Discard a dead letter. This is final."""
        caller = authorize_company(caller_of(request), Action.MANAGE_TASKS)
        endpoint_body(request, Nothing)
        dead_letters.discard_dead_letter(task_id, actor=caller.producer, owner_id=caller.company_id)
        return Response(task_out(task_of(caller.company_id, task_id)))


class ReplayDeadLetters(Endpoint):
    """`/tasks/dead/replay`"""

    @describes(
        "replay_tasks",
        Tag.TASKS,
        Action.MANAGE_TASKS,
        ReplayedOut,
        takes=(TaskReplaysIn,),
        refuses=(CONFIRMATION_NEEDED, UNKNOWN_TASK_TYPE, TYPE_NOT_ALLOWED),
    )
    def post(self, request: Request) -> Response:
        """Replay the oldest dead letters of a type, and return their number."""
        caller = authorize_company(caller_of(request), Action.MANAGE_TASKS)
        given = endpoint_body(request, TaskReplaysIn)
        count = replay_company_dead_letters(
            company_id=caller.company_id,
            key=given["type"],
            actor=caller.producer,
            key_id=caller.key_id,
            limit=given["limit"],
            confirmed=given["confirmed"],
        )
        return Response({"replayed": count})
