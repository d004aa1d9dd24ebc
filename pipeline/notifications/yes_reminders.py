"""Reminder that a yes in advance ends soon, a day before: one task for each yes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from jobs.models import JobStatus
from pipeline.database.instants import database_now
from pipeline.domain.states import EventType
from pipeline.line.event_log import parse_logged_time
from pipeline.models import Application, Event
from pipeline.notifications.applicant_emails import OVER, YES, Cause, send_applicant_email
from pipeline.notifications.offers import close_offer_reminders

REMIND_OF_YES = "email.yes"  # the type of the task
PRIORITY = 10
# How long before the end. People who said yes for less than two days know that it ends soon.
AHEAD, SHORTEST_YES = timedelta(days=1), timedelta(days=2)


def yes_reminder_at(event: Any) -> datetime | None:
    """Return when to remind of the yes that an event gives; None without one or if it is short.

    `event`: a log entry, or a row of the log.
    """
    if event.event != EventType.PREACCEPTED:
        return None
    until = parse_logged_time(event.data.get("accept_until"))
    return until - AHEAD if until and until - event.at >= SHORTEST_YES else None


def remind_of_yes(application_id: UUID, seq: int) -> str:
    """Send the reminder of the yes that an event gave, if it is still valid; return what was done.

    It is not valid if it was used, changed or cancelled, or has ended. Raises tasks.errors.Retry
    when the mail server cannot take it now.
    """
    application = (
        Application.objects.select_related("applicant", "job").filter(id=application_id).first()
    )
    given = Event.objects.filter(application_id=application_id, event=EventType.PREACCEPTED)
    if (
        application is None
        or application.accept_until is None
        or application.accept_until <= database_now()
        or application.job.status == JobStatus.CLOSED
        or given.filter(seq__gt=seq).exists()
    ):
        close_offer_reminders(application_id, seq, OVER)
        return "over"
    if not application.applicant.reminders:
        return "nothing"
    return send_applicant_email(Cause(application_id, seq, reminder=YES))


def yes_reminders_in_sandbox(
    job_id: UUID, events: Collection[Event], now: datetime
) -> Iterator[tuple[Event, datetime]]:
    """Yield each yes of which people were reminded by now, with the time.

    This covers the people whom the events concern, and after an advance of the clock everyone with
    a valid yes.
    """
    people = {event.application_id for event in events if event.application_id}
    if any(event.event == EventType.CLOCK_ADVANCED for event in events):
        standing = Application.objects.filter(job_id=job_id, accept_until__isnull=False)
        people |= set(standing.values_list("id", flat=True))
    given = Event.objects.filter(application_id__in=people, event=EventType.PREACCEPTED)
    for event in given.order_by("seq"):
        at = yes_reminder_at(event)
        later = Event.objects.filter(application_id=event.application_id, seq__gt=event.seq)
        end = later.exclude(event=EventType.DEFERRED).order_by("seq").first()
        if at and at < (end.at if end else now):
            yield event, at
