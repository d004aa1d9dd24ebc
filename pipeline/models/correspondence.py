"""Models of messages between a company and an applicant: one thread for each application.

They are personal data: they are in the person's download and are erased with their data.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import Company, Job, User
from pipeline.models.line import Application
from pipeline.models.upkeep import EmailState

MESSAGE_LENGTH, MESSAGE_TEMPLATE_NAME_LENGTH = 10_000, 60
LONGEST_SENDER, LONGEST_LEFT_OUT = 254, 500


class ApplicationMessage(models.Model):
    """Message on an application, from the company or from the applicant. Never changed.

    `author` is the member who wrote it; null for an applicant's, an API key's, and that of a member
    whose account is gone. `unproved`: why a message that came by email is not shown as the
    applicant's own; `sender` is then the address that it names. `email_state` is that of the email
    that brings a company's message; empty for an applicant's. `read_at`: when the other side has
    read it. `about_job`: the new job that a message to the talent pool is about.
    """

    class Side(models.TextChoices):
        APPLICANT = "APPLICANT"
        COMPANY = "COMPANY"

    class Way(models.TextChoices):
        PAGE = "PAGE"
        EMAIL = "EMAIL"
        API = "API"

    class Unproved(models.TextChoices):
        OTHER_SENDER = "OTHER_SENDER"  # it names another address than the applicant's
        NOT_AUTHENTICATED = "NOT_AUTHENTICATED"  # the mail server could not tell who sent it

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(
        Application, models.CASCADE, related_name="messages", db_index=False
    )
    job = models.ForeignKey(Job, models.CASCADE, related_name="+", db_index=False)
    side = models.CharField(max_length=9, choices=Side)
    way = models.CharField(max_length=5, choices=Way)
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    text = models.CharField(max_length=MESSAGE_LENGTH)
    unproved = models.CharField(max_length=17, blank=True, choices=Unproved)
    sender = models.CharField(max_length=LONGEST_SENDER, blank=True)
    # The files of an email that were not taken, with the reasons.
    left_out = models.CharField(max_length=LONGEST_LEFT_OUT, blank=True)
    email_state = models.CharField(max_length=10, blank=True, choices=EmailState)
    email_problem = models.CharField(max_length=20, blank=True)
    email_message_id = models.CharField(max_length=255, blank=True)
    written_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)
    about_job = models.ForeignKey(Job, models.CASCADE, null=True, related_name="+", db_index=False)

    class Meta:
        indexes = [
            models.Index(
                "about_job",
                "application",
                name="message_about_job",
                condition=Q(about_job__isnull=False),
            ),
            models.Index("application", "written_at", "id", name="message_of_application"),
            models.Index(
                "job",
                "application",
                name="message_unread_by_company",
                condition=Q(side="APPLICANT", read_at=None),
            ),
            models.Index(
                "application",
                name="message_unread_by_person",
                condition=Q(side="COMPANY", read_at=None),
            ),
            models.Index(
                "email_message_id",
                name="message_of_email",
                condition=~Q(email_message_id=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.side}"


class MessageTemplate(models.Model):
    """Text of a company to start messages from. `{field}`s in it stand for what differs."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=MESSAGE_TEMPLATE_NAME_LENGTH)
    text = models.CharField(max_length=MESSAGE_LENGTH)

    class Meta:
        constraints = [
            models.UniqueConstraint("company", "name", name="message_template_once_per_name")
        ]

    def __str__(self) -> str:
        return self.name


class BulkMessage(models.Model):
    """One text to many people of a job, sent bit by bit. Emptied once it has gone out."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    job = models.ForeignKey(Job, models.CASCADE, related_name="+", db_index=False)
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    text = models.CharField(max_length=MESSAGE_LENGTH, blank=True)
    stage = models.CharField(max_length=22)
    created_at = models.DateTimeField(db_default=Now())
    stopped_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index("job", "created_at", name="bulk_message_of_job")]

    def __str__(self) -> str:
        return f"{self.id} {self.stage}"


class BulkMessageItem(models.Model):
    """Person to whom a bulk message goes. Its id is that of the person's message."""

    class State(models.TextChoices):
        WAITING = "WAITING"
        SENT = "SENT"
        LEFT_OUT = "LEFT_OUT"  # the person cannot be written to, or has had too many messages
        STOPPED = "STOPPED"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    bulk = models.ForeignKey(BulkMessage, models.CASCADE, related_name="items", db_index=False)
    application = models.ForeignKey(Application, models.CASCADE, related_name="+")
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)

    class Meta:
        constraints = [
            models.UniqueConstraint("bulk", "application", name="bulk_message_once_per_person")
        ]
        indexes = [
            models.Index("bulk", "id", name="bulk_message_waiting", condition=Q(state="WAITING"))
        ]

    def __str__(self) -> str:
        return f"{self.bulk_id} {self.state}"
