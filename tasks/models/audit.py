"""Audit of types and schedules. A task's own events are its audit."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now


class TaskAct(models.Model):
    """Action on a type or schedule: written in its transaction, immutable, kept for a year."""

    class What(models.TextChoices):
        PAUSED = "paused"
        RESUMED = "resumed"
        BREAKER_CLOSED = "breaker_closed"
        SCHEDULE_CREATED = "schedule_created"
        SCHEDULE_CHANGED = "schedule_changed"
        SCHEDULE_DELETED = "schedule_deleted"
        SCHEDULE_SWITCHED_OFF = "schedule_switched_off"  # by the scheduler: it could not run

    at = models.DateTimeField(db_default=Now())
    actor = models.CharField(max_length=200)
    owner_id = models.UUIDField(null=True)
    what = models.CharField(max_length=24, choices=What)
    target = models.CharField(max_length=250)
    data = models.JSONField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["owner_id", "id"],
                name="tasks_act_owner",
                condition=models.Q(owner_id__isnull=False),
            ),
            BrinIndex(fields=["at"], name="tasks_act_at"),
        ]

    def __str__(self) -> str:
        return f"{self.what} {self.target}"


def note_in_audit(
    what: TaskAct.What,
    target: str,
    *,
    actor: str,
    owner_id: UUID | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """Record an action in its transaction; `target` is a type's key or a schedule's id."""
    TaskAct.objects.create(what=what, target=target, actor=actor, owner_id=owner_id, data=data)
