"""Emails in a sandbox: recorded as they would have been sent, but sent to nobody.

They are derived from the log, each with the time at which it would have been sent, so they can be
recorded late. Their text is composed when someone reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from jobs.models import Job
from pipeline.database.instants import database_now
from pipeline.domain.states import TIME_ZONE, EventType, Status
from pipeline.line.event_log import parse_logged_time
from pipeline.models import Application, Email, EmailState, Event
from pipeline.notifications.applicant_emails import (
    YES,
    Cause,
    id_of_applicant_email,
    kind_of_applicant_email,
)
from pipeline.notifications.messages import event_has_message, event_has_offer_message
from pipeline.notifications.offers import GUARD, OfferTimes, offer_checkpoints
from pipeline.notifications.yes_reminders import yes_reminders_in_sandbox

RECORD = "email.sandbox"  # the type of the task


@dataclass(frozen=True, slots=True)
class SandboxOffer:
    """Offer of a seat in a sandbox, open until `over_at` at most."""

    event: Event
    over_at: datetime


def record_sandbox_emails(job_id: UUID, first_seq: int, last_seq: int) -> int:
    """Record the emails about some events of a sandbox's job; return how many there are.

    This includes the reminders of the offers that these events make or end, and after an advance
    of the clock those of all open offers. The same is true of a yes in advance. Repeating it is
    harmless.
    """
    job = Job.objects.get(id=job_id)
    now = database_now(ahead_seconds=job.clock_offset_seconds)
    events = list(
        Event.objects.filter(job_id=job_id, seq__range=(first_seq, last_seq)).order_by("seq")
    )
    offered = {each.application_id for each in events if event_has_offer_message(each)}
    rows = [
        _sandbox_email(Cause(_application_of_sandbox_email(each), each.seq), each, each.at)
        for each in events
        # A person who proves the address and is offered a seat at once gets one email, the offer.
        if event_has_message(each)
        if each.event != EventType.VERIFIED or each.application_id not in offered
    ]
    for offer in _offers_in_sandbox_emails(job_id, events, now):
        deadline = parse_logged_time(offer.event.data["deadline"])
        assert deadline is not None  # noqa: S101  offers have a deadline
        quiet = job.policy.quiet_hours(offer.event.data.get(TIME_ZONE, ""))
        for at, what in offer_checkpoints(OfferTimes(offer.event.at, deadline, quiet)):
            if what != GUARD and at < min(offer.over_at, now):
                cause = Cause(
                    _application_of_sandbox_email(offer.event), offer.event.seq, reminder=what
                )
                rows.append(_sandbox_email(cause, offer.event, at))
    for yes, at in yes_reminders_in_sandbox(job_id, events, now):
        cause = Cause(_application_of_sandbox_email(yes), yes.seq, reminder=YES)
        rows.append(_sandbox_email(cause, yes, at))
    Email.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def _offers_in_sandbox_emails(
    job_id: UUID, events: list[Event], now: datetime
) -> Iterator[SandboxOffer]:
    """Return the offers that events make or end, and after an advance of the clock the open ones.

    In a sandbox no deadline is extended, so the event after an offer ends it.
    """
    pending = Status.PENDING_ACKNOWLEDGMENT
    offers = {each.id: each for each in events if event_has_offer_message(each)}
    for event in events:
        if event.from_status == pending:
            before = Event.objects.filter(application_id=event.application_id, seq__lt=event.seq)
            for offer in before.order_by("-seq")[:1]:
                offers[offer.id] = offer
    if any(each.event == EventType.CLOCK_ADVANCED for each in events):
        open_ones = Application.objects.filter(job_id=job_id, status=pending).values("id")
        last = Event.objects.filter(application_id__in=open_ones).order_by("application_id", "-seq")
        offers |= {offer.id: offer for offer in last.distinct("application_id")}
    for offer in offers.values():
        later = Event.objects.filter(application_id=offer.application_id, seq__gt=offer.seq)
        end = later.order_by("seq").values_list("at", flat=True).first()
        yield SandboxOffer(offer, end or now)


def _application_of_sandbox_email(event: Event) -> UUID:
    assert event.application_id is not None  # noqa: S101  it is emailed
    return event.application_id


def _sandbox_email(cause: Cause, event: Event, at: datetime) -> Email:
    kind = kind_of_applicant_email(cause, event)
    return Email(
        id=id_of_applicant_email(cause, kind),
        application_id=cause.application_id,
        seq=cause.seq,
        kind=kind,
        state=EmailState.SENT,
        created_at=at,
        state_at=at,
    )
