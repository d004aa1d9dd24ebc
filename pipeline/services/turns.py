"""Turns of a person: confirm, defer, accept in advance, pass; longer deadlines."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.models import JobStatus
from jobs.quiet_hours import compute_deadline
from pipeline.domain.errors import (
    AcknowledgmentExpired,
    IllegalMove,
    NotDeferrable,
    NotExtendable,
    NotPassable,
    NotPreacceptable,
)
from pipeline.domain.states import (
    ACCEPT_WITHIN,
    DEFER_WITHIN,
    EXTEND_WITHIN,
    MOST_EXTENSIONS,
    Actor,
    ActorKind,
    EventType,
    Move,
    Status,
)
from pipeline.domain.verbs import WISHED, status_after
from pipeline.line.admission import offer_free_seat, pass_offered_seat
from pipeline.line.lock import line_transaction, lock_job_of
from pipeline.line.locked_job import LockedJob
from pipeline.line.misses import has_just_missed
from pipeline.line.moves import make_move
from pipeline.line.settle import fill_seats, settle_due
from pipeline.line.write import write
from pipeline.models import Application, Event
from pipeline.selectors.applications import count_extensions


@line_transaction
def acknowledge(*, application_id: UUID, actor: Actor) -> Application:
    """Acknowledge an offered seat before its deadline. Repeating it is harmless.

    Raises AcknowledgmentExpired if the deadline has passed (the miss is then settled), IllegalMove
    if no seat was offered or the job has closed, ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    if application.status == Status.ACTIVE:
        return application
    if has_just_missed(application):
        raise AcknowledgmentExpired
    if job.status is JobStatus.CLOSED:
        raise IllegalMove(status=application.status, move=Move.ACKNOWLEDGE)
    make_move(job, application, Move.ACKNOWLEDGE, actor=actor)
    write(job, commit=True)
    return application


# Extension of a deadline: by the system, after we, not the applicant, used up the time, and by the
# company, which gives more.


@line_transaction
def extend_deadline(
    *, application_id: UUID, seconds: int, lock_ms: int | None = None
) -> Application:
    """Extend the deadline of an offered seat by `seconds`, at most by one window.

    In quiet hours these seconds do not run either.

    For the system only, after an outage of ours or an email that could not be sent. Raises
    AcknowledgmentExpired if the deadline has passed; IllegalMove if no seat is on offer, the system
    has extended this offer before or the job has closed; ValueError if `seconds` is out of range.
    With `lock_ms`, it waits no longer than that for a lock before it raises OperationalError.
    """
    job = lock_job_of(application_id, lock_ms=lock_ms)
    if not 0 < seconds <= job.policy.acknowledgment_window_seconds:
        raise ValueError(f"an extension must be from 1 second to one window, not {seconds}")
    settle_due(job)
    application = job.application(application_id)
    if has_just_missed(application):
        raise AcknowledgmentExpired
    deadline = application.acknowledge_by
    if deadline is None or job.status is JobStatus.CLOSED:
        raise IllegalMove(status=application.status, move=Move.EXTEND)
    if count_extensions(application, ActorKind.SYSTEM):
        raise IllegalMove(status=application.status, move=Move.EXTEND)
    quiet = job.quiet_hours_of(application)
    application.acknowledge_by = compute_deadline(deadline, timedelta(seconds=seconds), quiet)
    make_move(job, application, Move.EXTEND)
    write(job, commit=True)
    return application


@line_transaction
def extend_offer(*, application_id: UUID, acknowledge_by: datetime, actor: Actor) -> Application:
    """Give a person until a later time to confirm the offered seat.

    The people behind wait for the seat until then, so the time is bounded, and so is how often: the
    log keeps every extension, and the public facts of the job count them. Repeating it is harmless.
    Raises AcknowledgmentExpired if the deadline has passed (the miss is then settled);
    NotExtendable if the time is before the deadline or more than EXTEND_WITHIN away, or the company
    has extended this offer MOST_EXTENSIONS times; IllegalMove if no seat is on offer or the job has
    closed; ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    if has_just_missed(application):
        raise AcknowledgmentExpired
    deadline = application.acknowledge_by
    if deadline is None or job.status is JobStatus.CLOSED:
        raise IllegalMove(status=application.status, move=Move.EXTEND)
    if acknowledge_by == deadline:
        return application
    if acknowledge_by < deadline:
        raise NotExtendable(why=_("Choose a time after the deadline. It can only be extended."))
    if acknowledge_by > job.now + EXTEND_WITHIN:
        within = EXTEND_WITHIN.days
        raise NotExtendable(why=_("Choose a time in the next %(days)s days.") % {"days": within})
    if count_extensions(application, ActorKind.COMPANY) >= MOST_EXTENSIONS:
        why = _("You have already extended this offer %(most)s times, which is the limit.")
        raise NotExtendable(why=why % {"most": MOST_EXTENSIONS})
    application.acknowledge_by = acknowledge_by
    make_move(job, application, Move.EXTEND, actor=actor)
    write(job, commit=True)
    return application


# Wishes of a person on the waitlist. They keep the place.


def _lock_to_wish(application_id: UUID, move: Move) -> tuple[LockedJob, Application]:
    """Lock a job for a wish of a person. Raises IllegalMove, ApplicationNotFound."""
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    status = Status(application.status)
    status_after(status, move, verified=application.is_verified)
    if job.status is JobStatus.CLOSED:
        raise IllegalMove(status=status, move=move)
    return job, application


def _count_wishes(application: Application, event: EventType) -> int:
    """Count how often a person has wished this for an application, without taking it back."""
    own = Event.objects.filter(application_id=application.id, event=event)
    return own.filter(data__has_key=WISHED[event]).count()


# Deferral: a person on the waitlist asks to be offered no seat until a time, and keeps the place.


# The most times that a person can set a time for one application: the log keeps every one.
MOST_DEFERRALS = 20


@line_transaction
def defer(*, application_id: UUID, not_before: datetime | None, actor: Actor) -> Application:
    """Offer a person on the waitlist no seat until a time, or from now on again (None).

    They keep their place, and it does not count as a miss: meanwhile free seats go to the next in
    line. Without a time, they get a free seat at once. Repeating it is harmless. Raises
    NotDeferrable if the time is not ahead or more than DEFER_WITHIN away, or was set too often;
    IllegalMove if the person does not wait, is not verified or the job is closed;
    ApplicationNotFound.
    """
    job, application = _lock_to_wish(application_id, Move.DEFER)
    if application.not_before == not_before:
        return application
    if not_before:
        if not_before <= job.now:
            raise NotDeferrable(why=_("This time has passed. Choose a later one."))
        if not_before > job.now + DEFER_WITHIN:
            why = _("Choose a time in the next %(days)s days.")
            raise NotDeferrable(why=why % {"days": DEFER_WITHIN.days})
        if _count_wishes(application, EventType.DEFERRED) >= MOST_DEFERRALS:
            why = _("You have already set a time %(most)s times for one application.")
            raise NotDeferrable(why=why % {"most": MOST_DEFERRALS})
    application.not_before = not_before
    entry = make_move(job, application, Move.DEFER, actor=actor)
    offer_free_seat(job, application, cause_seq=entry.seq)
    write(job, commit=True)
    return application


# Yes in advance: a person on the waitlist accepts the seat offered to them before a time.


# The most times that a person can say yes for one application: the log keeps every one.
MOST_PREACCEPTANCES = 50


@line_transaction
def preaccept(*, application_id: UUID, accept_until: datetime | None, actor: Actor) -> Application:
    """Accept in advance a seat that is offered before a time, or cancel that (None).

    The place in line stays the same. It cancels a request to pass the next turn, which says the
    opposite. It can be repeated while they wait. Raises NotPreacceptable
    if the time is not ahead or more than ACCEPT_WITHIN away, or was set too often; IllegalMove if
    the person does not wait, is not verified or the job is closed; ApplicationNotFound.
    """
    job, application = _lock_to_wish(application_id, Move.PREACCEPT)
    if accept_until and accept_until <= job.now:
        raise NotPreacceptable(why=_("This time has passed. Choose a later one."))
    stands = application.accept_until if (application.accept_until or job.now) > job.now else None
    if stands == accept_until:  # one that has ended is taken back already
        return application
    if accept_until:
        if accept_until > job.now + ACCEPT_WITHIN:
            why = _("Choose a time in the next %(days)s days.")
            raise NotPreacceptable(why=why % {"days": ACCEPT_WITHIN.days})
        if _count_wishes(application, EventType.PREACCEPTED) >= MOST_PREACCEPTANCES:
            why = _("You have already done this %(most)s times, which is the limit.")
            raise NotPreacceptable(why=why % {"most": MOST_PREACCEPTANCES})
    application.accept_until = accept_until
    make_move(job, application, Move.PREACCEPT, actor=actor)
    write(job, commit=True)
    return application


# Pass of an open offer: the person keeps the place, and the seat goes to the next in line.


@line_transaction
def pass_offer(*, application_id: UUID, actor: Actor) -> Application:
    """Pass an offered seat before its deadline, without a miss.

    The person returns to the place they had before the offer. For the length of a cool-down no
    seat is offered to them, and the next in line gets this one before the function returns.
    Repeating it before
    the next offer is harmless. Raises AcknowledgmentExpired if the deadline has passed (the miss is
    then settled), NotPassable if the job allows no more passes, IllegalMove if no seat was offered
    or the job has closed, ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    status = Status(application.status)
    if status is Status.WAITLIST and application.passed_at:
        return application
    if has_just_missed(application):
        raise AcknowledgmentExpired
    if job.status is JobStatus.CLOSED or status is not Status.PENDING_ACKNOWLEDGMENT:
        raise IllegalMove(status=status, move=Move.PASS)
    refuse_pass_beyond_limit(application, job.policy.max_passes)
    pass_offered_seat(job, application, actor=actor)
    fill_seats(job)
    write(job, commit=True)
    return application


def refuse_pass_beyond_limit(application: Application, most: int) -> None:
    """Refuse a pass if the person has used all that the job allows. Raises NotPassable."""
    if not most:
        raise NotPassable(why=_("This job does not let people pass a turn."))
    used = application.passes_used
    if used >= most:
        why = ngettext(
            "You have passed %(used)s turn, and this job lets people pass %(most)s.",
            "You have passed %(used)s turns, and this job lets people pass %(most)s.",
            used,
        )
        raise NotPassable(why=why % {"used": used, "most": most})


# Pass of the next turn: a person in line asks to be passed over once, and keeps the place.


# The most times that a person can ask for one application: the log keeps every one.
MOST_ASKED = 20


@line_transaction
def pass_next(*, application_id: UUID, wanted: bool, actor: Actor) -> Application:
    """Pass the next turn of a person on the waitlist when it comes, or cancel that.

    It cancels a yes in advance, which says the opposite. Later changes of the rules do not matter:
    when the turn comes, it is passed. Repeating it is harmless. Raises NotPassable if the
    job allows no more passes, or it was asked too often; IllegalMove if the person does not wait,
    is not verified or the job is closed; ApplicationNotFound.
    """
    job, application = _lock_to_wish(application_id, Move.ASK_PASS)
    if application.pass_next == wanted:
        return application
    if wanted:
        refuse_pass_beyond_limit(application, job.policy.max_passes)
        if _count_wishes(application, EventType.PASS_ASKED) >= MOST_ASKED:
            why = _("You have already asked %(most)s times, which is the limit.")
            raise NotPassable(why=why % {"most": MOST_ASKED})
    application.pass_next = wanted
    make_move(job, application, Move.ASK_PASS, actor=actor)
    write(job, commit=True)
    return application
