"""Models of a company's background work: files, imports, reports, and the limits of keys.

A task carries only ids. Larger data and personal data are kept here, and are deleted when they
expire or when a person is erased.
"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from applicants.models import NAME_LENGTH
from jobs.models import ApiKey, Job
from pipeline.models.review import EXTERNAL_ID_LENGTH


class StoredFile(models.Model):
    """File of a company, uploaded by it or made for it, stored in parts. Deleted at `expires_at`.

    It is stored in the database, so that every web server, worker and backup has it.
    """

    class Purpose(models.TextChoices):
        IMPORT = "IMPORT"  # uploaded by a company
        EXPORT = "EXPORT"  # made for download

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company_id = models.UUIDField()
    job_id = models.UUIDField()
    purpose = models.CharField(max_length=6, choices=Purpose)
    name = models.CharField(max_length=200)
    content_type = models.CharField(max_length=100)
    size_bytes = models.BigIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    is_complete = models.BooleanField(default=False)
    task_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index("company_id", "id", name="file_of_company"),
            models.Index("expires_at", name="file_expiry"),
        ]

    def __str__(self) -> str:
        return self.name


class StoredPart(models.Model):
    """Part of a file. Parts end where lines end, so that no name is split between two."""

    file = models.ForeignKey(StoredFile, models.CASCADE, related_name="parts")
    number = models.IntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint("file", "number", name="file_part")]

    def __str__(self) -> str:
        return f"{self.file_id} {self.number}"


class ImportRun(models.Model):
    """Progress of the import of a file, updated in the transaction that admits the rows.

    `next_row` is the first row, counted from 0, that is neither admitted nor refused yet. The rows
    before it are no longer in the file. Until a worker has read the file (`is_read`), its parts
    hold the original bytes. `ending` says why the import ended at `finished_at`, and `trouble` why
    the file could not be read. `columns` says how the columns of a CSV file were understood.
    `already_there` counts the rows whose application an earlier request or import had made.

    While it is `check_only`, nobody is admitted: `next_row` and the refusals say what was checked,
    and all rows stay in the file. `admitted_seqs` are the first and last `seq` in the job's log of
    each batch of rows. An undo, asked for by `undo_by`, removes up to `undo_total` people.
    """

    class Ending(models.TextChoices):
        COMPLETE = "COMPLETE"  # every row was admitted or refused
        JOB_PAUSED = "JOB_PAUSED"
        JOB_CLOSED = "JOB_CLOSED"
        JOB_FULL = "JOB_FULL"  # the log of a job in a sandbox
        BAD_FILE = "BAD_FILE"  # nobody was admitted: the file cannot be read

    file = models.OneToOneField(
        StoredFile, models.CASCADE, primary_key=True, related_name="import_run"
    )
    is_read = models.BooleanField(default=True)
    trouble = models.CharField(max_length=300, default="")
    columns: models.JSONField[dict[str, Any], Any] = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField())
    )
    total_rows = models.IntegerField()
    next_row = models.IntegerField(default=0)
    accepted = models.IntegerField(default=0)
    refused = models.IntegerField(default=0)
    already_there = models.IntegerField(db_default=0)
    started_by = models.UUIDField()
    ending = models.CharField(max_length=10, choices=Ending, default="")
    finished_at = models.DateTimeField(null=True)
    check_only = models.BooleanField(db_default=False)
    checked_at = models.DateTimeField(null=True)
    # None: the import began before an import could be undone.
    admitted_seqs = ArrayField(models.BigIntegerField(), null=True)
    undo_by = models.UUIDField(null=True)
    undo_task_id = models.UUIDField(null=True)
    undo_total = models.IntegerField(db_default=0)
    undone = models.IntegerField(db_default=0)
    undo_ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.file_id} {self.next_row}"


class ImportRefusal(models.Model):
    """Row that an import refused, the reason, and its text for the report.

    `row` is the number that a spreadsheet shows: the row of the column names is 1.
    """

    run = models.ForeignKey(ImportRun, models.CASCADE, related_name="refusals")
    row = models.IntegerField()
    reason = models.CharField(max_length=40)
    name = models.CharField(max_length=NAME_LENGTH)
    email = models.CharField(max_length=320)
    external_id = models.CharField(max_length=EXTERNAL_ID_LENGTH, db_default="")
    # The application that is in the way, if there is one.
    application_id = models.UUIDField(null=True)
    # Of a refused answer: the column of the file, and what is wrong. It holds no answer.
    detail = models.CharField(max_length=400, db_default="")
    # As they were in the row, by the keys of their questions, so that the report can be corrected.
    answers: models.JSONField[dict[str, Any] | None, Any] = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint("run", "row", name="one_refusal_a_row")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.row} {self.reason}"


class ImportedRow(models.Model):
    """Row of an import that has an application: a new one, or one that was there already."""

    pk = models.CompositePrimaryKey("run_id", "row")
    run = models.ForeignKey(ImportRun, models.CASCADE, related_name="imported_rows", db_index=False)
    row = models.IntegerField()
    application_id = models.UUIDField()
    already_there = models.BooleanField()

    def __str__(self) -> str:
        return f"{self.run_id} {self.row} {self.application_id}"


class WeeklyReport(models.Model):
    """Numbers of a job's week, from Monday to Monday; no personal data."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    job = models.ForeignKey(Job, models.CASCADE, related_name="weekly_reports", db_index=False)
    week = models.DateField()
    zone = models.CharField(max_length=64, default="UTC")
    figures = models.JSONField()
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint("job", "week", name="one_report_a_week")]

    def __str__(self) -> str:
        return f"{self.job_id} {self.week}"


class Producer(models.Model):
    """Limits of the background work that an API key may start. A key without a row has none."""

    key = models.OneToOneField(ApiKey, models.CASCADE, primary_key=True, related_name="producer")
    # Keys of task types; None for all that a company may start.
    types = ArrayField(models.CharField(max_length=200), null=True)
    # Tasks per minute; None for the site's rate.
    per_minute = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return str(self.key_id)
