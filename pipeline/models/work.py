"""Rows of a company's background work: files, imports, reports, and what a key may start.

What a task carries is ids only; whatever is longer, or tells of people, lies here, and goes after
its time or when a person is erased.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from applicants.models import NAME_LENGTH
from jobs.models import ApiKey, Job


class StoredFile(models.Model):
    """A file that a company gave us or that was made for it, in parts; gone at `expires_at`.

    It lies in the database, so that every web server and every worker has it, and a backup too.
    """

    class Purpose(models.TextChoices):
        IMPORT = "IMPORT"  # what a company gave to be imported
        EXPORT = "EXPORT"  # what was made for it to take away

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
    """A piece of a file. Pieces end where lines end, so that no name lies in two of them."""

    file = models.ForeignKey(StoredFile, models.CASCADE, related_name="parts")
    number = models.IntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint("file", "number", name="file_part")]

    def __str__(self) -> str:
        return f"{self.file_id} {self.number}"


class ImportRun(models.Model):
    """How far the import of a file is. Moved on in the transaction that takes in the rows.

    `next_row` is the first row, from 0, that was neither taken in nor refused yet; those before it
    are no longer in the file. `ending` says why it has ended, at `finished_at`.
    """

    class Ending(models.TextChoices):
        COMPLETE = "COMPLETE"  # every row was taken in or refused
        JOB_PAUSED = "JOB_PAUSED"
        JOB_CLOSED = "JOB_CLOSED"

    file = models.OneToOneField(
        StoredFile, models.CASCADE, primary_key=True, related_name="import_run"
    )
    total_rows = models.IntegerField()
    next_row = models.IntegerField(default=0)
    accepted = models.IntegerField(default=0)
    refused = models.IntegerField(default=0)
    started_by = models.UUIDField()
    ending = models.CharField(max_length=10, choices=Ending, default="")
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.file_id} {self.next_row}"


class ImportRefusal(models.Model):
    """A row that an import did not take in, and why; what it said, for the report.

    `row` is counted as a spreadsheet counts: the one with the names of the columns is 1.
    """

    run = models.ForeignKey(ImportRun, models.CASCADE, related_name="refusals")
    row = models.IntegerField()
    reason = models.CharField(max_length=40)
    name = models.CharField(max_length=NAME_LENGTH)
    email = models.CharField(max_length=320)

    class Meta:
        constraints = [models.UniqueConstraint("run", "row", name="one_refusal_a_row")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.row} {self.reason}"


class WeeklyReport(models.Model):
    """What happened in a job in one week, from Monday to Monday, in numbers; tells of nobody."""

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
    """What background work an API key may start. A key without a row: what companies may start."""

    key = models.OneToOneField(ApiKey, models.CASCADE, primary_key=True, related_name="producer")
    # The keys of the types; None for all that a company may start.
    types = ArrayField(models.CharField(max_length=200), null=True)
    # How many tasks in a minute; None for the site's rate.
    per_minute = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return str(self.key_id)
