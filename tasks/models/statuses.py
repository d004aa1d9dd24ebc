"""Where a task can stand, how its type's breaker can, and within which bounds its numbers lie."""

from __future__ import annotations

from django.db import models

LOWEST_PRIORITY, HIGHEST_PRIORITY = -100, 100
MOST_ATTEMPTS = 20


class Status(models.TextChoices):
    """Where a task stands. The comment says who moves it on."""

    PENDING = "PENDING"  # a worker's claim, once run_after has come; a person: cancel or bury
    RUNNING = "RUNNING"  # its worker's acknowledgement; the reaper, when the lease has expired
    CANCELLING = "CANCELLING"  # its worker, when the child has ended; the reaper
    SUCCEEDED = "SUCCEEDED"  # retention removes it
    CANCELLED = "CANCELLED"  # retention removes it
    DEAD = "DEAD"  # a person: replay or discard; retention, at last
    DISCARDED = "DISCARDED"  # retention removes it


HELD = [Status.RUNNING, Status.CANCELLING]
"""A worker has it."""


class Breaker(models.TextChoices):
    CLOSED = "CLOSED"  # the acknowledgement that tips the balance of failures opens it
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
    RETURNED = "returned"  # unfinished, by a worker that ends: the attempt does not count
    LEASE_LOST = "lease_lost"
    CANCEL_REQUESTED = "cancel_requested"
    CANCELLED = "cancelled"
    DEAD = "dead"
    REPLAYED = "replayed"
    DISCARDED = "discarded"
