"""Watch over an open offer and an acceptance in advance: reminders, more time.

One task sends the reminders of an offer. It runs at the next checkpoint, checks that the offer is
still open, and enqueues itself for the checkpoint after. Another guards its deadline; it never
waits for the mail server, so failing reminders do not hold it up.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models.functions import Now

from jobs.models import Job, JobStatus
from jobs.quiet_hours import QuietHours, compute_deadline, counted_time
from pipeline.database import instants
from pipeline.domain.errors import AcknowledgmentExpired, IllegalMove
from pipeline.domain.states import TIME_ZONE, ActorKind, EventType
from pipeline.line.event_log import parse_logged_time
from pipeline.models import Application, Email, EmailState, Event
from pipeline.notifications import applicants
from pipeline.notifications.applicants import (
    HALF,
    HOUR,
    OVER,
    REMINDERS,
    UNREACHABLE,
    YES,
    Cause,
    is_offer_open,
    was_extended_since,
)
from pipeline.notifications.devices import REMINDER, notify_later, with_devices
from pipeline.notifications.messages import offers_seat
from pipeline.services.turns import extend_deadline
from tasks.enqueue import enqueue

logger = logging.getLogger(__name__)


WATCH, GUARD_TASK = "email.offer", "email.guard"  # the types of the tasks
PRIORITY, GUARD_PRIORITY = 40, 90
GUARD = "GUARD"  # the last look before the deadline: has the email been handed over?
# The shortest windows with a reminder at half of it, and with one an hour before its end.
LEAST_FOR_HALF, LEAST_FOR_HOUR = timedelta(hours=4), timedelta(hours=3)
LONGEST_GUARD = timedelta(minutes=1)
# A delay of its email for which a person gets no extra time: up to this, and up to a part of the
# window.
LEAST_DELAY, LEAST_PART = timedelta(seconds=30), 0.02


class OfferTimes(NamedTuple):
    """Times of an offer: when it was made or extended, its deadline, and its quiet hours."""

    offered_at: datetime
    deadline: datetime
    quiet: QuietHours | None = None


def list_checkpoints(times: OfferTimes) -> list[tuple[datetime, str]]:
    """Return the checkpoints of an offer and their purposes, in order.

    No reminder is in quiet hours.
    """
    offered_at, deadline, quiet = times
    window = counted_time(offered_at, deadline, quiet)
    found = [(deadline - min(LONGEST_GUARD, (deadline - offered_at) / 10), GUARD)]
    if window >= LEAST_FOR_HOUR:
        found.append((compute_deadline(offered_at, window - timedelta(hours=1), quiet), HOUR))
    if window >= LEAST_FOR_HALF:
        found.append((compute_deadline(offered_at, window / 2, quiet), HALF))
    return sorted(found)


def first_reminder(times: OfferTimes, after: datetime) -> datetime | None:
    """Return when the next reminder of an offer is due after a time; None if there is none."""
    later = [at for at, what in list_checkpoints(times) if at > after and what != GUARD]
    return later[0] if later else None


def watch(application_id: UUID, seq: int) -> str:
    """Send the reminder that is due, and enqueue the next check; return in a word what was done.

    `seq` is that of the event that made the offer, or by which the company last extended it: the
    reminders of a deadline end when the company gives a later one. Raises tasks.errors.Retry when
    the mail server cannot take a reminder now.
    """
    application = _watched_application(application_id)
    if (
        application is None
        or not is_offer_open(application, seq)
        or was_extended_since(application_id, seq, ActorKind.COMPANY)
    ):
        close_reminders(application_id, seq, OVER)
        return "over"
    now = instants.now()
    due = [what for at, what in list_checkpoints(_read_times(application, seq)) if at <= now]
    _watch_again(application, seq, now)
    if not due:  # an extension made it too early
        return "nothing"
    close_reminders(application_id, seq, OVER, but=due[-1])
    if due[-1] == GUARD:
        return "too late"
    # A device was added for this, and can be reached even while emails cannot.
    notify_later(application, seq, REMINDER, reminder=due[-1])
    offer = _watched_email(application_id, seq)
    if application.applicant.reminders and offer is not None and offer.state == EmailState.SENT:
        return applicants.send_email(Cause(application_id, seq, reminder=due[-1]))
    return "nothing"


def extend_unsent(application_id: UUID, seq: int) -> str:
    """Extend the deadline of an offer whose email was not handed over; return what was done.

    It is called shortly before the deadline. It need not be called again after an extension: an
    offer is extended only once.
    """
    application = _watched_application(application_id)
    if application is None or not is_offer_open(application, seq):
        return "over"
    done, times = "nothing", _read_times(application, seq)
    email = _watched_email(application_id, seq)
    # The mail server has neither accepted it nor refused it permanently.
    if email is None or email.state == EmailState.QUEUED or email.problem == UNREACHABLE:
        window = times.deadline - times.offered_at
        done = "extended" if _extend(application_id, window) else "too late"
        application.refresh_from_db(fields=["acknowledge_by"])
    _watch_again(application, seq, instants.now())
    return done


def close_reminders(application_id: UUID, seq: int, problem: str, *, but: str = "") -> None:
    """Record that reminders of an event, except those of one kind, will not be tried again."""
    rows = Email.objects.filter(application_id=application_id, seq=seq, state=EmailState.QUEUED)
    open_rows = rows.filter(kind__in=REMINDERS).exclude(kind=but)
    open_rows.update(state=EmailState.FAILED, state_at=Now(), problem=problem)


def extend_delayed(application_id: UUID, seq: int) -> bool:
    """Extend the deadline of an offer by the time that its email took; tell whether that was done.

    Call this after the email was handed over. Calling it twice is harmless: a promotion's deadline
    is extended only once.
    """
    event = Event.objects.filter(application_id=application_id, seq=seq).first()
    row = _watched_email(application_id, seq)
    if event is None or row is None or row.state != EmailState.SENT or not offers_seat(event):
        return False
    zone = event.data.get(TIME_ZONE, "")
    quiet = Job.objects.get(id=event.job_id).policy.quiet_hours(zone)
    window = counted_time(event.at, datetime.fromisoformat(event.data["deadline"]), quiet)
    delay = counted_time(event.at, row.state_at, quiet)
    if delay <= max(LEAST_DELAY, window * LEAST_PART):
        return False
    application = Application.objects.get(id=application_id)
    return is_offer_open(application, seq) and _extend(application_id, delay)


def _watched_application(application_id: UUID) -> Application | None:
    rows = Application.objects.select_related("applicant", "job")
    return with_devices(rows).filter(id=application_id).first()


def _read_times(application: Application, seq: int) -> OfferTimes:
    """Return when an open offer was made or extended by an event, and its deadline.

    The quiet hours are those of the current policy.
    """
    assert application.acknowledge_by  # noqa: S101  offers have a deadline
    events = Event.objects.filter(application_id=application.id, seq=seq)
    quiet = application.job.policy.quiet_hours(application.applicant.time_zone)
    return OfferTimes(events.values_list("at", flat=True).get(), application.acknowledge_by, quiet)


def _watch_again(application: Application, seq: int, now: datetime) -> None:
    at = first_reminder(_read_times(application, seq), after=now)
    if at is not None:
        enqueue(
            WATCH,
            {"application": str(application.id), "seq": seq},
            priority=PRIORITY,
            run_after=at,
            idempotency_key=f"{application.id}:{seq}:{at.isoformat()}",
        )


def _watched_email(application_id: UUID, seq: int) -> Email | None:
    rows = Email.objects.filter(application_id=application_id, seq=seq, number=0)
    return rows.exclude(kind__in=(HALF, HOUR)).first()


def _extend(application_id: UUID, lost: timedelta) -> bool:
    """Extend a deadline by lost time, at most by one window of the job's policy as it is now."""
    job_window = Application.objects.values_list("job__acknowledgment_window_seconds", flat=True)
    most_seconds = job_window.get(id=application_id)
    seconds = min(max(1, round(lost.total_seconds())), most_seconds)
    try:
        extend_deadline(application_id=application_id, seconds=seconds)
    except (AcknowledgmentExpired, IllegalMove):  # it is over, or was extended before
        return False
    logger.warning("A deadline was extended by %d s: its email was late", seconds)
    return True


# Reminder that a yes in advance ends soon, a day before: one task for each yes.


REMIND_OF_YES = "email.yes"  # the type of the task
YES_PRIORITY = 10
# How long before the end. People who said yes for less than two days know that it ends soon.
AHEAD, SHORTEST_YES = timedelta(days=1), timedelta(days=2)


def yes_reminder_time(event: Any) -> datetime | None:
    """Return when to remind of the yes that an event gives; None without one or if it is short.

    `event`: a log entry, or a row of the log.
    """
    if event.event != EventType.PREACCEPTED:
        return None
    until = parse_logged_time(event.data.get("accept_until"))
    return until - AHEAD if until and until - event.at >= SHORTEST_YES else None


def remind_yes(application_id: UUID, seq: int) -> str:
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
        or application.accept_until <= instants.now()
        or application.job.status == JobStatus.CLOSED
        or given.filter(seq__gt=seq).exists()
    ):
        close_reminders(application_id, seq, OVER)
        return "over"
    if not application.applicant.reminders:
        return "nothing"
    return applicants.send_email(Cause(application_id, seq, reminder=YES))


def sandbox_yes_reminders(
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
        at = yes_reminder_time(event)
        later = Event.objects.filter(application_id=event.application_id, seq__gt=event.seq)
        end = later.exclude(event=EventType.DEFERRED).order_by("seq").first()
        if at and at < (end.at if end else now):
            yield event, at
