"""Models of the line: applications, and the append-only log of their events."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, NamedTuple
from uuid import UUID

import pgtrigger
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Coalesce, Now
from uuid_utils.compat import uuid7

from applicants.models import ERASED_NAME, NAME_LENGTH, Applicant
from jobs.models import Job
from pipeline.domain.states import ActorKind, EventType, Outcome, Status

# Triggers that keep the log append-only, apart from the removal of a whole archived log.


# Whether this transaction removes a job's log.
_IS_REMOVED_NOW = (
    "SELECT FROM pipeline_removedlog record"
    " WHERE record.job_id = {job} AND record.txid = txid_current()"
)

LOG_TRIGGERS = [
    pgtrigger.Trigger(
        name="append_only",
        when=pgtrigger.Before,
        operation=pgtrigger.Update | pgtrigger.Delete,
        func=f"""
        IF TG_OP = 'DELETE' AND EXISTS ({_IS_REMOVED_NOW.format(job="OLD.job_id")}) THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION 'the log is append-only: UPDATE and DELETE are refused';
        """,
    ),
    pgtrigger.Trigger(
        name="only_a_whole_log",
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=pgtrigger.Delete,
        referencing=pgtrigger.Referencing(old="removed"),
        func=f"""
        IF EXISTS (
            SELECT FROM (SELECT job_id, count(*) AS events FROM removed GROUP BY job_id) gone
            JOIN jobs_job job ON job.id = gone.job_id
            WHERE job.status <> 'CLOSED' OR job.seq <> gone.events
                OR EXISTS (SELECT FROM pipeline_event WHERE job_id = gone.job_id)
                OR NOT EXISTS (
                    {_IS_REMOVED_NOW.format(job="gone.job_id")}
                    AND record.events = gone.events AND record.head = job.chain_head
                )
        ) THEN
            RAISE EXCEPTION 'the log is append-only: only a whole log is removed';
        END IF;
        RETURN NULL;
        """,  # noqa: S608  constants of ours
    ),
    pgtrigger.Trigger(
        name="no_truncate",
        level=pgtrigger.Statement,
        when=pgtrigger.Before,
        operation=pgtrigger.Truncate,
        func="RAISE EXCEPTION 'the log is append-only: TRUNCATE is refused';",
    ),
]

REMOVED_LOG_TRIGGERS = [
    pgtrigger.Protect(name="never_changed", operation=pgtrigger.Update),
    pgtrigger.Trigger(
        name="none_or_all",
        when=pgtrigger.After,
        operation=pgtrigger.Insert | pgtrigger.Delete,
        timing=pgtrigger.Deferred,
        func="""
        IF TG_OP = 'INSERT' THEN
            IF EXISTS (SELECT FROM pipeline_event WHERE job_id = NEW.job_id) THEN
                RAISE EXCEPTION 'the log of job % was not removed', NEW.job_id;
            END IF;
        ELSIF OLD.events <> (SELECT count(*) FROM pipeline_event WHERE job_id = OLD.job_id)
            OR NOT EXISTS (
                SELECT FROM pipeline_event
                WHERE job_id = OLD.job_id AND seq = OLD.events AND hash = OLD.head
            ) THEN
            RAISE EXCEPTION 'the log of job % was not put back', OLD.job_id;
        END IF;
        RETURN NULL;
        """,
    ),
]


# The kinds of events with an index of their own: not the frequent ones.
FOUND_BY_KIND = (
    "VERIFIED PROMOTED ACKNOWLEDGED DEADLINE_EXTENDED DECAYED LAPSED REINSTATED DEFERRED WITHDRAWN"
    " REMOVED CONTESTED CONTEST_ANSWERED"
).split()


def _choices(
    words: type[Status | Outcome | EventType | ActorKind],
) -> list[tuple[str, str]]:
    return [(word.value, word.value) for word in words]


class Standing(NamedTuple):
    """State of the job's line right after a change of an application, and the time of the change.

    `position` is None unless the application has just joined the waitlist.
    """

    people_waiting: int
    max_decays: int | None
    position: int | None
    now: datetime


class Application(models.Model):
    """One person's application to one job, in its current state.

    Changed only under its job's lock. `ticket` and `tie` are its place in the order while it waits,
    `acknowledge_by` the deadline while it is pending, and `eligible_at` the end of the cool-down
    after the last miss or pass; `passed_at` is set if that was a pass. While `not_before` is ahead,
    the person wants no seat; while `accept_until` is, they accept one in advance. With `pass_next`,
    they pass the next one. `verify_by` is set until the address is proved: until then, the
    application gets no seat, and at that time it lapses. With `reserved_seat`, they hold one of the
    job's reserved seats.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    job = models.ForeignKey(Job, models.PROTECT, related_name="applications", db_index=False)
    applicant = models.ForeignKey(
        Applicant, models.PROTECT, related_name="applications", db_index=False
    )
    name = models.CharField(max_length=NAME_LENGTH)
    # In which the person applied, for emails; empty while unknown. Not in the log.
    language = models.CharField(max_length=16, blank=True, default="", db_default="")
    status = models.CharField(max_length=22, choices=_choices(Status))
    outcome = models.CharField(max_length=10, null=True, choices=_choices(Outcome))  # noqa: DJ001
    ticket = models.BigIntegerField(null=True)
    tie = models.BigIntegerField(null=True)
    decay_count = models.IntegerField(default=0)
    eligible_at = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    accept_until = models.DateTimeField(null=True)
    passes_used = models.IntegerField(default=0, db_default=0)
    pass_next = models.BooleanField(default=False, db_default=False)
    passed_at = models.DateTimeField(null=True)
    verify_by = models.DateTimeField(null=True)
    reserved_seat = models.BooleanField(default=False, db_default=False)
    # Not in the log: whether the company has confirmed that the person belongs to the job's group.
    is_member = models.BooleanField(default=False, db_default=False)
    acknowledge_by = models.DateTimeField(null=True)
    deadline_extended = models.BooleanField(default=False)
    applied_at = models.DateTimeField()
    promoted_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    status_since = models.DateTimeField()

    # Set by the change that returned this instance; not stored.
    standing: Standing | None = None

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "job", "applicant", name="one_live_application", condition=~Q(status="INACTIVE")
            ),
            models.UniqueConstraint(
                "job", "ticket", "tie", name="waitlist_order", condition=Q(status="WAITLIST")
            ),
            models.CheckConstraint(
                name="a_ticket_while_waiting",
                condition=Q(status="WAITLIST", ticket__isnull=False, tie__isnull=False)
                | (~Q(status="WAITLIST") & Q(ticket__isnull=True, tie__isnull=True)),
            ),
            models.CheckConstraint(
                name="a_deadline_while_pending",
                condition=Q(status="PENDING_ACKNOWLEDGMENT", acknowledge_by__isnull=False)
                | (~Q(status="PENDING_ACKNOWLEDGMENT") & Q(acknowledge_by__isnull=True)),
            ),
            models.CheckConstraint(
                name="deferred_while_waiting",
                condition=Q(not_before__isnull=True) | Q(status="WAITLIST"),
            ),
            models.CheckConstraint(
                name="accepts_while_waiting",
                condition=Q(accept_until__isnull=True) | Q(status="WAITLIST"),
            ),
            models.CheckConstraint(
                name="passes_next_while_waiting",
                condition=Q(pass_next=False) | Q(status="WAITLIST"),
            ),
            models.CheckConstraint(
                name="no_seat_unverified",
                condition=Q(verify_by__isnull=True) | Q(status__in=["WAITLIST", "INACTIVE"]),
            ),
            models.CheckConstraint(
                name="reserved_while_seated",
                condition=Q(reserved_seat=False)
                | Q(status__in=["PENDING_ACKNOWLEDGMENT", "ACTIVE"]),
            ),
            models.CheckConstraint(
                name="an_outcome_when_ended",
                condition=Q(status="INACTIVE", outcome__isnull=False, ended_at__isnull=False)
                | (~Q(status="INACTIVE") & Q(outcome__isnull=True, ended_at__isnull=True)),
            ),
        ]
        indexes = [
            models.Index("applicant", "job", name="application_of_person"),
            models.Index(
                "ended_at",
                name="application_ended",
                condition=Q(status="INACTIVE") & ~Q(name=ERASED_NAME),
            ),
            models.Index(
                "job",
                Coalesce("outcome", "status"),
                "applied_at",
                "id",
                name="application_listed",
            ),
            models.Index(
                "job",
                Coalesce("outcome", "status"),
                "ended_at",
                "id",
                name="application_listed_ended",
                condition=Q(status="INACTIVE"),
            ),
            models.Index(
                "job",
                "eligible_at",
                name="waitlist_cooldown",
                condition=Q(status="WAITLIST", eligible_at__isnull=False),
            ),
            models.Index(
                "job",
                "not_before",
                name="waitlist_deferred",
                condition=Q(status="WAITLIST", not_before__isnull=False),
            ),
            models.Index(
                "job",
                "ticket",
                "tie",
                name="waitlist_unverified",
                condition=Q(status="WAITLIST", verify_by__isnull=False),
            ),
            models.Index(
                "job",
                "verify_by",
                name="unverified_deadline",
                condition=Q(status="WAITLIST", verify_by__isnull=False),
            ),
            models.Index(
                "job",
                "ticket",
                "tie",
                name="waitlist_members",
                condition=Q(status="WAITLIST", is_member=True),
            ),
            models.Index(
                "job",
                "acknowledge_by",
                "id",
                name="pending_deadline",
                condition=Q(status="PENDING_ACKNOWLEDGMENT"),
            ),
            models.Index(
                "job",
                "status_since",
                "id",
                name="active_seats",
                condition=Q(status="ACTIVE"),
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_verified(self) -> bool:
        """Tell whether the address was proved or the company submitted the application."""
        return self.verify_by is None

    @property
    def languages(self) -> tuple[str, str, str]:
        """Return the languages of emails to the person: chosen, of applying, last used."""
        chosen, last_used = self.applicant.languages
        return chosen, self.language, last_used

    @property
    def held_until(self) -> datetime | None:
        """Return the time before which no seat is offered: after a miss or pass, or as asked."""
        return max(filter(None, (self.eligible_at, self.not_before)), default=None)


class ApplicationRow(NamedTuple):
    """Read-only application with the fields of the model `Application`."""

    id: UUID
    job_id: UUID
    applicant_id: UUID
    name: str
    language: str
    status: str
    outcome: str | None
    ticket: int | None
    tie: int | None
    decay_count: int
    eligible_at: datetime | None
    not_before: datetime | None
    accept_until: datetime | None
    passes_used: int
    pass_next: bool
    passed_at: datetime | None
    verify_by: datetime | None
    reserved_seat: bool
    is_member: bool
    acknowledge_by: datetime | None
    deadline_extended: bool
    applied_at: datetime
    promoted_at: datetime | None
    acknowledged_at: datetime | None
    ended_at: datetime | None
    status_since: datetime

    @property
    def is_verified(self) -> bool:
        """Tell whether the address was proved or the company submitted the application."""
        return self.verify_by is None

    @property
    def held_until(self) -> datetime | None:
        """Return the time before which no seat is offered: after a miss or pass, or as asked."""
        return max(filter(None, (self.eligible_at, self.not_before)), default=None)


class Event(models.Model):
    """One row of a job's log. Never changed; holds ids and codes, no personal data.

    Deleted only together with all other rows of a log that is archived (`RemovedLog`).

    No foreign keys: the log outlives the rows that it names, and each key would cost every change.

    `company_id` and `txid` only serve the feed (`pipeline.selectors.system`); no hash covers them.
    `txid` is the transaction's number, or that of the job's event before it if that is higher.
    """

    id = models.BigAutoField(primary_key=True)
    job_id = models.UUIDField()
    seq = models.BigIntegerField()
    application_id = models.UUIDField(null=True)
    event = models.CharField(max_length=20, choices=_choices(EventType))
    from_status = models.CharField(max_length=22, null=True)  # noqa: DJ001
    to_status = models.CharField(max_length=22, null=True)  # noqa: DJ001
    outcome = models.CharField(max_length=10, null=True)  # noqa: DJ001
    actor_kind = models.CharField(max_length=9, choices=_choices(ActorKind))
    actor_id = models.UUIDField(null=True)
    cause_seq = models.BigIntegerField(null=True)
    policy_version = models.IntegerField()
    at = models.DateTimeField()
    effective_at = models.DateTimeField()
    data = models.JSONField()
    prev_hash = models.BinaryField(max_length=32)
    hash = models.BinaryField(max_length=32)
    company_id = models.UUIDField()
    txid = models.BigIntegerField(db_default=Func(function="pipeline_feed_place"))

    class Meta:
        constraints = [models.UniqueConstraint("job_id", "seq", name="event_job_seq")]
        indexes = [
            models.Index("application_id", "seq", name="event_of_application"),
            models.Index(
                "job_id", "seq", name="event_of_job", condition=Q(application_id__isnull=True)
            ),
            models.Index("company_id", "txid", "id", name="event_feed"),
            models.Index(
                "job_id",
                "event",
                "at",
                name="event_recent",
                condition=Q(event__in=FOUND_BY_KIND),
            ),
            BrinIndex("at", name="event_at"),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = LOG_TRIGGERS

    def __str__(self) -> str:
        return f"{self.job_id} {self.seq} {self.event}"


# Logs that are in the archive alone: their rows were removed from the database.


class RemovedLog(models.Model):
    """Log of a closed job whose rows were removed. `events` and `head` are those of its file.

    `last_txid` and `last_id` are the place of its last event in the feed, so that who has read so
    far can read on.

    A log's rows can be deleted only in the transaction that makes this row, and only all of them.
    This row can be deleted only in a transaction after which all of them are there again. `txid` is
    the transaction that made it. Made and deleted by the role that owns the tables
    (`pipeline.audit.removal`); the application's role only reads it.
    """

    job = models.OneToOneField(Job, models.PROTECT, primary_key=True, related_name="removed_log")
    events = models.BigIntegerField()
    head = models.BinaryField(max_length=32)
    last_txid = models.BigIntegerField()
    last_id = models.BigIntegerField()
    removed_at = models.DateTimeField(db_default=Now())
    txid = models.BigIntegerField(db_default=Func(function="txid_current"))

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = REMOVED_LOG_TRIGGERS

    def __str__(self) -> str:
        return str(self.pk)
