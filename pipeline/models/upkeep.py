"""Models of the site itself: signs of life, keys, responses kept for a day, rate limits, words."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Heartbeat(models.Model):
    """Time at which a kind of worker last completed a cycle, by the database's clock.

    The rows `site` and `web` are the last signs of life of any worker and of any web server, and
    the last silence before one, until open offers are extended by it. `anchors` is the time of the
    last run that wrote them, and `backup` what the operator's own command records.
    """

    worker = models.CharField(max_length=20, primary_key=True)
    completed_at = models.DateTimeField()
    silent_since = models.DateTimeField(null=True)
    silent_until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.worker} {self.completed_at}"


class WebServer(models.Model):
    """Machine on which web server processes have answered in the last day, and their release."""

    name = models.CharField(max_length=100, primary_key=True)
    version = models.CharField(max_length=60)
    answered_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class ReceiptKey(models.Model):
    """Public half of a key with which this site has signed receipts."""

    id = models.CharField(max_length=16, primary_key=True)
    public_key = models.BinaryField(max_length=32)
    used_since = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.id


class IdempotencyRecord(models.Model):
    """State of a request that was sent under an Idempotency-Key.

    `id` is a digest of the caller and the key, `fingerprint` of the method, URL and body. A row
    without `status` has no response yet: it runs until `leased_until`, in the attempt `run`.
    `released` means that it ended with a response that is not kept. `created_at` is the time in the
    id of the row that the request creates.
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
    """Used part of a caller's rate limit. At `empty_at`, all of it is free again.

    The table has no write-ahead log: after a database crash, every limit starts unused.
    """

    id = models.BinaryField(primary_key=True, max_length=32)
    empty_at = models.DateTimeField()

    def __str__(self) -> str:
        return bytes(self.id).hex()


class NameWord(models.Model):
    """Word of an applicant's name, for a company's search of its own applicants.

    Written by `pipeline.maintenance.name_index` soon after the application. A trigger updates the
    words when the name is changed or erased.
    """

    company_id = models.UUIDField()
    word = models.TextField(db_collation="C")
    application_id = models.UUIDField()

    class Meta:
        indexes = [models.Index("company_id", "word", "application_id", name="name_word")]

    def __str__(self) -> str:
        return self.word
