"""Logs that are in the archive alone: their rows were removed from the database."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Func
from django.db.models.functions import Now

from jobs.models import Job
from pipeline.models.log_triggers import REMOVED_LOG_TRIGGERS


class RemovedLog(models.Model):
    """Log of a closed job whose rows were removed. `events` and `head` are those of its file.

    `last_txid` and `last_id` are the place of its last event in the feed, so that who has read so
    far can read on.

    A log's rows can be deleted only in the transaction that makes this row, and only all of them.
    This row can be deleted only in a transaction after which all of them are there again. `txid` is
    the transaction that made it. Made and deleted by the role that owns the tables
    (`pipeline.audit.removal`); the application's role only reads it.
    """

    job = models.OneToOneField(Job, models.PROTECT, primary_key=True, related_name="removed_log")
    events = models.BigIntegerField()
    head = models.BinaryField(max_length=32)
    last_txid = models.BigIntegerField()
    last_id = models.BigIntegerField()
    removed_at = models.DateTimeField(db_default=Now())
    txid = models.BigIntegerField(db_default=Func(function="txid_current"))

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = REMOVED_LOG_TRIGGERS

    def __str__(self) -> str:
        return str(self.pk)
