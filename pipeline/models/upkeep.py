"""Rows that keep the site itself going: signs of life, answers kept for a day, rates."""

from __future__ import annotations

from django.db import models


class Heartbeat(models.Model):
    """When a kind of worker last completed a cycle, by the database's clock."""

    worker = models.CharField(max_length=20, primary_key=True)
    completed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.worker} {self.completed_at}"


class IdempotencyRecord(models.Model):
    """What is known of a request that was sent under an Idempotency-Key.

    `id` digests who sent the key and the key, `fingerprint` the method, address and body. Without a
    `status` it has no answer yet: it runs until `leased_until`, in the attempt `run`; `released`
    says that it ended with an answer that is not kept. `created_at` is the time in the id of the
    row that it makes.
    """

    id = models.BinaryField(primary_key=True, max_length=32)
    fingerprint = models.BinaryField(max_length=32)
    run = models.UUIDField()
    created_at = models.DateTimeField()
    leased_until = models.DateTimeField()
    expires_at = models.DateTimeField()
    released = models.BooleanField(default=False)
    status = models.SmallIntegerField(null=True)
    headers = models.JSONField(null=True)
    body = models.BinaryField(null=True)

    class Meta:
        indexes = [models.Index("expires_at", name="idempotency_expiry")]

    def __str__(self) -> str:
        return bytes(self.id).hex()


class Throttle(models.Model):
    """How much of a rate somebody has used: all that came before is used up at `empty_at`.

    Kept without a write-ahead log: after a crash of the database everybody starts afresh.
    """

    id = models.BinaryField(primary_key=True, max_length=32)
    empty_at = models.DateTimeField()

    def __str__(self) -> str:
        return bytes(self.id).hex()
