"""Models of the site itself: signs of life, keys, responses kept for a day, rate limits, words."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now
from uuid_utils.compat import uuid7

from jobs.models import (
    DESCRIPTION_LENGTH,
    LOCATION_LENGTH,
    MAX_CAPACITY,
    TITLE_LENGTH,
    Company,
    Job,
)
from jobs.policies import POLICY_FIELDS, Policy
from jobs.postings import PAY_WHOLE, PostingFacts
from pipeline.domain.states import POSITIONS
from pipeline.models.line import Application


class Heartbeat(models.Model):
    """Time at which a kind of worker last completed a cycle, by the database's clock.

    The rows `site` and `web` are the last signs of life of any worker and of any web server, and
    the last silence before one, until open offers are extended by it. `anchors` is the time of the
    last run that wrote them, and `backup` what the operator's own command records.
    """

    worker = models.CharField(max_length=20, primary_key=True)
    completed_at = models.DateTimeField()
    silent_since = models.DateTimeField(null=True)
    silent_until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.worker} {self.completed_at}"


class WebServer(models.Model):
    """Web server that has answered in the last day: its machine and port, and its release."""

    name = models.CharField(max_length=100, primary_key=True)
    version = models.CharField(max_length=60)
    answered_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class ReceiptKey(models.Model):
    """Public half of a key with which this site has signed receipts."""

    id = models.CharField(max_length=16, primary_key=True)
    public_key = models.BinaryField(max_length=32)
    used_since = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.id


class IdempotencyRecord(models.Model):
    """State of a request that was sent under an Idempotency-Key.

    `id` is a digest of the caller and the key, `fingerprint` of the method, URL and body. A row
    without `status` has no response yet: it runs until `leased_until`, in the attempt `run`.
    `released` means that it ended with a response that is not kept. `created_at` is the time in the
    id of the row that the request creates.
    """

    id = models.BinaryField(primary_key=True, max_length=32)
    fingerprint = models.BinaryField(max_length=32)
    run = models.UUIDField()
    created_at = models.DateTimeField()
    leased_until = models.DateTimeField()
    expires_at = models.DateTimeField()
    released = models.BooleanField(default=False)
    status = models.SmallIntegerField(null=True)
    headers = models.JSONField(null=True)
    body = models.BinaryField(null=True)

    class Meta:
        indexes = [models.Index("expires_at", name="idempotency_expiry")]

    def __str__(self) -> str:
        return bytes(self.id).hex()


class Throttle(models.Model):
    """Used part of a caller's rate limit. At `empty_at`, all of it is free again.

    The table has no write-ahead log: after a database crash, every limit starts unused.
    """

    id = models.BinaryField(primary_key=True, max_length=32)
    empty_at = models.DateTimeField()

    def __str__(self) -> str:
        return bytes(self.id).hex()


class NameWord(models.Model):
    """Word of an applicant's name, for a company's search of its own applicants.

    Written by `pipeline.maintenance.name_index` soon after the application. A trigger updates the
    words when the name is changed or erased.
    """

    company_id = models.UUIDField()
    word = models.TextField(db_collation="C")
    application_id = models.UUIDField()

    class Meta:
        indexes = [models.Index("company_id", "word", "application_id", name="name_word")]

    def __str__(self) -> str:
        return self.word


# Record of the emails about applications: those sent, when, and their outcomes.


class EmailState(models.TextChoices):
    """State of an email. Our mail server's answer changes it, and later the recipient's."""

    QUEUED = "QUEUED"  # being tried
    SENT = "SENT"  # the mail server has taken it
    FAILED = "FAILED"  # it will not be tried again; `problem` says why
    BOUNCED = "BOUNCED"  # taken, and sent back later
    COMPLAINED = "COMPLAINED"  # taken, and marked as unwanted


# The kind of the email that tells a person of an exception by which someone passed them. Its event
# is that of the other person.
OVERTAKEN = "OVERTAKEN"


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
        """Tell whether the email is about no event of the application's own, like a reminder."""
        return self.kind.startswith("REMINDER") or self.kind == OVERTAKEN


# Forecasts of a job's waits, and what was said to applicants, to count how often it came true.


class JobForecast(models.Model):
    """Forecast of a job's line, made by the scheduler. The order never reads it.

    `positions` holds, by position, the seconds of the shorter and the longer wait, and the number
    of people on whom they are based.
    """

    job_id = models.UUIDField(primary_key=True)
    seq = models.BigIntegerField()
    made_at = models.DateTimeField()
    positions = models.JSONField(default=dict)
    # How many of the last statements are decided, and how many of them came true.
    settled = models.IntegerField(default=0)
    came_true = models.IntegerField(default=0)

    def __str__(self) -> str:
        return str(self.job_id)


class ForecastStatement(models.Model):
    """Forecast as the pages said it to one waiting person on one day. Ids and numbers only.

    `came_true` is empty while it is open. A statement about a person who left before its time is
    deleted: nobody knows how long they would have waited.
    """

    id = models.BigAutoField(primary_key=True)
    job_id = models.UUIDField()
    application_id = models.UUIDField()
    position = models.IntegerField()
    half_seconds = models.BigIntegerField()
    most_seconds = models.BigIntegerField()
    made_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField()
    came_true = models.BooleanField(null=True)

    class Meta:
        indexes = [
            models.Index("job_id", "id", name="statement_of_job"),
            models.Index("application_id", "made_at", name="statement_of_application"),
            models.Index(
                "due_at", name="open_statement", condition=models.Q(came_true__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class LastWhatIf(models.Model):
    """Task of a job's last what-if: one that a page has started, or that has begun to run.

    After a while the task is removed, and there is none.
    """

    job_id = models.UUIDField(primary_key=True)
    task_id = models.UUIDField(null=True)

    def __str__(self) -> str:
        return str(self.job_id)


# Planned changes of a job's number of seats, once or weekly, which everyone can see beforehand.


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


# Settings of a job that a company keeps under a name, as a start for new jobs.


TEMPLATE_NAME_LENGTH = 80
# Key in the rules: true if the first order of a new job's line is drawn by lot.
BY_LOT = "by_lot"


class JobTemplate(PostingFacts):
    """Posting, number of seats and rules under a name. A job made from it has no tie to it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="job_templates")
    name = models.CharField(max_length=TEMPLATE_NAME_LENGTH)
    title = models.CharField(max_length=TITLE_LENGTH)
    description = models.TextField(blank=True, max_length=DESCRIPTION_LENGTH)
    location = models.CharField(blank=True, max_length=LOCATION_LENGTH)
    capacity = models.IntegerField()
    # The values of a `Policy`, BY_LOT, and the positions to fill. One that was added later has its
    # default.
    rules = models.JSONField()
    # Those of a form, as `pipeline.form.questions` stores them.
    questions: models.JSONField[list[dict[str, Any]], Any] = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("company", Lower("name"), name="one_job_template_per_name"),
            models.CheckConstraint(
                condition=Q(capacity__range=(1, MAX_CAPACITY)), name="job_template_capacity"
            ),
            models.CheckConstraint(condition=PAY_WHOLE, name="job_template_pay_whole"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def policy(self) -> Policy:
        """Rules for the line of a new job."""
        return Policy(**{name: self.rules[name] for name in POLICY_FIELDS if name in self.rules})

    @property
    def positions_to_fill(self) -> int | None:
        """Positions to fill of a new job; None for any number."""
        return self.rules.get(POSITIONS)

    @property
    def by_lot(self) -> bool:
        """True if the first order of a new job's line is drawn by lot."""
        return bool(self.rules.get(BY_LOT))
