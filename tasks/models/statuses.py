"""Statuses of tasks and breakers, kinds of events, and limits of a task's numbers."""

from __future__ import annotations

from django.db import models

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
