"""Back-office pages to inspect, cancel, replay and discard background work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from tasks import control, dead_letters
from tasks.errors import TaskError
from tasks.models import Schedule, Task, TaskAct, TaskOwnerBreaker, TaskPause, TaskType, TaskWorker
from tasks.payloads import redact_payload
from tasks.readonly_admin import ReadonlyAdmin


@admin.register(Task)
class TaskAdmin(ReadonlyAdmin):
    """Tasks, newest first. Each action is recorded in the task's history under the user's name."""

    ordering = ("-id",)
    list_display = ("id", "type", "status", "priority", "attempt", "run_after", "owner_id")
    list_select_related = ("type",)
    ids = ("id", "owner_id")
    search_help_text = gettext_lazy("The id of a task, or of the company for which it runs")
    exclude = ("payload",)
    readonly_fields = ("shown_payload",)
    actions = ("cancel", "bury", "replay", "replay_sensitive", "discard")

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Allow actions to users with the change permission. Columns stay read-only."""
        return bool(request.user.has_perm("tasks.change_task"))

    @admin.display(description=pgettext_lazy("label", "payload"))
    def shown_payload(self, task: Task) -> Any:
        """Return the payload without the secrets of its type's schema."""
        return redact_payload(task.type.schema, task.payload)

    @admin.action(description=pgettext_lazy("act", "Cancel"), permissions=["operate"])
    def cancel(self, request: HttpRequest, tasks: QuerySet[Task]) -> None:
        """Cancel pending and running tasks."""
        self._act_on_each(request, tasks, control.cancel)

    @admin.action(description=gettext_lazy("Move to the dead letters"), permissions=["operate"])
    def bury(self, request: HttpRequest, tasks: QuerySet[Task]) -> None:
        """Keep pending tasks from running until a person replays them."""
        self._act_on_each(request, tasks, dead_letters.add)

    @admin.action(description=gettext_lazy("Replay dead letters"), permissions=["operate"])
    def replay(self, request: HttpRequest, tasks: QuerySet[Task]) -> None:
        """Run dead tasks again, unless their type is sensitive."""
        self._act_on_each(request, tasks, dead_letters.replay)

    @admin.action(
        description=pgettext_lazy("act", "Replay dead letters, including sensitive types"),
        permissions=["operate"],
    )
    def replay_sensitive(self, request: HttpRequest, tasks: QuerySet[Task]) -> None:
        """Run dead tasks again, including types that need a confirmation."""
        self._act_on_each(request, tasks, dead_letters.replay, confirmed=True)

    @admin.action(description=gettext_lazy("Discard dead letters"), permissions=["operate"])
    def discard(self, request: HttpRequest, tasks: QuerySet[Task]) -> None:
        """Discard dead tasks."""
        self._act_on_each(request, tasks, dead_letters.discard)

    def _act_on_each(
        self,
        request: HttpRequest,
        tasks: QuerySet[Task],
        act: Callable[..., object],
        **options: Any,
    ) -> None:
        """Call a service, which checks and logs, for each task; show the refusals."""
        done = 0
        for task_id in tasks.values_list("id", flat=True):
            try:
                act(task_id, actor=f"staff:{request.user.pk}", **options)
                done += 1
            except TaskError as refused:
                words = _("Not done: %(why)s.") % {"why": refused}
                self.message_user(request, words, messages.WARNING)
        self.message_user(request, _("Done: %(count)s.") % {"count": done}, messages.SUCCESS)


@admin.register(TaskType)
class TaskTypeAdmin(ReadonlyAdmin):
    list_display = ("__str__", "queue", "paused", "paused_by", "breaker", "cap", "max_attempts")


@admin.register(TaskPause)
class TaskPauseAdmin(ReadonlyAdmin):
    list_display = ("type", "owner_id", "actor", "at")
    list_select_related = ("type",)
    ids = ("owner_id",)


@admin.register(TaskOwnerBreaker)
class TaskOwnerBreakerAdmin(ReadonlyAdmin):
    list_display = ("type", "owner_id", "breaker", "changed_at", "probe_at")
    list_select_related = ("type",)
    ids = ("owner_id",)


@admin.register(Schedule)
class ScheduleAdmin(ReadonlyAdmin):
    ordering = ("-id",)
    list_display = ("name", "cron", "zone", "type_key", "owner_id", "enabled", "next_at", "problem")
    ids = ("id", "owner_id")


@admin.register(TaskAct)
class TaskActAdmin(ReadonlyAdmin):
    """Actions on types and schedules, newest first."""

    ordering = ("-id",)
    list_display = ("at", "actor", "what", "target", "owner_id")
    ids = ("owner_id",)


@admin.register(TaskWorker)
class TaskWorkerAdmin(ReadonlyAdmin):
    list_display = ("name", "slots", "running", "sleeping", "beat_at", "started_at")
    beginnings = ("name",)
