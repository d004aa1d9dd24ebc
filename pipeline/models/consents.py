"""Models of what a company tells people who apply, and of what they agree to."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import ngettext
from uuid_utils.compat import uuid7

from jobs.models import Company
from pipeline.models.line import Application

NOTICE_LENGTH, CONSENT_LENGTH = 20_000, 1_000
MOST_POOL_MONTHS = 24  # for which people can stay in a company's talent pool


class ConsentVersion(models.Model):
    """Version of a company's privacy notice, or of something that people can agree to.

    Never changed. Versions with the same `item` say the same thing over time. The company's row
    names those that are shown now. That of the talent pool has no text, but the months after which
    an agreement to it ends.
    """

    class Kind(models.TextChoices):
        NOTICE = "NOTICE"  # read, not agreed to
        CONSENT = "CONSENT"
        POOL = "POOL"  # to be in the talent pool

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="consent_versions")
    item = models.UUIDField()
    number = models.IntegerField()
    kind = models.CharField(max_length=7, choices=Kind)
    text = models.TextField(max_length=NOTICE_LENGTH)
    is_required = models.BooleanField()
    months = models.SmallIntegerField(null=True)
    published_at = models.DateTimeField(db_default=Now())
    published_by = models.UUIDField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("item", "number", name="one_consent_per_number"),
            models.CheckConstraint(
                condition=Q(
                    kind="POOL",
                    months__isnull=False,
                    months__range=(1, MOST_POOL_MONTHS),
                    is_required=False,
                )
                | (~Q(kind="POOL") & Q(months__isnull=True)),
                name="consent_pool_is_free_and_ends",
            ),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="never_changed", operation=pgtrigger.Update)
        ]

    def __str__(self) -> str:
        return f"{self.item} {self.number}"

    @property
    def is_notice(self) -> bool:
        """Tell whether this is the privacy notice."""
        return self.kind == self.Kind.NOTICE

    @property
    def is_of_pool(self) -> bool:
        """Tell whether this is the consent to be in the talent pool."""
        return self.kind == self.Kind.POOL

    @property
    def shown_text(self) -> str:
        """Return the company's text, or ours for the talent pool."""
        if self.months is None:
            return self.text
        return ngettext(
            "This company may write to me about its other jobs. That ends after %(months)s month,"
            " with the data of this application, or when I take it back.",
            "This company may write to me about its other jobs. That ends after %(months)s months,"
            " with the data of this application, or when I take it back.",
            self.months,
        ) % {"months": self.months}


class Agreement(models.Model):
    """Version that a person was shown when applying, and whether they agreed to it.

    A notice is only shown. `withdrawn_at`: the person took a consent back. `ends_at`: when being in
    the talent pool ends by itself.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(Application, models.CASCADE, related_name="agreements")
    version = models.ForeignKey(
        ConsentVersion, models.PROTECT, related_name="agreements", db_index=False
    )
    agreed = models.BooleanField()
    at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                "version",
                "application",
                name="agreement_of_pool",
                condition=Q(ends_at__isnull=False, withdrawn_at=None),
            )
        ]

    def __str__(self) -> str:
        return f"{self.application_id} {self.version_id} {self.agreed}"
