"""Counts of ended runs: by type in slices of ten seconds, and in total.

The acknowledgement and the reaper write the slices. Retention folds slices older than an hour into
the totals, which are never removed. A counter that never falls is the sum of both.
"""

from __future__ import annotations

from django.db import models


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
