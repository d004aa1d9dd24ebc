"""Background work in the back office: to look at, and to cancel, bury, replay or discard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from tasks import control, dead_letters
from tasks.errors import TaskError
from tasks.models import Schedule, Task, TaskAct, TaskPause, TaskType, TaskWorker
from tasks.payloads import redacted
from tasks.readonly_admin import ShownOnly


@admin.register(Task)
class TaskAdmin(ShownOnly):
    """Tasks, the newest first. What is done with them stands in their history, with the name."""

    ordering = ("-id",)
    list_display = ("id", "type", "status", "priority", "attempt", "run_after", "owner_id")
    list_select_related = ("type",)
    ids = ("id", "owner_id")
    search_help_text = "The id of a task, or of the company for which it runs"
    exclude = ("payload",)
    readonly_fields = ("shown_payload",)
    actions = ("cancel", "bury", "replay", "replay_sensitive", "discard")

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Who may change tasks may act on them; their columns nobody changes here."""
        return bool(request.user.has_perm("tasks.change_task"))

    @admin.display(description="payload")
    def shown_payload(self, task: Task) -> Any:
        """The payload without what its type's schema calls secret."""
        return redacted(task.type.schema, task.payload)

    @admin.action(description="Cancel", permissions=["operate"])
    def cancel(self, request: HttpRequest, tasks: QuerySet[Task]) -> None:
        """Cancel what is pending or running."""
        self._each(request, tasks, control.cancel)

    @admin.action(description="Put among the dead letters", permissions=["operate"])
    def bury(self, request: HttpRequest, tasks: QuerySet[Task]) -> None:
        """Keep pending tasks from running until somebody replays them."""
        self._each(request, tasks, control.move_to_dead_letters)

    @admin.action(description="Replay dead letters", permissions=["operate"])
    def replay(self, request: HttpRequest, tasks: QuerySet[Task]) -> None:
        """Let dead tasks run again, unless their type is sensitive."""
        self._each(request, tasks, dead_letters.replay)

    @admin.action(
        description="Replay dead letters, of sensitive types too", permissions=["operate"]
    )
    def replay_sensitive(self, request: HttpRequest, tasks: QuerySet[Task]) -> None:
        """Let dead tasks run again, also those of types that ask for a confirmation."""
        self._each(request, tasks, dead_letters.replay, confirmed=True)

    @admin.action(description="Discard dead letters", permissions=["operate"])
    def discard(self, request: HttpRequest, tasks: QuerySet[Task]) -> None:
        """Give dead tasks up for good."""
        self._each(request, tasks, dead_letters.discard)

    def _each(
        self,
        request: HttpRequest,
        tasks: QuerySet[Task],
        act: Callable[..., object],
        **options: Any,
    ) -> None:
        """Act on each by its service, which checks and logs it; say what was refused, and why."""
        done = 0
        for task_id in tasks.values_list("id", flat=True):
            try:
                act(task_id, actor=f"staff:{request.user.pk}", **options)
                done += 1
            except TaskError as refused:
                self.message_user(request, f"Not done: {refused}.", messages.WARNING)
        self.message_user(request, f"Done: {done}.", messages.SUCCESS)


@admin.register(TaskType)
class TaskTypeAdmin(ShownOnly):
    list_display = ("__str__", "queue", "paused", "paused_by", "breaker", "cap", "max_attempts")


@admin.register(TaskPause)
class TaskPauseAdmin(ShownOnly):
    list_display = ("type", "owner_id", "actor", "at")
    list_select_related = ("type",)
    ids = ("owner_id",)


@admin.register(Schedule)
class ScheduleAdmin(ShownOnly):
    ordering = ("-id",)
    list_display = ("name", "cron", "zone", "type_key", "owner_id", "enabled", "next_at", "problem")
    ids = ("id", "owner_id")


@admin.register(TaskAct)
class TaskActAdmin(ShownOnly):
    """Who did what to types and schedules, the newest first."""

    ordering = ("-id",)
    list_display = ("at", "actor", "what", "target", "owner_id")
    ids = ("owner_id",)


@admin.register(TaskWorker)
class TaskWorkerAdmin(ShownOnly):
    list_display = ("name", "slots", "running", "sleeping", "beat_at", "started_at")
    beginnings = ("name",)
