"""Models of a job's form, and of the answers to it.

Answers are personal data: they are in the person's download and are erased with their data, and
with them the salts of the digests in the log.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import Job
from pipeline.models.line import Application


class FormDraft(models.Model):
    """Questions of a job as the company is editing them. `revision` counts the changes."""

    job: models.OneToOneField[Job, Job] = models.OneToOneField(
        Job, models.CASCADE, primary_key=True, related_name="form_draft"
    )
    questions: models.JSONField[list[dict[str, Any]], Any] = models.JSONField(default=list)
    revision = models.IntegerField(default=0)
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.job_id} {self.revision}"


class FormVersion(models.Model):
    """Published form of a job, which is never changed. The job's row has the current number."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    job = models.ForeignKey(Job, models.CASCADE, related_name="form_versions", db_index=False)
    number = models.IntegerField()
    questions: models.JSONField[list[dict[str, Any]], Any] = models.JSONField()
    published_at = models.DateTimeField(db_default=Now())
    published_by = models.UUIDField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint("job", "number", name="one_form_per_number")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="never_changed", operation=pgtrigger.Update)
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.number}"


class FormRefusals(models.Model):
    """Number of people whose answer to a question meant that they could not apply."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="form_refusals", db_index=False)
    key = models.CharField(max_length=40)
    refused = models.IntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint("job", "key", name="refusals_of_question")]

    def __str__(self) -> str:
        return f"{self.job_id} {self.key} {self.refused}"


class GivenAnswers(models.Model):
    """Answers of an application to a version of its job's form, by the keys of the questions.

    Never changed: later answers are another row, with the next `number`. `seq` is the event that
    holds `digest`, which `salt` and the answers make (`pipeline.form.answers.digest_of`).
    `searched`: the texts that a search for a name also finds (`pipeline.maintenance.name_index`).
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(
        Application, models.CASCADE, related_name="given_answers", db_index=False
    )
    number = models.IntegerField()
    form_number = models.IntegerField()
    answers: models.JSONField[dict[str, Any], Any] = models.JSONField()
    salt = models.BinaryField(max_length=32)
    digest = models.BinaryField(max_length=32)
    seq = models.BigIntegerField()
    given_at = models.DateTimeField()
    searched = models.TextField(blank=True, db_default="")

    class Meta:
        constraints = [
            models.UniqueConstraint("application", "number", name="answers_of_application")
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Trigger(
                name="forgets_words",
                when=pgtrigger.After,
                operation=pgtrigger.Delete,
                condition=pgtrigger.Condition("OLD.searched <> ''"),
                func="""
                PERFORM pg_advisory_xact_lock(pipeline_names_turn());
                DELETE FROM pipeline_nameword
                WHERE company_id = (SELECT job.company_id FROM pipeline_application own
                                    JOIN jobs_job job ON job.id = own.job_id
                                    WHERE own.id = OLD.application_id)
                  AND application_id = OLD.application_id
                  AND word IN (SELECT pipeline_words(OLD.searched));
                RETURN NULL;
                """,
            )
        ]

    def __str__(self) -> str:
        return f"{self.application_id} {self.number}"


class FurtherQuestion(models.Model):
    """One more question, of a company to a person in a seat, and the answer.

    `question` as in a form. `seq` and `answer_seq` are the events; the times are those of the job's
    clock. Without an answer, the company can withdraw it.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    application = models.ForeignKey(
        Application, models.CASCADE, related_name="further_questions", db_index=False
    )
    question: models.JSONField[dict[str, Any], Any] = models.JSONField()
    asked_by = models.UUIDField(null=True)
    asked_at = models.DateTimeField()
    answer_by = models.DateTimeField()
    seq = models.BigIntegerField()
    withdrawn_at = models.DateTimeField(null=True)
    answer: models.JSONField[Any, Any] = models.JSONField(null=True)
    salt = models.BinaryField(max_length=32, null=True)
    digest = models.BinaryField(max_length=32, null=True)
    answered_at = models.DateTimeField(null=True)
    answer_seq = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "application",
                name="one_open_question",
                condition=Q(answered_at=None, withdrawn_at=None),
            ),
            models.UniqueConstraint("application", "seq", name="question_of_event"),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_open(self) -> bool:
        """Tell whether the person still has to answer."""
        return self.answered_at is None and self.withdrawn_at is None

    def is_overdue(self, now: datetime) -> bool:
        """Tell whether the time to answer has passed, by the job's clock."""
        return self.is_open and self.answer_by <= now
