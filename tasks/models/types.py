"""Types of background work, and their pauses for single owners."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from tasks.models.statuses import Breaker


class TaskType(models.Model):
    """Type with the limits that all workers share. Its handler is in the registry."""

    key = models.CharField(max_length=200)
    version = models.PositiveSmallIntegerField(default=1)
    queue = models.CharField(max_length=64)
    max_attempts = models.PositiveSmallIntegerField()
    cap = models.PositiveIntegerField(null=True)
    rate_count = models.PositiveIntegerField(null=True)
    rate_seconds = models.FloatField(null=True)
    tokens = models.FloatField(db_default=0)
    tokens_at = models.DateTimeField(null=True)
    sensitive = models.BooleanField(default=False)
    schema = models.JSONField(default=dict)
    paused = models.BooleanField(db_default=False)
    paused_by = models.CharField(max_length=200, db_default="")
    breaker = models.CharField(max_length=6, choices=Breaker, db_default=Breaker.CLOSED)
    breaker_changed_at = models.DateTimeField(null=True)
    breaker_probe_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["key", "version"], name="tasks_type_name")]

    def __str__(self) -> str:
        return f"{self.key}@{self.version}"


class TaskPause(models.Model):
    """Pause of a type for one owner. Other owners' tasks continue."""

    type = models.ForeignKey(TaskType, models.CASCADE, related_name="+", db_index=False)
    owner_id = models.UUIDField(db_index=True)
    actor = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["type", "owner_id"], name="tasks_pause_one")]

    def __str__(self) -> str:
        return f"{self.type_id} {self.owner_id}"
