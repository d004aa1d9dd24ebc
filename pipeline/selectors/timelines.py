"""Reads of the events of one application or one person, oldest first."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q

from pipeline.line.removed_logs import refuse_removed_log
from pipeline.models import Application, Event, RemovedLog
from pipeline.selectors.page import Page


class TimelineMoment(NamedTuple):
    """Place in a person's timeline: after this event. Across jobs, only time gives an order."""

    at: datetime
    job_id: UUID
    seq: int


def timeline_of_application(application_id: UUID, *, after_seq: int, limit: int) -> Page[Event]:
    """Return an application's events after a seq, oldest first, in one query.

    Raises LogArchived.
    """
    events = Event.objects.filter(application_id=application_id, seq__gt=after_seq)
    rows = list(events.order_by("seq")[: limit + 1])
    if not rows and not after_seq:
        refuse_removed_log(Application.objects.values_list("job_id").get(id=application_id)[0])
    return Page.cut(rows, limit)


def lacks_events_of_person(applicant_id: UUID, *, company_id: UUID) -> bool:
    """Tell whether logs of a person's jobs at a company were removed. Takes one query."""
    theirs = Application.objects.filter(applicant_id=applicant_id, job__company_id=company_id)
    return RemovedLog.objects.filter(job__in=theirs.values("job_id")).exists()


def timeline_of_person(
    applicant_id: UUID, *, company_id: UUID | None = None, after: TimelineMoment | None, limit: int
) -> Page[Event]:
    """Return a person's events after a moment, oldest first, in one query.

    With a company, only events at its jobs are returned. Events of logs that were removed to the
    archive are left out.

    The order is (`at`, job, `seq`), which within one job is that of `seq`.
    """
    theirs = Application.objects.filter(applicant_id=applicant_id)
    if company_id:
        theirs = theirs.filter(job__company_id=company_id)
    events = Event.objects.filter(application_id__in=theirs.values("id"))
    if after:
        at, job_id, seq = after
        same_job = Q(job_id__gt=job_id) | Q(job_id=job_id, seq__gt=seq)
        events = events.filter(Q(at__gt=at) | Q(same_job, at=at))
    return Page.cut(list(events.order_by("at", "job_id", "seq")[: limit + 1]), limit)
