"""Worker processes."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class TaskWorker(models.Model):
    """Worker process and its latest heartbeat."""

    name = models.CharField(max_length=100, primary_key=True)
    slots = models.PositiveSmallIntegerField()
    queues = models.JSONField(null=True)
    types = models.JSONField(null=True)
    running = models.PositiveIntegerField(db_default=0)
    sleeping = models.BooleanField(db_default=False)
    started_at = models.DateTimeField(db_default=Now())
    beat_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.name
