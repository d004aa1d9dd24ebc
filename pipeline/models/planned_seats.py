"""Planned changes of a job's number of seats, once or weekly, which everyone can see beforehand."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import models
from django.db.models import F, Q
from uuid_utils.compat import uuid7

from jobs.models import MAX_CAPACITY, Job

# The most weeks of one plan, and the longest name of a time zone.
MOST_TIMES, ZONE_LENGTH = 104, 64


class PlannedSeats(models.Model):
    """Seats that open, or close if negative, at a time, and then weekly until `times` are done.

    A settlement carries them out under the job's lock, and deletes the row after the last time.
    Times are by the job's clock, as deadlines are.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    job = models.ForeignKey(Job, models.CASCADE, related_name="planned_seats")
    seats = models.IntegerField()
    first_at = models.DateTimeField()
    # Every week has the same local time in this zone, even when the clocks change.
    zone = models.CharField(max_length=ZONE_LENGTH)
    times = models.IntegerField()
    done = models.IntegerField(default=0)
    next_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index("job", "next_at", name="planned_seats_of_job")]
        constraints = [
            models.CheckConstraint(
                condition=Q(seats__range=(-MAX_CAPACITY, MAX_CAPACITY)) & ~Q(seats=0),
                name="planned_seats_in_range",
            ),
            models.CheckConstraint(
                condition=Q(times__range=(1, MOST_TIMES), done__gte=0, done__lt=F("times")),
                name="planned_seats_times_in_range",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    def time_of(self, number: int) -> datetime:
        """Return the time of a change. The first change is number 0."""
        if not number:
            return self.first_at
        first = self.first_at.astimezone(ZoneInfo(self.zone))
        later: datetime = (first + timedelta(weeks=number)).replace(fold=0)
        return later.astimezone(self.first_at.tzinfo)

    @property
    def seats_changing(self) -> int:
        """Return how many seats open or close."""
        return abs(self.seats)

    @property
    def last_at(self) -> datetime:
        """Return the time of the last change."""
        return self.time_of(self.times - 1)

    @property
    def times_left(self) -> int:
        """Return how many changes are still to come."""
        return self.times - self.done
