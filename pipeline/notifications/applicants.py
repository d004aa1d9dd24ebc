"""Emails to applicants: each composed from its event when it is sent, and recorded.

The record is written before the mail server is asked and again after its answer. A process that
dies between the server's answer and the second write sends the email again, under the same
Message-ID.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.db.models.functions import Now
from django.utils import translation

from applicants import mail
from applicants.models import Applicant
from jobs.models import Job, JobStatus
from pipeline.database import instants
from pipeline.domain.states import ActorKind, EventType, Outcome, Reason, Status
from pipeline.figures.forecast import read_prospects
from pipeline.mail import dev_mailbox, links
from pipeline.models import (
    OVERTAKEN,
    Application,
    Contest,
    DecisionText,
    Email,
    EmailState,
    Event,
    FurtherQuestion,
    LineException,
)
from pipeline.notifications.devices import notify_later, text_kind, with_devices
from pipeline.notifications.messages import (
    Facts,
    Message,
    compose_event_email,
    compose_overtaken,
    compose_reminder,
    compose_yes_end,
    event_email_kind,
    offers_seat,
)
from pipeline.notifications.own_words import put_into_words_of
from pipeline.notifications.rendering import (
    attach_rendered_deadline,
    render_email,
    render_unsubscribe_header,
)
from pipeline.selectors.applications import count_extensions, my_current_offer, read_application
from pipeline.texts.fields import greeted_name
from pipeline.texts.letterheads import sign
from pipeline.web import rate_limit
from pipeline.web.languages import in_language_of
from pipeline.web.rate_limit import Rate
from pipeline.wording.english import isolated
from pipeline.wording.explanations import explain_next_miss
from pipeline.wording.waiting import describe_prospect
from tasks.errors import Retry

# Of an offer, by the remaining time, and of a yes in advance.
HALF, HOUR, YES = REMINDERS = ("REMINDER_HALF", "REMINDER_HOUR", "REMINDER_YES")
# Problems of ours: the offer was over before its email could be sent; every attempt failed; the
# company has sent this person too many.
OVER, UNREACHABLE, TOO_MANY = "OVER", "UNREACHABLE", "TOO_MANY"
# Emails of one company to one person, whose address it may have from anywhere: whoever adds and
# removes them again and again, or to many jobs, does not fill a stranger's mailbox.
OF_COMPANY = Rate(60, 86_400)
_NAMES = UUID("6c6d8b7e-6d11-4c44-9d4b-5f0f3a7a2c10")


@dataclass(frozen=True, slots=True)
class Cause:
    """Reason for an email: an event, the kind of reminder if it is one, and the repetition.

    `reminder` is OVERTAKEN if the event is an exception that has passed the application.
    """

    application_id: UUID
    seq: int
    reminder: str = ""
    number: int = 0


def send_email(cause: Cause) -> str:
    """Send the email of a cause unless it was sent before; return its state, or NONE.

    Raises tasks.errors.Retry when the mail server cannot take it now, or if it is an offer of a
    company that has sent this person too many emails.
    """
    application, event = _read_cause(cause)
    if application is None or event is None or application.applicant.is_erased:
        return "NONE"
    with in_their_language(application):
        return _send(cause, application, event)


def in_their_language(application: Application) -> translation.override:
    """Return the context in which emails about an application are composed."""
    return in_language_of(*application.languages, application.job.posting.language)


def _send(cause: Cause, application: Application, event: Event) -> str:
    offer, deadline = _read_offer(event)
    facts = email_facts(application, offer)
    message = _compose(cause.reminder, event, facts, application)
    was_drawn_a_seat = event.event == EventType.PLACED and application.status != Status.WAITLIST
    if message is None or was_drawn_a_seat:  # the offer has an email of its own
        return "NONE"
    row, is_new = _find_or_create_record(cause, event, application)
    if row.state != EmailState.QUEUED:
        return row.state
    if problem := _unsent_reason(application, event, row, is_new=is_new):
        return _note_state(row, EmailState.FAILED, problem=problem)
    # Before the mail server is asked: a device is another way to reach the person.
    kind = text_kind(event, cause.reminder)
    notify_later(application, cause.seq, kind, reminder=cause.reminder, number=cause.number)
    email = render_email(message, to=application.applicant.email, email_id=row.id)
    sign(email, application.job.company)
    if cause.reminder in REMINDERS:
        render_unsubscribe_header(
            email, links.unsubscribe_url("reminders", application.applicant_id)
        )
    if message.calendar and not message.calendar.is_over:
        deadline = application.acknowledge_by  # the one that the text names
    attach_rendered_deadline(email, message, offer=offer, deadline=deadline, now=instants.now())
    try:
        message_id = mail.deliver(email)
    except mail.Refused as refused:
        return _note_state(row, EmailState.FAILED, problem=refused.code)
    finally:
        _forget_erased(application.applicant)
    return _note_state(row, EmailState.SENT, message_id=message_id)


def give_up_email(cause: Cause) -> None:
    """Record that an email failed for the last time."""
    application, event = _read_cause(cause)
    if application is not None and event is not None:
        row, _ = _find_or_create_record(cause, event, application)
        if row.state == EmailState.QUEUED:
            _note_state(row, EmailState.FAILED, problem=UNREACHABLE)


def is_offer_open(application: Application, seq: int) -> bool:
    """Tell whether the offer that an event made or extended is the current one, and not over."""
    return (
        application.status == Status.PENDING_ACKNOWLEDGMENT
        and application.acknowledge_by is not None
        and application.acknowledge_by > instants.now()
        and seq >= (my_current_offer(application.id) or seq + 1)
    )


def is_offer_over(application: Application, event: Event) -> bool:
    """Tell whether an event offers a seat or extends its deadline, but the offer is over.

    An extension is also over once another follows: its deadline does not count any more.
    """
    if not offers_seat(event) and event.event != EventType.DEADLINE_EXTENDED:
        return False
    if event.event == EventType.DEADLINE_EXTENDED and was_extended_since(application.id, event.seq):
        return True
    offer, _ = _read_offer(event)
    return offer is None or not is_offer_open(application, offer.seq)


def was_extended_since(application_id: UUID, seq: int, by: ActorKind | None = None) -> bool:
    """Tell whether the deadline of an application was extended after an event, or by whom."""
    later = Event.objects.filter(
        application_id=application_id, seq__gt=seq, event=EventType.DEADLINE_EXTENDED
    )
    return (later.filter(actor_kind=by) if by else later).exists()


def _is_import_undone(application: Application, event: Event) -> bool:
    """Tell whether an event added a person whom the company has removed by undoing its import."""
    if event.event != EventType.APPLIED or application.outcome != Outcome.REMOVED:
        return False
    undone = {"event": EventType.REMOVED, "data__reason": Reason.IMPORT_UNDONE}
    return Event.objects.filter(application_id=application.id, **undone).exists()


def email_zone(person: Applicant, job: Job) -> tzinfo:
    """Return a person's time zone; while it is not known, that of the job or its company.

    The job's is that of its quiet hours, the company's that of its working hours; else UTC.
    """
    hours = job.company.working_hours or {}
    quiet = job.policy.quiet_time_zone if job.policy.quiet_hours("") else ""
    for name in (person.time_zone, quiet, hours.get("zone")):
        with suppress(ZoneInfoNotFoundError, ValueError):  # a zone that this machine does not know
            if name:
                return ZoneInfo(name)
    return UTC


def email_facts(application: Application, offer: links.LinkedOffer | None) -> Facts:
    """Collect the names, links and times for the emails about an application."""
    waits = application.status == Status.WAITLIST
    seen = read_application(application.id) if waits else None
    place = seen.position if seen else None
    is_deferring = seen and application.not_before and application.not_before > seen.now
    puts_off = is_deferring or application.pass_next
    is_moving = application.job.status == JobStatus.OPEN and not application.job.is_filled
    is_open = is_moving and not puts_off
    known = read_prospects({application.job_id: place}) if place and is_open else {}
    return Facts(
        job_title=isolated(application.job.posting.title),
        company=isolated(application.job.company.name),
        confirm_link=links.confirm_url(offer) if offer else "",
        application_link=links.application_url(application.id),
        openings_link=links.openings_url(),
        data_link=links.data_url(),
        name=greeted_name(application.name),
        zone=email_zone(application.applicant, application.job),
        is_zone_known=bool(application.applicant.time_zone),
        place=place,
        draw_at=application.job.draw_at if application.job.awaits_draw else None,
        prospect=describe_prospect(known[application.job_id]) if known else "",
        deadline=application.acknowledge_by,
        extensions=count_extensions(application),
        passes_left=application.job.policy.passes_left(application.passes_used),
        if_missed=explain_next_miss(application.job.policy, application.decay_count),
    )


def email_kind(cause: Cause, event: Event) -> str:
    """Return the kind of the email of a cause."""
    return cause.reminder or event_email_kind(event)


def build_email_id(cause: Cause, kind: str) -> UUID:
    """Return the id of the email of a cause, the same in each attempt."""
    return uuid5(_NAMES, f"{cause.application_id}:{cause.seq}:{kind}:{cause.number}")


def recompose_email(row: Email) -> Message | None:
    """Compose a recorded email again, with the deadline that it named; None if it is gone."""
    reminder = row.kind if row.is_reminder else ""
    cause = Cause(row.application_id, row.seq, reminder=reminder, number=row.number)
    application, event = _read_cause(cause)
    if application is None or event is None or application.applicant.is_erased:
        return None
    offer, deadline = _read_offer(event)
    with in_their_language(application):
        facts = replace(email_facts(application, offer), deadline=deadline)
        return _compose(reminder, event, facts, application)


def _read_cause(
    cause: Cause,
) -> tuple[Application | None, Event | None]:
    """Read an application and the event, with what the company wrote to the person with it."""
    rows = Application.objects.select_related(
        "applicant", "job__posting", "job__company__letterhead"
    )
    application = with_devices(rows).filter(id=cause.application_id).first()
    if application is None:
        return None, None
    events = Event.objects.filter(job_id=application.job_id, seq=cause.seq)
    if cause.reminder == OVERTAKEN:
        return application, events.filter(event=EventType.MOVED_AHEAD).first()
    events = events.filter(application_id=application.id)
    return application, events.annotate(decision_text=DecisionText.of_event()).first()


def _read_offer(event: Event) -> tuple[links.LinkedOffer | None, datetime | None]:
    """Return the offer that an event makes or concerns, and its last deadline."""
    if event.event == EventType.MOVED_AHEAD:  # of someone who waits, perhaps another person
        return None, None
    earlier = Event.objects.filter(application_id=event.application_id, seq__lte=event.seq)
    deadline: datetime | None = None
    for each in earlier.order_by("-seq")[:10]:
        if deadline is None and each.data.get("deadline"):
            deadline = datetime.fromisoformat(each.data["deadline"])
        if offers_seat(each) and each.application_id:
            return links.LinkedOffer(each.application_id, each.seq), deadline
    return None, None


def _compose(reminder: str, event: Event, facts: Facts, application: Application) -> Message | None:
    """Compose an email in the words that its company has for it now."""
    message = _compose_usual(reminder, event, facts)
    if message is None:
        return None
    return put_into_words_of(application.job, message, event, facts, reminder=reminder)


def _compose_usual(reminder: str, event: Event, facts: Facts) -> Message | None:
    if reminder == YES:
        return compose_yes_end(event, facts)
    if reminder == OVERTAKEN:
        return compose_overtaken(event, replace(facts, answer=_text_of(event)))
    if not reminder:
        return compose_event_email(event, replace(facts, answer=_text_of(event)))
    return compose_reminder(facts, facts.deadline) if facts.deadline else None


def _text_of(event: Event) -> str:
    """Return what the company wrote with a decision or exception, as answer, or as a question."""
    if event.event == EventType.REMOVED:
        return getattr(event, "decision_text", None) or ""
    if event.event == EventType.MOVED_AHEAD:
        exceptions = LineException.objects.filter(job_id=event.job_id, seq=event.seq)
        return exceptions.values_list("text", flat=True).first() or ""
    if event.event == EventType.QUESTION_ASKED and event.application_id:
        asked = FurtherQuestion.objects.filter(application_id=event.application_id, seq=event.seq)
        question = asked.values_list("question", flat=True).first()
        return str(question["label"]) if question else ""
    if event.event != EventType.CONTEST_ANSWERED or event.application_id is None:
        return ""
    answered = Contest.objects.filter(application_id=event.application_id, answer_seq=event.seq)
    return answered.values_list("answer_text", flat=True).first() or ""


def _unsent_reason(application: Application, event: Event, row: Email, *, is_new: bool) -> str:
    """Return why an email is not sent; empty if it is. A new one is counted for its company.

    An offer beyond the company's limit waits. It is late meanwhile, so its deadline is extended.
    Raises tasks.errors.Retry for that.
    """
    if is_offer_over(application, event):
        return OVER
    if _is_import_undone(application, event):
        return OVER
    if not is_new:
        return ""
    subject = f"{application.job.company_id} {application.applicant_id}"
    tally = rate_limit.count("email_of_company", subject, OF_COMPANY)
    if tally.allowed:
        return ""
    if offers_seat(event) and not row.is_reminder:
        row.delete()  # so that the next attempt is counted
        raise Retry("the company sends this person too many", after_seconds=tally.wait_seconds)
    return TOO_MANY


def _find_or_create_record(
    cause: Cause, event: Event, application: Application
) -> tuple[Email, bool]:
    """Find or create the record of an email, and tell whether it is new.

    In a sandbox it counts as sent, because no email leaves one.
    """
    kind = email_kind(cause, event)
    return Email.objects.get_or_create(
        id=build_email_id(cause, kind),
        defaults={
            "application_id": cause.application_id,
            "seq": cause.seq,
            "kind": kind,
            "number": cause.number,
            "state": EmailState.SENT if application.job.is_test else EmailState.QUEUED,
        },
    )


def _note_state(row: Email, state: EmailState, **columns: str) -> str:
    still_queued = Email.objects.filter(id=row.id, state=EmailState.QUEUED)
    still_queued.update(state=state, state_at=Now(), **columns)
    return state


def _forget_erased(recipient: Applicant) -> None:
    """Delete a developer's copy of an email to a person who was erased while it was composed.

    The erasure could not delete it because it did not exist yet.
    """
    if settings.DEV_MAIL and Applicant.objects.get(id=recipient.id).is_erased:
        dev_mailbox.forget(recipient.email)


# Bounces and complaints that django-anymail's webhooks report.


# What a provider reports, and the state and the problem that it means for us.
MEANINGS = {
    "bounced": (EmailState.BOUNCED, "BOUNCED"),
    "rejected": (EmailState.FAILED, "REFUSED"),
    "failed": (EmailState.FAILED, "REFUSED"),
    "complained": (EmailState.COMPLAINED, "COMPLAINED"),
}


def start_tracking_emails() -> None:
    """Follow a provider's reports, if django-anymail is installed."""
    with suppress(ImportError):
        from anymail.signals import tracking

        tracking.connect(note_tracked_email, dispatch_uid="emails")


def note_tracked_email(sender: object, event: Any, **_: Any) -> None:
    """Record the fate of an email; reports about others, and good news, change nothing."""
    meaning = MEANINGS.get(event.event_type)
    if meaning and event.message_id:
        state, problem = meaning
        taken = Email.objects.filter(message_id=event.message_id, state=EmailState.SENT)
        taken.update(state=state, problem=problem, state_at=Now())
