"""Models of what a company tells people who apply, and of what they agree to."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import Company
from pipeline.models.line import Application

NOTICE_LENGTH, CONSENT_LENGTH = 20_000, 1_000


class ConsentVersion(models.Model):
    """Version of a company's privacy notice, or of something that people can agree to.

    Never changed. Versions with the same `item` say the same thing over time. The company's row
    names those that are shown now.
    """

    class Kind(models.TextChoices):
        NOTICE = "NOTICE"  # read, not agreed to
        CONSENT = "CONSENT"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="consent_versions")
    item = models.UUIDField()
    number = models.IntegerField()
    kind = models.CharField(max_length=7, choices=Kind)
    text = models.TextField(max_length=NOTICE_LENGTH)
    is_required = models.BooleanField()
    published_at = models.DateTimeField(db_default=Now())
    published_by = models.UUIDField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint("item", "number", name="one_consent_per_number")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="never_changed", operation=pgtrigger.Update)
        ]

    def __str__(self) -> str:
        return f"{self.item} {self.number}"

    @property
    def is_notice(self) -> bool:
        """Tell whether this is the privacy notice."""
        return self.kind == self.Kind.NOTICE


class Agreement(models.Model):
    """Version that a person was shown when applying, and whether they agreed to it.

    A notice is only shown. `withdrawn_at`: the person took a consent back.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(Application, models.CASCADE, related_name="agreements")
    version = models.ForeignKey(
        ConsentVersion, models.PROTECT, related_name="agreements", db_index=False
    )
    agreed = models.BooleanField()
    at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.application_id} {self.version_id} {self.agreed}"
