"""Models of contests: requests to look at an end again, and the answers."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from jobs.models import Company, Job
from pipeline.domain.contests import REASONS_OF, TEXT_LENGTH, ContestAnswer
from pipeline.models.line import Application


class Contest(models.Model):
    """Request of an applicant to look at the end of an application again, and its answer.

    The events `seq` and `answer_seq` of the log hold the codes; the two texts are only here, and
    end with the person's data. `contested_seq` is the event that ended the application. The times
    are those of the job's clock. `answered_by` as the `actor_id` of an event.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(
        Application, models.CASCADE, related_name="contests", db_index=False
    )
    job = models.ForeignKey(Job, models.CASCADE, related_name="+", db_index=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="+", db_index=False)
    seq = models.BigIntegerField()
    contested_seq = models.BigIntegerField()
    text = models.CharField(max_length=TEXT_LENGTH)
    asked_at = models.DateTimeField()
    answer_by = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    answered_by = models.UUIDField(null=True)
    answer_seq = models.BigIntegerField(null=True)
    answer = models.CharField(
        max_length=8, blank=True, choices=[(each.value, each.value) for each in ContestAnswer]
    )
    reason = models.CharField(
        max_length=16,
        blank=True,
        choices=[(each.value, each.value) for fitting in REASONS_OF.values() for each in fitting],
    )
    answer_text = models.CharField(max_length=TEXT_LENGTH, blank=True)
    answer_request = models.UUIDField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("application", "contested_seq", name="one_contest_per_end"),
        ]
        indexes = [
            models.Index("company", "answer_by", "id", name="contest_open", condition=Q(answer="")),
            models.Index("company", "asked_at", "id", name="contest_listed"),
            models.Index("job", "answer_by", name="contest_of_job", condition=Q(answer="")),
            models.Index("answer_by", name="contest_due", condition=Q(answer="")),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.answer or 'open'}"

    @property
    def is_open(self) -> bool:
        """Tell whether the company still has to answer."""
        return not self.answer

    def is_overdue(self, now: datetime) -> bool:
        """Tell whether the company's time to answer has passed, by the job's clock."""
        return self.is_open and self.answer_by <= now
