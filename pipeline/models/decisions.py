"""Models of decisions: those that have not taken effect yet, and the notes on all of them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import Job
from pipeline.domain.states import CHOSEN_REASONS, DECISIONS
from pipeline.models.line import Application

NOTE_LENGTH = 1_000


class PendingDecision(models.Model):
    """Company's decision on one or more applications to a job.

    Until `due_at` it can be undone, and the job's log says nothing about it. A task carries it out
    at that time, person by person
    (`DecisionItem`). `note` is emptied once it has reached the people's own rows.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    job = models.ForeignKey(Job, models.PROTECT, related_name="+", db_index=False)
    outcome = models.CharField(max_length=10, choices=[(each, each) for each in DECISIONS])
    reason = models.CharField(max_length=20, blank=True, choices=[(r, r) for r in CHOSEN_REASONS])
    note = models.CharField(max_length=NOTE_LENGTH, blank=True)
    decided_by = models.UUIDField()
    created_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField()
    undone_by = models.UUIDField(null=True)
    finished_at = models.DateTimeField(null=True)
    refused = models.IntegerField(default=0)

    class Meta:
        indexes = [
            models.Index("job", name="decision_shown", condition=Q(finished_at=None)),
            models.Index("job", "finished_at", name="decision_refused", condition=Q(refused__gt=0)),
            models.Index("created_at", name="decision_age"),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.outcome}"


class DecisionItem(models.Model):
    """Application that a pending decision is about. Its id is the decision's `request_id`.

    An application is in at most one decision that has not taken effect.
    """

    class State(models.TextChoices):
        WAITING = "WAITING"  # until the decision is due
        DECIDING = "DECIDING"  # a worker is carrying it out
        DONE = "DONE"
        REFUSED = "REFUSED"  # for the reason in `problem`
        UNDONE = "UNDONE"

    class Problem(models.TextChoices):
        DECIDED = "DECIDED"  # another decision on the person was pending
        NOT_POSSIBLE = "NOT_POSSIBLE"  # not from the application's status
        SITE = "SITE"  # the site could not carry it out

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    decision = models.ForeignKey(PendingDecision, models.CASCADE, related_name="items")
    application = models.ForeignKey(Application, models.CASCADE, related_name="+", db_index=False)
    number = models.IntegerField()
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    problem = models.CharField(max_length=12, blank=True, choices=Problem)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "application",
                name="one_pending_decision",
                condition=Q(state__in=["WAITING", "DECIDING"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.decision_id} {self.number} {self.state}"


class DecisionNote(models.Model):
    """A company's note on a decision or a reinstatement, by the `seq` of its event.

    Kept out of the log, so that it can be erased.
    """

    id = models.BigAutoField(primary_key=True)
    application = models.ForeignKey(
        Application, models.CASCADE, related_name="decision_notes", db_index=False
    )
    seq = models.BigIntegerField()
    text = models.CharField(max_length=NOTE_LENGTH)

    class Meta:
        constraints = [
            models.UniqueConstraint("application", "seq", name="note_of_event"),
        ]

    def __str__(self) -> str:
        return str(self.application_id)
