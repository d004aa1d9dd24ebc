"""Schedules: types enqueued at the times of a cron expression."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7


class Schedule(models.Model):
    """Type enqueued at the times of a cron expression in a time zone."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=200)
    cron = models.CharField(max_length=100)
    zone = models.CharField(max_length=64, default="UTC")
    type_key = models.CharField(max_length=200)
    type_version = models.PositiveSmallIntegerField(null=True)
    payload = models.JSONField(default=dict)
    priority = models.SmallIntegerField(default=0)
    owner_id = models.UUIDField(null=True, db_index=True)
    enabled = models.BooleanField(default=True)
    catch_up = models.BooleanField(default=False)
    last_enqueued_for = models.DateTimeField(null=True)
    next_at = models.DateTimeField()
    problem = models.CharField(max_length=500, db_default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["next_at"], name="tasks_due", condition=Q(enabled=True))]

    def __str__(self) -> str:
        return self.name
