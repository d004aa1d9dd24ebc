"""Model of the people who say that a job's reserved seats are for them."""

from __future__ import annotations

import hashlib
import json

from django.db import models

from jobs.models import Job
from pipeline.domain.states import ClaimState
from pipeline.models.line import Application


class GroupClaim(models.Model):
    """Statement of a person that they belong to the group, and what was decided about it.

    Sensitive: it is kept out of the log, which holds only a digest that this row opens with its
    salt (`claim_digest`). `seq` is the event of the last decision. It
    ends with the personal data; then nothing opens the digest any more.
    """

    application = models.OneToOneField(
        Application, models.CASCADE, primary_key=True, related_name="claim"
    )
    job = models.ForeignKey(Job, models.CASCADE, related_name="+")
    state = models.CharField(
        max_length=9, choices=[(each.value, each.value) for each in ClaimState]
    )
    kind = models.CharField(max_length=16)
    salt = models.BinaryField(max_length=32)
    seq = models.BigIntegerField(null=True)
    stated_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.application_id} {self.state}"


def claim_digest(claim: GroupClaim) -> str:
    """Return the salted digest of a decision, as the log holds it."""
    told = [str(claim.job_id), str(claim.application_id), claim.kind, str(claim.state)]
    return hashlib.sha256(bytes(claim.salt) + json.dumps(told).encode()).hexdigest()
