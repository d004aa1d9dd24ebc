"""Models of ids and texts that a company's other systems attach to jobs and applications.

Kept off the hot rows and out of the log, and erased with the person.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models

from jobs.models import Job
from pipeline.models.line import Application

EXTERNAL_ID_LENGTH = 200
METADATA_KEYS, METADATA_KEY_LENGTH, METADATA_VALUE_LENGTH = 20, 40, 500


class Reference(models.Model):
    """A company's own id of an object, unique among those of its kind, and its own texts by key."""

    company_id = models.UUIDField()
    external_id = models.CharField(max_length=EXTERNAL_ID_LENGTH, null=True)  # noqa: DJ001
    metadata: models.JSONField[dict[str, str], Any] = models.JSONField(default=dict)

    kind: ClassVar[str]

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint("company_id", "external_id", name="one_%(class)s_per_id")
        ]

    def __str__(self) -> str:
        return self.external_id or str(self.pk)


class JobReference(Reference):
    """Id and texts of a job in a company's other systems."""

    kind = "job"
    job = models.OneToOneField(Job, models.CASCADE, primary_key=True, related_name="reference")


class ApplicationReference(Reference):
    """Id and texts of an application in a company's other systems; may be personal data."""

    kind = "application"
    application = models.OneToOneField(
        Application, models.CASCADE, primary_key=True, related_name="reference"
    )
