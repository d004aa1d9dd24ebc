"""Models of background work: types, tasks, events, schedules, workers, counts and audit."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.postgres.indexes import BrinIndex
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce, Now
from uuid_utils.compat import uuid7

# Statuses of tasks and breakers, kinds of events, and limits of a task's numbers.


LOWEST_PRIORITY, HIGHEST_PRIORITY = -100, 100
MOST_ATTEMPTS = 20


class Status(models.TextChoices):
    """Statuses of a task. The comments name what can change each."""

    PENDING = "PENDING"  # a worker's claim, once run_after has come; a person: cancel, bury
    RUNNING = "RUNNING"  # its worker's acknowledgement; the reaper, when the lease has expired
    CANCELLING = "CANCELLING"  # its worker, when the child has ended; the reaper
    SUCCEEDED = "SUCCEEDED"  # retention removes it
    CANCELLED = "CANCELLED"  # retention removes it
    DEAD = "DEAD"  # a person: replay or discard; finally retention
    DISCARDED = "DISCARDED"  # retention removes it


# A worker owns the task.
HELD = [Status.RUNNING, Status.CANCELLING]


class Breaker(models.TextChoices):
    CLOSED = "CLOSED"  # the acknowledgement that makes the failures too many opens it
    OPEN = "OPEN"  # the success of a probe closes it; so does a person


class EventKind(models.TextChoices):
    """Kinds of events in a task's history."""

    ENQUEUED = "enqueued"
    STARTED = "started"
    PROGRESS = "progress"
    EMITTED = "emitted"  # by the handler; data has its name
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RETRY_SCHEDULED = "retry_scheduled"
    RETURNED = "returned"  # by a worker, unfinished: the attempt does not count
    LEASE_LOST = "lease_lost"
    CANCEL_REQUESTED = "cancel_requested"
    CANCELLED = "cancelled"
    DEAD = "dead"
    REPLAYED = "replayed"
    DISCARDED = "discarded"


# Types of background work, and their pauses for single owners.


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


# Tasks and their history. The database's clock writes every time.


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
            models.Index(
                fields=["type", "lease_until"], name="tasks_leases", condition=Q(status__in=HELD)
            ),
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


# Circuit breakers of individual owners, and the counts they are based on.


class TaskOwnerBreaker(models.Model):
    """Breaker of a type for one owner, from its first opening. Other owners' tasks continue."""

    type = models.ForeignKey(
        "tasks.TaskType", models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    owner_id = models.UUIDField()
    breaker = models.CharField(max_length=6, choices=Breaker, db_default=Breaker.OPEN)
    changed_at = models.DateTimeField(db_default=Now())
    probe_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["type", "owner_id"], name="tasks_breaker_one")
        ]

    def __str__(self) -> str:
        return f"{self.type_id} {self.owner_id} {self.breaker}"


class TaskOwnerTally(models.Model):
    """Ended attempts of a type for one owner within ten seconds; kept for an hour."""

    type = models.ForeignKey(
        "tasks.TaskType", models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    owner_id = models.UUIDField()
    slot = models.DateTimeField()
    succeeded = models.IntegerField(db_default=0)
    failed = models.IntegerField(db_default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["type", "owner_id", "slot"], name="tasks_owner_tally_slot"
            )
        ]

    def __str__(self) -> str:
        return f"{self.type_id} {self.owner_id} {self.slot}"


# Counts of ended runs: by type in slices of ten seconds, and in total. The acknowledgement and the
# reaper write the slices. Retention folds slices older than an hour into the totals, which are
# never removed. A counter that never falls is the sum of both.


class TaskTally(models.Model):
    """Ended attempts of a type within ten seconds, for the breaker and the metrics."""

    type = models.ForeignKey(
        "tasks.TaskType", models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    slot = models.DateTimeField()
    succeeded = models.IntegerField(db_default=0)
    failed = models.IntegerField(db_default=0)
    retried = models.IntegerField(db_default=0)
    dead = models.IntegerField(db_default=0)
    cancelled = models.IntegerField(db_default=0)
    expired = models.IntegerField(db_default=0)
    discarded = models.IntegerField(db_default=0)
    seconds = models.FloatField(db_default=0)
    took_100ms = models.IntegerField(db_default=0)  # at most 100 ms
    took_1s = models.IntegerField(
        db_default=0
    )  # at most 1 s, but longer than the column before; likewise below
    took_10s = models.IntegerField(db_default=0)
    took_60s = models.IntegerField(db_default=0)
    took_300s = models.IntegerField(db_default=0)
    took_longer = models.IntegerField(db_default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["type", "slot"], name="tasks_tally_slot")]

    def __str__(self) -> str:
        return f"{self.type_id} {self.slot}"


class TaskTotal(models.Model):
    """All-time ended attempts of a type, except those still in slices."""

    type = models.OneToOneField(
        "tasks.TaskType", models.DO_NOTHING, related_name="+", primary_key=True, db_constraint=False
    )
    succeeded = models.BigIntegerField(db_default=0)
    failed = models.BigIntegerField(db_default=0)
    retried = models.BigIntegerField(db_default=0)
    dead = models.BigIntegerField(db_default=0)
    cancelled = models.BigIntegerField(db_default=0)
    expired = models.BigIntegerField(db_default=0)
    discarded = models.BigIntegerField(db_default=0)
    seconds = models.FloatField(db_default=0)
    took_100ms = models.BigIntegerField(db_default=0)
    took_1s = models.BigIntegerField(db_default=0)
    took_10s = models.BigIntegerField(db_default=0)
    took_60s = models.BigIntegerField(db_default=0)
    took_300s = models.BigIntegerField(db_default=0)
    took_longer = models.BigIntegerField(db_default=0)

    def __str__(self) -> str:
        return str(self.type_id)


# Worker processes.


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


# Audit of types and schedules. A task's own events are its audit.


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


def note_action(
    what: TaskAct.What,
    target: str,
    *,
    actor: str,
    owner_id: UUID | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """Record an action in its transaction; `target` is a type's key or a schedule's id."""
    TaskAct.objects.create(what=what, target=target, actor=actor, owner_id=owner_id, data=data)


# Schedules: types enqueued at the times of a cron expression.


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


__all__ = [
    "EventKind",
    "Schedule",
    "Task",
    "TaskAct",
    "TaskEvent",
    "TaskOwnerBreaker",
    "TaskOwnerTally",
    "TaskPause",
    "TaskTally",
    "TaskTotal",
    "TaskType",
    "TaskWorker",
]
