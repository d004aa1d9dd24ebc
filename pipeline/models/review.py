"""Models of a company's own notes about an application, outside the log.

They are personal data: they are in the person's download and are erased with their data.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import Company, Job, Telling, User
from pipeline.domain.contests import REASONS_OF, ContestAnswer
from pipeline.domain.contests import TEXT_LENGTH as CONTEST_TEXT_LENGTH
from pipeline.domain.states import CHOSEN_REASONS, DECISIONS
from pipeline.models.line import Application
from pipeline.models.texts import SENTENCE_LENGTH

TEXT_LENGTH, TAG_LENGTH, URL_LENGTH, LABEL_LENGTH = 2_000, 40, 500, 100
VIEW_NAME_LENGTH, VIEW_QUERY_LENGTH = 60, 500
CRITERION_LENGTH, CRITERION_HELP_LENGTH, SCORE_TEXT_LENGTH = 80, 300, 300


class ApplicationNote(models.Model):
    """Note of a member on an application, at any time."""

    application = models.ForeignKey(Application, models.CASCADE, related_name="notes")
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    text = models.CharField(max_length=TEXT_LENGTH)
    written_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return str(self.application_id)


class NoteMention(models.Model):
    """Member whom the author of a note chose to tell about it."""

    note = models.ForeignKey(
        ApplicationNote, models.CASCADE, related_name="mentions", db_index=False
    )
    user = models.ForeignKey(User, models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint("note", "user", name="mentioned_once_per_note")]

    def __str__(self) -> str:
        return f"{self.note_id} {self.user_id}"


class ApplicationTag(models.Model):
    """Word by which a company finds applications again. In lower case."""

    application = models.ForeignKey(
        Application, models.CASCADE, related_name="tags", db_index=False
    )
    job = models.ForeignKey(Job, models.CASCADE, related_name="+", db_index=False)
    word = models.CharField(max_length=TAG_LENGTH)

    class Meta:
        constraints = [
            models.UniqueConstraint("application", "word", name="tag_once_per_application")
        ]
        indexes = [models.Index("job", "word", "application", name="tag_of_job")]

    def __str__(self) -> str:
        return self.word


class ApplicationLink(models.Model):
    """Link that belongs to an application, for example to a CV."""

    application = models.ForeignKey(Application, models.CASCADE, related_name="links")
    label = models.CharField(max_length=LABEL_LENGTH)
    url = models.CharField(max_length=URL_LENGTH)

    def __str__(self) -> str:
        return self.label


class ApplicationAssignee(models.Model):
    """Member who looks after an application."""

    application = models.OneToOneField(
        Application, models.CASCADE, primary_key=True, related_name="assignee"
    )
    job = models.ForeignKey(Job, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    assigned_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index("job", "user", "application", name="assigned_of_job")]

    def __str__(self) -> str:
        return f"{self.application_id} {self.user_id}"


class SavedView(models.Model):
    """Filters of a job's applications that a member keeps under a name."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=VIEW_NAME_LENGTH)
    query = models.CharField(max_length=VIEW_QUERY_LENGTH)

    class Meta:
        constraints = [models.UniqueConstraint("user", "job", "name", name="one_view_per_name")]

    def __str__(self) -> str:
        return self.name


# Models of a job's reviews: who takes turns, who wants to be told, and what they were told of.


class RotaMember(models.Model):
    """Member who takes turns in reviewing the people who take a job's seats."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    assigned_at = models.DateTimeField(null=True)  # the last time

    class Meta:
        constraints = [models.UniqueConstraint("job", "user", name="one_turn_per_member")]

    def __str__(self) -> str:
        return f"{self.job_id} {self.user_id}"


class JobFollower(models.Model):
    """Member's choice how to be told about the reviews of one job."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    telling = models.CharField(max_length=7, choices=Telling)

    class Meta:
        constraints = [models.UniqueConstraint("job", "user", name="one_choice_per_job")]

    def __str__(self) -> str:
        return f"{self.job_id} {self.user_id} {self.telling}"


class ReviewNotice(models.Model):
    """Step of a review that was taken once: its rota, and what was told about it.

    `since` is when the person took the seat, by the job's clock.
    """

    class Kind(models.TextChoices):
        ROTA = "ROTA"
        SEAT = "SEAT"
        DUE = "DUE"  # the target has passed
        OVERDUE = "OVERDUE"  # twice the target has passed

    application = models.ForeignKey(Application, models.CASCADE, related_name="+", db_index=False)
    since = models.DateTimeField()
    kind = models.CharField(max_length=7, choices=Kind)

    class Meta:
        constraints = [
            models.UniqueConstraint("application", "since", "kind", name="one_notice_per_step")
        ]

    def __str__(self) -> str:
        return f"{self.application_id} {self.kind}"


# Models of scorecards: a job's criteria, and each reviewer's marks by them.


class Criterion(models.Model):
    """Criterion of a job. Its words never change: others are another criterion.

    One that has scores is retired instead of deleted, so that they keep their meaning.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    job = models.ForeignKey(Job, models.CASCADE, related_name="criteria", db_index=False)
    number = models.SmallIntegerField()
    label = models.CharField(max_length=CRITERION_LENGTH)
    help = models.CharField(max_length=CRITERION_HELP_LENGTH, blank=True)
    retired_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index("job", "number", "id", name="criterion_of_job")]

    def __str__(self) -> str:
        return self.label


class Score(models.Model):
    """A reviewer's mark for an application by one criterion, and the reviewer's reason."""

    LEAST, MOST = 1, 4

    application = models.ForeignKey(
        Application, models.CASCADE, related_name="scores", db_index=False
    )
    criterion = models.ForeignKey(Criterion, models.PROTECT, related_name="scores")
    reviewer = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    mark = models.SmallIntegerField()
    text = models.CharField(max_length=SCORE_TEXT_LENGTH, blank=True)
    given_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["application", "criterion", "reviewer"], name="one_score_per_reviewer"
            ),
            models.CheckConstraint(condition=Q(mark__range=(1, 4)), name="score_mark_in_range"),
        ]

    def __str__(self) -> str:
        return f"{self.application_id} {self.criterion_id} {self.mark}"


# Models of decisions: those that have not taken effect yet, and the notes on all of them.


NOTE_LENGTH = 1_000


class PendingDecision(models.Model):
    """Company's decision on one or more applications to a job.

    Until `due_at` it can be undone, and the job's log says nothing about it. A task carries it out
    at that time, person by person (`DecisionItem`). `note`, and `text` for the people to read, are
    emptied once they have reached the people's own rows.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    job = models.ForeignKey(Job, models.PROTECT, related_name="+", db_index=False)
    outcome = models.CharField(max_length=10, choices=[(each, each) for each in DECISIONS])
    reason = models.CharField(max_length=20, blank=True, choices=[(r, r) for r in CHOSEN_REASONS])
    note = models.CharField(max_length=NOTE_LENGTH, blank=True)
    text = models.CharField(max_length=SENTENCE_LENGTH, blank=True, default="", db_default="")
    # Whether the job closes if this fills its last position, or goes on with one more; null: the
    # decision did not have to say.
    close_job = models.BooleanField(null=True)
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
        FILLED = "FILLED"  # all positions of the job were filled
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


# Models of contests: requests to look again, and the answers.


class Contest(models.Model):
    """Request of an applicant to look again at how an application ended, and its answer.

    The events `seq` and `answer_seq` of the log hold the codes; the two texts are only here, and
    end with the person's data. `contested_seq` is the event that ended the application. The times
    are those of the job's clock. `answered_by` as the `actor_id` of an event.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(
        Application, models.CASCADE, related_name="contests", db_index=False
    )
    job = models.ForeignKey(Job, models.CASCADE, related_name="+", db_index=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="+", db_index=False)
    seq = models.BigIntegerField()
    contested_seq = models.BigIntegerField()
    text = models.CharField(max_length=CONTEST_TEXT_LENGTH)
    asked_at = models.DateTimeField()
    answer_by = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    answered_by = models.UUIDField(null=True)
    answer_seq = models.BigIntegerField(null=True)
    answer = models.CharField(
        max_length=8, blank=True, choices=[(each.value, each.value) for each in ContestAnswer]
    )
    reason = models.CharField(
        max_length=16,
        blank=True,
        choices=[(each.value, each.value) for fitting in REASONS_OF.values() for each in fitting],
    )
    answer_text = models.CharField(max_length=CONTEST_TEXT_LENGTH, blank=True)
    answer_request = models.UUIDField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("application", "contested_seq", name="one_contest_per_end"),
        ]
        indexes = [
            models.Index("company", "answer_by", "id", name="contest_open", condition=Q(answer="")),
            models.Index("company", "asked_at", "id", name="contest_listed"),
            models.Index("job", "answer_by", name="contest_of_job", condition=Q(answer="")),
            models.Index("answer_by", name="contest_due", condition=Q(answer="")),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.answer or 'open'}"

    @property
    def is_open(self) -> bool:
        """Tell whether the company still has to answer."""
        return not self.answer

    def is_overdue(self, now: datetime) -> bool:
        """Tell whether the company's time to answer has passed, by the job's clock."""
        return self.is_open and self.answer_by <= now


# Models of ids and texts that a company's other systems attach to jobs and applications. Kept off
# the hot rows and out of the log, and erased with the person.


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
