"""Forecasts of a job's waits, and what was said to applicants, to count how often it came true."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class JobForecast(models.Model):
    """Forecast of a job's line, made by the scheduler. The order never reads it.

    `positions` holds, by position, the seconds of the shorter and the longer wait, and the number
    of people on whom they are based.
    """

    job_id = models.UUIDField(primary_key=True)
    seq = models.BigIntegerField()
    made_at = models.DateTimeField()
    positions = models.JSONField(default=dict)
    # How many of the last statements have an end, and how many of them came true.
    settled = models.IntegerField(default=0)
    came_true = models.IntegerField(default=0)

    def __str__(self) -> str:
        return str(self.job_id)


class ForecastStatement(models.Model):
    """Forecast as the pages said it to one waiting person on one day. Ids and numbers only.

    `came_true` is empty while it is open. A statement about a person who left before its time is
    deleted: nobody knows how long they would have waited.
    """

    id = models.BigAutoField(primary_key=True)
    job_id = models.UUIDField()
    application_id = models.UUIDField()
    position = models.IntegerField()
    half_seconds = models.BigIntegerField()
    most_seconds = models.BigIntegerField()
    made_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField()
    came_true = models.BooleanField(null=True)

    class Meta:
        indexes = [
            models.Index("job_id", "id", name="statement_of_job"),
            models.Index("application_id", "made_at", name="statement_of_application"),
            models.Index(
                "due_at", name="open_statement", condition=models.Q(came_true__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class LastWhatIf(models.Model):
    """Task of a job's last what-if: one that a page has started, or that has begun to run.

    After a while the task is removed, and there is none.
    """

    job_id = models.UUIDField(primary_key=True)
    task_id = models.UUIDField(null=True)

    def __str__(self) -> str:
        return str(self.job_id)
