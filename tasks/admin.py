"""Background work in Django's admin: to look at, not to change."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from tasks.models import Schedule, Task, TaskType, TaskWorker
from tasks.payloads import redacted


class ReadOnly(admin.ModelAdmin):
    """What nobody may add, change or delete here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Task)
class TaskAdmin(ReadOnly):
    list_display = ["id", "type", "status", "priority", "attempt", "run_after", "worker"]
    list_filter = ["status"]
    list_select_related = ["type"]
    show_full_result_count = False
    exclude = ["payload"]
    readonly_fields = ["shown_payload"]

    @admin.display(description="payload")
    def shown_payload(self, task: Task) -> Any:
        """The payload without what its type's schema calls secret."""
        return redacted(task.type.schema, task.payload)


@admin.register(TaskType)
class TaskTypeAdmin(ReadOnly):
    list_display = ["__str__", "queue", "paused", "breaker", "cap", "max_attempts"]


@admin.register(Schedule)
class ScheduleAdmin(ReadOnly):
    list_display = ["name", "cron", "zone", "type_key", "enabled", "next_at", "problem"]


@admin.register(TaskWorker)
class TaskWorkerAdmin(ReadOnly):
    list_display = ["name", "slots", "running", "sleeping", "beat_at", "started_at"]
