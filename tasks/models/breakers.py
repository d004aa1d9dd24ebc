"""Circuit breakers of individual owners, and the counts they are based on."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from tasks.models.statuses import Breaker


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
