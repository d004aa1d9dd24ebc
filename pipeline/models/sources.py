"""Models of where applications come from, and of views of public pages."""

from __future__ import annotations

from django.db import models

from jobs.models import Job
from pipeline.models.line import Application

# Of a source and of each UTM value.
SOURCE_LENGTH = 100


def _value() -> models.CharField[str, str]:
    return models.CharField(max_length=SOURCE_LENGTH, blank=True)


class ApplicationSource(models.Model):
    """Link that led to an application, as its company named it. None: the person came directly.

    The values are empty once the person is erased.
    """

    application: models.OneToOneField[Application, Application] = models.OneToOneField(
        Application, models.CASCADE, primary_key=True, related_name="came_from"
    )
    source = _value()
    utm_source = _value()
    utm_medium = _value()
    utm_campaign = _value()
    utm_term = _value()
    utm_content = _value()

    def __str__(self) -> str:
        return f"{self.application_id} {self.source}"


class JobViews(models.Model):
    """Number of visitors of a job's public page on a day (UTC), by the source of their link."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="views", db_index=False)
    day = models.DateField()
    source = models.CharField(max_length=SOURCE_LENGTH)
    views = models.IntegerField()

    class Meta:
        constraints = [models.UniqueConstraint("job", "day", "source", name="views_of_source")]

    def __str__(self) -> str:
        return f"{self.job_id} {self.day} {self.source} {self.views}"


class Visitor(models.Model):
    """Visitor of a job's page today, as a hash with the day's salt. Both are gone the next day."""

    digest = models.BinaryField(primary_key=True, max_length=16)
    day = models.DateField()

    def __str__(self) -> str:
        return str(self.day)


class VisitorSalt(models.Model):
    """Random salt of a day's visitors."""

    day = models.DateField(primary_key=True)
    salt = models.BinaryField(max_length=32)

    def __str__(self) -> str:
        return str(self.day)
