"""The rows of background work: types, tasks, what happened to them, schedules and workers.

The database's clock writes every time in here.
"""

from __future__ import annotations

from django.contrib.postgres.indexes import BrinIndex
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from tasks.models.audit import TaskAct as TaskAct
from tasks.models.statuses import HELD, HIGHEST_PRIORITY, LOWEST_PRIORITY, Breaker, Status
from tasks.models.statuses import MOST_ATTEMPTS as MOST_ATTEMPTS
from tasks.models.tallies import TaskTally as TaskTally
from tasks.models.tallies import TaskTotal as TaskTotal


class TaskType(models.Model):
    """What every worker must agree on about a type; the code of its handler stands in `types`."""

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


class Task(models.Model):
    """One piece of background work: a row, and a state machine.

    `parked` takes a pending task out of the claim's way while its owner has paused its type.
    `begun` says whether the present attempt may have begun, and so counts if its worker dies.
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
    trace = models.CharField(max_length=55, db_default="")  # W3C traceparent of who enqueued it
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
                fields=["type", "owner_id"],
                name="tasks_parked",
                condition=Q(status="PENDING", parked=True),
            ),
            models.Index(fields=["type"], name="tasks_held", condition=Q(status__in=HELD)),
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


class TaskPause(models.Model):
    """An owner has paused a type for itself: its tasks of it wait, those of others go on."""

    type = models.ForeignKey(TaskType, models.CASCADE, related_name="+", db_index=False)
    owner_id = models.UUIDField(db_index=True)
    actor = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["type", "owner_id"], name="tasks_pause_one")]

    def __str__(self) -> str:
        return f"{self.type_id} {self.owner_id}"


class TaskEvent(models.Model):
    """One thing that happened to a task; appended, and removed together with the task."""

    class Kind(models.TextChoices):
        ENQUEUED = "enqueued"
        STARTED = "started"
        PROGRESS = "progress"
        EMITTED = "emitted"  # by the handler; data has its name
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        RETRY_SCHEDULED = "retry_scheduled"
        RETURNED = "returned"  # unfinished, by a worker that ends: the attempt does not count
        LEASE_LOST = "lease_lost"
        CANCEL_REQUESTED = "cancel_requested"
        CANCELLED = "cancelled"
        DEAD = "dead"
        REPLAYED = "replayed"
        DISCARDED = "discarded"

    task = models.ForeignKey(Task, models.DO_NOTHING, db_constraint=False, db_index=False)
    kind = models.CharField(max_length=16, choices=Kind)
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


class Schedule(models.Model):
    """A type that is enqueued at the times of a cron expression, in a time zone."""

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


class TaskWorker(models.Model):
    """A worker process, and when it last gave a sign of life."""

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
