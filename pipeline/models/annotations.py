"""Models of a company's own notes about an application, outside the log.

They are personal data: they are in the person's download and are erased with their data.
"""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from jobs.models import Job, User
from pipeline.models.line import Application

TEXT_LENGTH, TAG_LENGTH, URL_LENGTH, LABEL_LENGTH = 2_000, 40, 500, 100
VIEW_NAME_LENGTH, VIEW_QUERY_LENGTH = 60, 500


class ApplicationNote(models.Model):
    """Note of a member on an application, at any time."""

    application = models.ForeignKey(Application, models.CASCADE, related_name="notes")
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    text = models.CharField(max_length=TEXT_LENGTH)
    written_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return str(self.application_id)


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
