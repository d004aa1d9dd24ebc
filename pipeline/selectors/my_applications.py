"""Reads of a person's own applications."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Now

from jobs.models import Job
from pipeline.database.instants import one_instant
from pipeline.domain.states import EventType, Status
from pipeline.models import Application, Event
from pipeline.selectors.applications import SeenApplication, applications_of
from pipeline.selectors.page import Page

# The most applications on one person's page, newest first.
MOST_APPLICATIONS = 100


class MyApplicationState(NamedTuple):
    """State of an application, which changes whenever the person's view of it may have changed."""

    application_id: UUID
    job_id: UUID
    job_seq: int
    posting_version: int
    status: str
    is_late: bool | None
    is_cooling: bool | None
    is_deferring: bool | None
    is_accepting: bool | None

    @property
    def is_live(self) -> bool:
        """Return True unless the application has ended."""
        return self.status != Status.INACTIVE


@dataclass(frozen=True, slots=True)
class Mine:
    """An application and its job, with posting and company."""

    seen: SeenApplication
    job: Job

    @property
    def lacks_events(self) -> bool:
        """Tell whether its events are in the archive alone. The job was read with its record."""
        return hasattr(self.job, "removed_log")


@dataclass(frozen=True, slots=True)
class EventOfJob:
    """An event of a person's application, and its job's title."""

    event: Event
    job: Job


def my_application_states(applicant_id: UUID) -> list[MyApplicationState]:
    """Return the state of a person's newest applications, in one query."""
    rows = Application.objects.filter(applicant_id=applicant_id, job__is_test=False).order_by("-id")
    columns = ("id", "job_id", "job__seq", "job__posting__version", "status")
    facts = rows.annotate(
        late=ExpressionWrapper(Q(acknowledge_by__lte=Now()), BooleanField()),
        cooling=ExpressionWrapper(Q(eligible_at__gt=Now()), BooleanField()),
        deferring=ExpressionWrapper(Q(not_before__gt=Now()), BooleanField()),
        accepting=ExpressionWrapper(Q(accept_until__gt=Now()), BooleanField()),
    )
    found = facts.values_list(*columns, "late", "cooling", "deferring", "accepting")
    return [MyApplicationState(*row) for row in found[:MOST_APPLICATIONS]]


def my_applications(applicant_id: UUID, *, events: int) -> tuple[list[Mine], list[EventOfJob]]:
    """Return a person's latest applications and events, both newest first.

    At most `events` events. All as of one instant, in three queries.
    """
    with one_instant():
        seen = applications_of(applicant_id, after=None, limit=MOST_APPLICATIONS).rows
        applications = [each.application for each in seen]
        jobs = Job.objects.select_related("posting", "company", "removed_log").in_bulk(
            {each.job_id for each in applications}
        )
        last = Event.objects.filter(application_id__in=[each.id for each in applications])
        newest = list(last.order_by("-at", "-job_id", "-seq")[:events])
    mine = [Mine(each, jobs[each.application.job_id]) for each in seen]
    return mine, [EventOfJob(event, jobs[event.job_id]) for event in newest]


def my_live_application(applicant_id: UUID, job_id: UUID) -> UUID | None:
    """Return the id of a person's live application to a job, if there is one, in one query."""
    theirs = Application.objects.filter(applicant_id=applicant_id, job_id=job_id)
    return theirs.exclude(status=Status.INACTIVE).values_list("id", flat=True).first()


def my_latest_name(applicant_id: UUID) -> str:
    """Return the name that a person last gave when applying, or an empty string, in one query."""
    theirs = Application.objects.filter(applicant_id=applicant_id, job__is_test=False)
    theirs = theirs.order_by("-id")
    return theirs.values_list("name", flat=True).first() or ""


def my_current_offer(application_id: UUID) -> int | None:
    """Return the seq of the event that made an application's last offer, or None.

    This takes one query.
    """
    offers = Event.objects.filter(
        application_id=application_id,
        event__in=(EventType.PROMOTED, EventType.APPLIED),
        to_status=Status.PENDING_ACKNOWLEDGMENT,
    )
    return offers.order_by("-seq").values_list("seq", flat=True).first()


def was_my_offer_passed(application_id: UUID, offer: int) -> bool:
    """Tell whether an application's offer, given by the seq of its event, ended by a pass."""
    later = Event.objects.filter(
        application_id=application_id, seq__gt=offer, from_status=Status.PENDING_ACKNOWLEDGMENT
    ).exclude(event=EventType.DEADLINE_EXTENDED)
    return later.order_by("seq").values_list("event", flat=True).first() == EventType.PASSED


def my_last_events(application_id: UUID, *, most: int) -> Page[Event]:
    """Return an application's last events, newest first, in one query."""
    events = Event.objects.filter(application_id=application_id).order_by("-seq")
    return Page.cut(list(events[: most + 1]), most)
