"""Record of the emails about applications: those sent, when, and their outcomes."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from pipeline.models.line import Application


class EmailState(models.TextChoices):
    """State of an email. Our mail server's answer changes it, and later the recipient's."""

    QUEUED = "QUEUED"  # being tried
    SENT = "SENT"  # the mail server has taken it
    FAILED = "FAILED"  # it will not be tried again; `problem` says why
    BOUNCED = "BOUNCED"  # taken, and sent back later
    COMPLAINED = "COMPLAINED"  # taken, and marked as unwanted


class Email(models.Model):
    """One email to an applicant, made from an event, without its text or the address.

    The id is derived from application, event, kind and number, so that a second attempt finds the
    row of the first. `number` counts how often a company had it sent again. `problem` is a code.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    application = models.ForeignKey(Application, models.CASCADE, related_name="emails")
    seq = models.BigIntegerField()
    kind = models.CharField(max_length=20)
    number = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=10, choices=EmailState, default=EmailState.QUEUED)
    problem = models.CharField(max_length=40, blank=True)
    message_id = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    state_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            models.Index("message_id", name="email_message_id", condition=~models.Q(message_id="")),
            models.Index(
                "state_at", name="email_failed", condition=models.Q(state__in=["FAILED", "BOUNCED"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"

    @property
    def is_reminder(self) -> bool:
        """Tell whether the email is a reminder of an offer."""
        return self.kind.startswith("REMINDER")
