"""Models of equal-opportunity answers, apart from people and applications.

No row names a person, an application, a job or a time. See docs/privacy.md.
"""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from jobs.models import Company


class EqualityAnswers(models.Model):
    """Choices of one person, by question. `key` is a keyed hash of the application's id.

    The key of that hash is the site's secret, which is not in the database. `is_mixed`: the row was
    written again together with others, in random order.
    """

    key = models.BinaryField(primary_key=True, max_length=32)
    choices: models.JSONField[dict[str, str], dict[str, str]] = models.JSONField()
    is_mixed = models.BooleanField(default=False, db_default=False)

    class Meta:
        indexes = [
            models.Index("is_mixed", name="equality_to_mix", condition=models.Q(is_mixed=False))
        ]

    def __str__(self) -> str:
        return "equality answers"


class EqualityTotals(models.Model):
    """Totals that a company sees, as they were last made. `people`: how many answers they cover."""

    company: models.OneToOneField[Company, Company] = models.OneToOneField(
        Company, models.CASCADE, primary_key=True, related_name="equality_totals"
    )
    people = models.IntegerField()
    counts: models.JSONField[dict[str, dict[str, int]], dict[str, dict[str, int]]] = (
        models.JSONField()
    )
    made_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.company_id} {self.people}"
