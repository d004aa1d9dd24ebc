"""Model of the reasoned exceptions to a line's order."""

from __future__ import annotations

from django.db import models

from jobs.models import Job
from pipeline.domain.states import ExceptionReason
from pipeline.models.line import Application

EXCEPTION_TEXT_LENGTH = 500


class LineException(models.Model):
    """One person moved to the front of a line, ahead of others who are all told of it.

    The event `seq` holds the same without the text, which everyone passed reads. `from_ticket` and
    `from_tie` are the place before, so they say whom it passed. Rows are never deleted: the public
    facts count them for ever. The text ends with the personal data of the person moved.
    """

    job = models.ForeignKey(Job, models.PROTECT, related_name="exceptions", db_index=False)
    application = models.ForeignKey(Application, models.PROTECT, related_name="exceptions")
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    reason = models.CharField(
        max_length=10, choices=[(each.value, each.value) for each in ExceptionReason]
    )
    text = models.CharField(max_length=EXCEPTION_TEXT_LENGTH, blank=True, default="")
    from_ticket = models.BigIntegerField()
    from_tie = models.BigIntegerField()
    people_passed = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint("job", "seq", name="exception_of_event"),
            models.CheckConstraint(
                condition=models.Q(people_passed__gt=0), name="exception_passes_someone"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.seq} {self.reason}"
