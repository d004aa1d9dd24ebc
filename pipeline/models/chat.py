"""Rows of chat: a company's channels, and the messages on their way to them.

A message holds ids, codes and numbers; its words are made when it is sent.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import Company, Job

NAME_LENGTH = 100
LONGEST_HINT = 120
LONGEST_SOURCE = 120


class ChatService(models.TextChoices):
    """Chat that a channel is in. Both names are those of products."""

    SLACK = "SLACK", "Slack"
    TEAMS = "TEAMS", "Microsoft Teams"


class ChatCard(models.TextChoices):
    """Kind of message."""

    SEAT = "SEAT"
    OVERDUE = "OVERDUE"
    CONTEST = "CONTEST"
    ALERT = "ALERT"
    REPORT = "REPORT"
    TEST = "TEST"  # asked for on the page


class ChatChannel(models.Model):
    """Channel of a chat that a company posts to; its address is a secret, and encrypted.

    From `free_at` on it can be posted to: later while a post is under way, after each post, and
    while the chat asks for a pause. `failures` counts the failed posts since the last success.
    """

    class OffReason(models.TextChoices):
        BY_HAND = "BY_HAND"
        GONE = "GONE"  # the chat says that the address is no more
        FAILING = "FAILING"  # a last attempt failed, and nothing arrived meanwhile

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="chat_channels")
    # The only job that it hears of; null: the whole company.
    job = models.ForeignKey(Job, models.CASCADE, null=True, related_name="+")
    service = models.CharField(max_length=5, choices=ChatService)
    name = models.CharField(max_length=NAME_LENGTH)
    address = models.BinaryField()
    hint = models.CharField(max_length=LONGEST_HINT)  # the host, and the last letters
    cards = ArrayField(models.CharField(max_length=7, choices=ChatCard), default=list)
    language = models.CharField(max_length=10)
    is_active = models.BooleanField(default=True)
    off_reason = models.CharField(max_length=7, choices=OffReason, default="", blank=True)
    off_at = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0)
    last_success_at = models.DateTimeField(null=True)
    free_at = models.DateTimeField(db_default=Now())
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return str(self.id)

    @property
    def log_ids(self) -> dict[str, str]:
        """Return the security log's fields, without the address."""
        return {"company": str(self.company_id), "channel": str(self.id)}


class ChatMessage(models.Model):
    """Message on its way to a channel. `source` names its cause, so that it is queued once."""

    class State(models.TextChoices):
        PENDING = "PENDING"
        SENT = "SENT"
        OVER = "OVER"  # what it was about had ended before it was sent
        FAILED = "FAILED"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    channel = models.ForeignKey(
        ChatChannel, models.CASCADE, related_name="messages", db_index=False
    )
    source = models.CharField(max_length=LONGEST_SOURCE)
    card = models.CharField(max_length=7, choices=ChatCard)
    about = models.JSONField()
    state = models.CharField(max_length=7, choices=State, default=State.PENDING)
    attempts = models.IntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True, db_default=Now())
    last_status = models.IntegerField(null=True)
    last_error = models.CharField(max_length=20, default="", blank=True)
    finished_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint("channel", "source", name="chat_message_once")]
        indexes = [
            models.Index("channel", "id", name="chat_messages"),
            models.Index(
                "channel", "next_attempt_at", name="chat_pending", condition=Q(state="PENDING")
            ),
            models.Index("created_at", name="chat_message_age"),
        ]

    def __str__(self) -> str:
        return f"{self.card} {self.id}"
