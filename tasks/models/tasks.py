"""Tasks and their history. The database's clock writes every time."""

from __future__ import annotations

from uuid import UUID

from django.contrib.postgres.indexes import BrinIndex
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce, Now
from uuid_utils.compat import uuid7

from tasks.models.statuses import HELD, HIGHEST_PRIORITY, LOWEST_PRIORITY, EventKind, Status
from tasks.models.types import TaskType

# Represents the site in the order of turns: tasks without an owner are the site's own.
NO_OWNER = UUID(int=0)


class Task(models.Model):
    """Piece of background work, with its status.

    `parked` keeps a pending task out of the claim's way while its type is stopped for its owner.
    `begun` says whether the current attempt may have begun; if so, it counts if its worker dies.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    type = models.ForeignKey(
        TaskType, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    payload = models.JSONField(db_default={})
    queue = models.CharField(max_length=64)
    status = models.CharField(max_length=10, choices=Status, db_default=Status.PENDING)
    priority = models.SmallIntegerField(
        db_default=0,
        validators=[MinValueValidator(LOWEST_PRIORITY), MaxValueValidator(HIGHEST_PRIORITY)],
    )
    run_after = models.DateTimeField(db_default=Now())
    attempt = models.PositiveSmallIntegerField(db_default=0)
    max_attempts = models.PositiveSmallIntegerField(db_default=5)
    worker = models.CharField(max_length=100, db_default="")
    lease_until = models.DateTimeField(null=True)
    progress = models.JSONField(null=True)
    result = models.JSONField(null=True)
    errors = models.JSONField(db_default=[])
    idempotency_key = models.CharField(max_length=256, null=True)  # noqa: DJ001 -- unique if given
    owner_id = models.UUIDField(null=True)
    producer = models.CharField(max_length=200, db_default="")
    request_id = models.CharField(max_length=100, db_default="")
    trace = models.CharField(max_length=55, db_default="")  # W3C traceparent of the enqueuing trace
    parked = models.BooleanField(db_default=False)
    begun = models.BooleanField(db_default=True)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["type", "queue", "priority", "run_after", "id"],
                name="tasks_pending",
                condition=Q(status="PENDING", parked=False),
            ),
            models.Index(
                "type",
                "queue",
                "priority",
                Coalesce("owner_id", models.Value(NO_OWNER, output_field=models.UUIDField())),
                "run_after",
                "id",
                name="tasks_turns",
                condition=Q(status="PENDING", parked=False),
            ),
            models.Index(
                fields=["type", "owner_id"],
                name="tasks_parked",
                condition=Q(status="PENDING", parked=True),
            ),
            models.Index(fields=["type"], name="tasks_held", condition=Q(status__in=HELD)),
            models.Index(
                fields=["type", "attempt"],
                name="tasks_failing",
                condition=Q(status="PENDING", parked=False, attempt__gt=0),
            ),
            models.Index(
                fields=["finished_at"],
                name="tasks_finished",
                condition=Q(finished_at__isnull=False),
            ),
            models.Index(fields=["type", "id"], name="tasks_dead", condition=Q(status="DEAD")),
            models.Index(
                fields=["owner_id", "id"], name="tasks_owner", condition=Q(owner_id__isnull=False)
            ),
            models.Index(
                fields=["owner_id", "status", "id"],
                name="tasks_owner_status",
                condition=Q(owner_id__isnull=False),
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["type", "owner_id", "idempotency_key"],
                name="tasks_idempotent",
                condition=Q(idempotency_key__isnull=False),
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return str(self.id)


class TaskEvent(models.Model):
    """Event in a task's history. It is never changed, and is removed with the task."""

    task = models.ForeignKey(Task, models.DO_NOTHING, db_constraint=False, db_index=False)
    kind = models.CharField(max_length=16, choices=EventKind)
    at = models.DateTimeField(db_default=Now())
    attempt = models.PositiveSmallIntegerField(db_default=0)
    actor = models.CharField(max_length=200, db_default="")
    data = models.JSONField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["task", "id"], name="tasks_event_task"),
            BrinIndex(fields=["at"], name="tasks_event_at"),
        ]

    def __str__(self) -> str:
        return f"{self.task_id} {self.kind}"
