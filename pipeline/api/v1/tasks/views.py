"""Endpoints for background work: start, read, cancel."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import activity
from pipeline.api import parameters, throttles
from pipeline.api.auth import CompanyCaller, authorize_company, caller_of
from pipeline.api.endpoint import Endpoint, answer_page, answer_read, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import OF_TASK_TYPE, PAGED, TASK_STATUS, describe_fields
from pipeline.api.openapi.schemas import File, Tag, describes
from pipeline.api.parameters import page_cursor_id, page_cursor_number, page_limit, paginated
from pipeline.api.problem_types import (
    BACKPRESSURE,
    CONFIRMATION_NEEDED,
    INVALID_PAYLOAD,
    INVALID_TRANSITION,
    TYPE_NOT_ALLOWED,
    UNKNOWN_TASK_TYPE,
)
from pipeline.api.rendering import AnyFileKind, NumberJSONRenderer
from pipeline.api.v1.fields import Nothing
from pipeline.api.v1.outputs import PageOf
from pipeline.api.v1.tasks.shapes import (
    OF_A_REQUEST,
    FullTaskOut,
    ImportedRowOut,
    NewTaskOut,
    NewTasksOut,
    ReplayedOut,
    TaskBatchIn,
    TaskEventOut,
    TaskIn,
    TaskOut,
    TaskReplayIn,
    TaskReplaysIn,
    TaskStatsOut,
    TaskTypeOut,
    TaskTypesOut,
    events_out,
    full_task_out,
    imported_row_out,
    new_task_out,
    task_out,
    type_out,
)
from pipeline.database import instants
from pipeline.domain.errors import TaskTypeNotFound
from pipeline.domain.permissions import Action
from pipeline.files import stored
from pipeline.files.exports import FILE_DOWNLOADED
from pipeline.files.imports.results import read_outcomes, read_task_progress, refusal_report
from pipeline.files.stored import read_pieces
from pipeline.selectors.pages import encode_cursor
from pipeline.work.catalog import KnownType, catalogued_type, catalogued_types, paused_types_among
from pipeline.work.dead_letters import (
    read_dead_letters,
    replay_company_dead_letter,
    replay_company_dead_letters,
)
from pipeline.work.start import RATE, TaskRequest, allowed_types, start_tasks
from pipeline.work.tasks import actor_names, find_tasks, read_events, read_task, read_task_page
from tasks import control, dead_letters, stats
from tasks.models import HELD, Status, Task
from tasks.stats import owner_depth, owner_oldest_age_seconds, site_workers_alive

security = logging.getLogger("security")


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
        parameters=(TASK_STATUS, OF_TASK_TYPE, *PAGED, describe_fields(TaskOut)),
        about="Ended tasks are kept for a week, dead ones for thirty days.",
    )
    def get(self, request: Request) -> Response:
        """Return the company's tasks, newest first."""
        company_id = authorize_company(caller_of(request), Action.READ_COMPANY).company_id
        page = read_task_page(
            company_id,
            status=parameters.choice(request, "status", Status),
            type_key=parameters.text(request, "type"),
            after=page_cursor_id(request),
            limit=page_limit(request),
        )
        paused = paused_types_among(company_id, page.rows)
        shape = partial(task_out, paused=paused)
        return answer_page(
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
        [(task, is_new)] = _start(request, caller, [read_body(request, TaskIn)])
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
        started = _start(request, caller, read_body(request, TaskBatchIn)["tasks"])
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
        task = read_task(caller.company_id, task_id)
        paused = paused_types_among(caller.company_id, [task])
        return answer_read(request, full_task_out(task, paused))


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
        read_body(request, Nothing)
        control.cancel(task_id, actor=caller.producer, owner_id=caller.company_id)
        return Response(task_out(read_task(caller.company_id, task_id)), status=202)


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
        task = read_task(caller.company_id, task_id)
        after, limit = page_cursor_number(request), page_limit(request)
        page = read_events(task.id, after=after, limit=limit)
        following = encode_cursor(page.rows[-1].id) if page.more else None
        return answer_page(request, {"data": events_out(page.rows), "next_cursor": following})


class TaskStats(Endpoint):
    """`/tasks/stats`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("get_task_stats", Tag.TASKS, Action.READ_COMPANY, TaskStatsOut)
    def get(self, request: Request) -> Response:
        """Return the company's background work in numbers."""
        owner_id = authorize_company(caller_of(request), Action.READ_COMPANY).company_id
        counts = stats.owner_counts(owner_id)
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
                "server_time": instants.now(),
            }
        )


def _start(
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
        on_count=partial(throttles.note_count, request, RATE),
    )
    found = find_tasks(caller.company_id, [each.id for each in made])
    rows = [(found[each.id], each.is_new) for each in made]
    # A task created by an earlier attempt of the same request counts as new.
    return [
        (row, is_new or (row.idempotency_key or "").startswith(OF_A_REQUEST))
        for row, is_new in rows
    ]


# Endpoints for dead letters: tasks that failed their last attempt and wait for a decision.


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
        page = read_dead_letters(
            authorize_company(caller_of(request), Action.READ_COMPANY).company_id,
            type_key=parameters.text(request, "type"),
            after=page_cursor_id(request),
            limit=page_limit(request),
        )
        rows = paginated(page, task_out, lambda task: encode_cursor(str(task.id)))
        return answer_page(request, rows)


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
        given = read_body(request, TaskReplayIn)
        replay_company_dead_letter(
            company_id=caller.company_id,
            task_id=task_id,
            actor=caller.producer,
            key_id=caller.key_id,
            payload=given.get("payload"),
            confirmed=given["confirmed"],
        )
        return Response(task_out(read_task(caller.company_id, task_id)))


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
        read_body(request, Nothing)
        dead_letters.discard(task_id, actor=caller.producer, owner_id=caller.company_id)
        return Response(task_out(read_task(caller.company_id, task_id)))


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
        given = read_body(request, TaskReplaysIn)
        count = replay_company_dead_letters(
            company_id=caller.company_id,
            key=given["type"],
            actor=caller.producer,
            key_id=caller.key_id,
            limit=given["limit"],
            confirmed=given["confirmed"],
        )
        return Response({"replayed": count})


# Endpoints for the types of background work that a company may start, and for pausing them.


class TaskTypes(Endpoint):
    """`/task-types`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("list_task_types", Tag.TASKS, Action.READ_COMPANY, TaskTypesOut)
    def get(self, request: Request) -> Response:
        """List the types that the company may start, with their limits and pauses."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        return Response({"data": _types_out(caller, catalogued_types()), "next_cursor": None})


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
        read_body(request, Nothing)
        found = _type_or_404(type_key)
        control.pause(found.about.key, actor=caller.producer, owner_id=caller.company_id)
        return Response(_types_out(caller, [found])[0])


class ResumeTaskType(Endpoint):
    """`/task-types/{key}/resume`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("resume_task_type", Tag.TASKS, Action.MANAGE_TASKS, TaskTypeOut, takes=(Nothing,))
    def post(self, request: Request, type_key: str) -> Response:
        """Resume the company's tasks of a type. Repeating it is harmless."""
        caller = authorize_company(caller_of(request), Action.MANAGE_TASKS)
        read_body(request, Nothing)
        found = _type_or_404(type_key)
        control.resume(found.about.key, actor=caller.producer, owner_id=caller.company_id)
        return Response(_types_out(caller, [found])[0])


def _type_or_404(key: str) -> KnownType:
    found = catalogued_type(key)
    if found is None:
        raise TaskTypeNotFound
    return found


def _types_out(caller: CompanyCaller, known: list[KnownType]) -> list[TaskTypeOut]:
    paused = control.paused_types(caller.company_id)
    names = actor_names(paused.values())
    allowed = allowed_types(caller.key_id)
    broken = control.broken_types(caller.company_id)
    return [
        type_out(
            each,
            paused_by=paused.get(each.about.key),
            names=names,
            allowed=allowed,
            broken_since=broken.get(each.about.key),
        )
        for each in known
    ]


# Endpoints for files that tasks made for a company, and for rows that an import refused.


CSV = "text/csv"


class RefusedRowsFile(Endpoint):
    """`/tasks/{id}/refused-rows`"""

    content_negotiation_class = AnyFileKind

    @describes(
        "get_refused_rows",
        Tag.TASKS,
        Action.READ_COMPANY,
        File((CSV,)),
        headers=("Content-Disposition",),
        about="Correct the rows, then import this file: its other columns are ignored. Do not"
        " import the first file again: that would add people again whose applications have"
        " ended since. Any `Accept` works.",
    )
    def get(self, request: Request, task_id: UUID) -> HttpResponseBase:
        """Return the rows that an import refused, with the reasons, as CSV."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        seen = read_task_progress(caller.company_id, task_id)
        return _file_answer(refusal_report(seen), f"{CSV}; charset=utf-8", f"refused-{task_id}.csv")


class ImportedRows(Endpoint):
    """`/tasks/{id}/rows`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "list_imported_rows",
        Tag.TASKS,
        Action.READ_COMPANY,
        PageOf[ImportedRowOut],
        parameters=PAGED,
        about="Rows that the import has not reached are missing; `/refused-rows` has them when it"
        " has ended. Kept for seven days.",
    )
    def get(self, request: Request, task_id: UUID) -> Response:
        """List what became of the rows of an import, in their order."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        run = read_task_progress(caller.company_id, task_id).run
        after, limit = page_cursor_number(request), page_limit(request)
        outcomes = read_outcomes(run, after=after or 0, limit=limit + 1)
        following = encode_cursor(outcomes[limit - 1].row) if len(outcomes) > limit else None
        data = [imported_row_out(each) for each in outcomes[:limit]]
        return answer_page(request, {"data": data, "next_cursor": following})


class OneTaskFile(Endpoint):
    """`/files/{id}`"""

    content_negotiation_class = AnyFileKind

    @describes(
        "get_file",
        Tag.TASKS,
        Action.READ_COMPANY,
        File((CSV, "application/jsonl")),
        headers=("Content-Disposition",),
        about="Its id is in the result of the task that made it. It is kept for seven days. Any"
        " `Accept` works.",
    )
    def get(self, request: Request, file_id: UUID) -> HttpResponseBase:
        """Return a file that was made for the company."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        file = stored.read(caller.company_id, file_id)
        security.info("file.downloaded", extra={"file": str(file_id)})
        activity.note(
            FILE_DOWNLOADED,
            company_id=caller.company_id,
            by=caller.actor_id,
            job_id=file.job_id,
        )
        return _file_answer(read_pieces(file.id), file.content_type, file.name, file.size_bytes)


def _file_answer(
    pieces: Iterable[bytes], content_type: str, name: str, size_bytes: int | None = None
) -> HttpResponseBase:
    response = StreamingHttpResponse(pieces, content_type=content_type)
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    if size_bytes is not None:
        response["Content-Length"] = str(size_bytes)
    return response
