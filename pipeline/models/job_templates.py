"""Settings of a job that a company keeps under a name, as a start for new jobs."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from uuid_utils.compat import uuid7

from jobs.models import (
    DESCRIPTION_LENGTH,
    LOCATION_LENGTH,
    MAX_CAPACITY,
    TITLE_LENGTH,
    Company,
)
from jobs.policies import POLICY_FIELDS, Policy

TEMPLATE_NAME_LENGTH = 80
# Key in the rules: true if the first order of a new job's line is drawn by lot.
BY_LOT = "by_lot"


class JobTemplate(models.Model):
    """Posting, number of seats and rules under a name. A job made from it has no tie to it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="job_templates")
    name = models.CharField(max_length=TEMPLATE_NAME_LENGTH)
    title = models.CharField(max_length=TITLE_LENGTH)
    description = models.TextField(blank=True, max_length=DESCRIPTION_LENGTH)
    location = models.CharField(blank=True, max_length=LOCATION_LENGTH)
    capacity = models.IntegerField()
    # The values of a `Policy`, and BY_LOT. A rule that was added later has its default.
    rules = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("company", Lower("name"), name="one_job_template_per_name"),
            models.CheckConstraint(
                condition=Q(capacity__range=(1, MAX_CAPACITY)), name="job_template_capacity"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def policy(self) -> Policy:
        """Rules for the line of a new job."""
        return Policy(**{name: self.rules[name] for name in POLICY_FIELDS if name in self.rules})

    @property
    def by_lot(self) -> bool:
        """True if the first order of a new job's line is drawn by lot."""
        return bool(self.rules.get(BY_LOT))
