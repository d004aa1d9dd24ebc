"""Models of a company's own words: its name on emails, its texts, and sentences with decisions.

None of them is in the log. The words of a text never change: others are its next version.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import OuterRef, Subquery
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import Company, User
from pipeline.models.line import Application

SENDER_LENGTH = 80
# Of a sentence with a decision, as the company writes it.
SENTENCE_LENGTH = 1_000


class Letterhead(models.Model):
    """Name, reply address and legal name on a company's emails; empty without a choice.

    The reply address was proved by a code. `has_texts`: whether the company has words of its own in
    any text, so that an email without them reads no text.
    """

    company = models.OneToOneField(
        Company, models.CASCADE, primary_key=True, related_name="letterhead"
    )
    sender_name = models.CharField(max_length=SENDER_LENGTH, blank=True)
    reply_address = models.EmailField(blank=True)
    has_texts = models.BooleanField(default=False)
    version = models.IntegerField(default=0)
    changed_at = models.DateTimeField(db_default=Now())
    changed_by = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", db_index=False
    )

    def __str__(self) -> str:
        return self.sender_name or str(self.company_id)


class CompanyText(models.Model):
    """Version of a company's text of one kind in one language; the highest one counts.

    `parts` are its words by the names of their parts (`pipeline.texts.kinds`). A part that is
    missing is in our words.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=30)
    language = models.CharField(max_length=12)
    version = models.IntegerField()
    parts: models.JSONField[dict[str, str], Any] = models.JSONField(default=dict)
    changed_at = models.DateTimeField(db_default=Now())
    changed_by = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", db_index=False
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "company", "language", "kind", "version", name="one_text_per_version"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.company_id} {self.kind} {self.version}"


class DecisionText(models.Model):
    """Text of a company to a person with a decision, by the `seq` of its event.

    The person reads it on their page and in the email. Kept out of the log, so that it can be
    erased.
    """

    id = models.BigAutoField(primary_key=True)
    application = models.ForeignKey(
        Application, models.CASCADE, related_name="decision_texts", db_index=False
    )
    seq = models.BigIntegerField()
    text = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint("application", "seq", name="text_of_event")]

    def __str__(self) -> str:
        return str(self.application_id)

    @classmethod
    def of_event(cls) -> Subquery:
        """Return the text with an event, as a column of a query of the log."""
        own = cls.objects.filter(application_id=OuterRef("application_id"), seq=OuterRef("seq"))
        return Subquery(own.values("text"))
