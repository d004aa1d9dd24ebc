"""Reads of a job's log."""

from __future__ import annotations

from uuid import UUID

from pipeline.domain.states import EventType
from pipeline.line.removed_logs import refuse_removed_log
from pipeline.models import Event
from pipeline.selectors.page import Page

_OF_JOBS = frozenset(
    {
        EventType.JOB_CREATED,
        EventType.JOB_OPENED,
        EventType.JOB_PAUSED,
        EventType.JOB_RESUMED,
        EventType.JOB_CLOSED,
        EventType.CAPACITY_CHANGED,
        EventType.POLICY_CHANGED,
        EventType.CLOCK_ADVANCED,
        EventType.DRAWN,
    }
)


def events_of_job(
    job_id: UUID,
    *,
    after_seq: int,
    limit: int,
    application_id: UUID | None = None,
    event: EventType | None = None,
) -> Page[Event]:
    """Return a job's log after a seq, oldest first, in one query.

    The events can be limited to one application or one type. Raises LogArchived.
    """
    events = Event.objects.filter(job_id=job_id, seq__gt=after_seq)
    if application_id:
        events = events.filter(application_id=application_id)
    if event:
        events = events.filter(event=event.value)
    if event in _OF_JOBS:  # few among many, with an index of their own
        events = events.filter(application_id=None)
    rows = list(events.order_by("seq")[: limit + 1])
    if not rows:
        refuse_removed_log(job_id)
    return Page.cut(rows, limit)
