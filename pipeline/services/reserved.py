"""Reserved seats: how many a job has, for whom, and who belongs to its group."""

from __future__ import annotations

import hmac
import logging
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from jobs.models import JobPosting, JobStatus
from pipeline.domain.errors import IllegalJobMove, IllegalMove, ReserveRefused
from pipeline.domain.states import (
    CLAIM_DIGEST,
    Actor,
    ClaimState,
    EventType,
    GroupKind,
    Move,
    Status,
)
from pipeline.line.admission import offer_free_seat
from pipeline.line.lock import line_transaction, lock_job, lock_job_of
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_job_move, make_move
from pipeline.line.settle import fill_seats, settle_due
from pipeline.line.write import write
from pipeline.models import Application, GroupClaim, PlannedSeats
from pipeline.models.reserved import claim_digest
from pipeline.services.seat_limits import check_reserve
from pipeline.web.rate_limit import Rate, Tally, count

security = logging.getLogger("security")

# How far ahead the end of reserved seats can be.
LONGEST_AHEAD = timedelta(days=730)
# How often a person can enter a code in one job: it must not be guessed.
_CODES = Rate(10, 86_400)


@dataclass(frozen=True, slots=True)
class Reserve:
    """Seats reserved for a group: how many (0: none), its kind, its words, its code, until when."""

    seats: int
    kind: GroupKind | None = None
    sentence: str = ""
    code: str = ""
    until: datetime | None = None


@line_transaction
def reserve_seats(*, job_id: UUID, reserve: Reserve, actor: Actor) -> None:
    """Reserve seats of a job for a group, or none any more.

    Nobody loses a seat: those that others hold become reserved as they leave. Seats that are not
    reserved any more go to the next in line before this returns. Raises ReserveRefused for more
    seats than the job has or will have by its plans, an end that is not ahead, or another group
    once people have stated to belong to the first; IllegalJobMove for a closed job, JobNotFound.
    """
    job = lock_job(job_id)
    settle_due(job)
    if job.status is JobStatus.CLOSED:
        raise IllegalJobMove(status=job.status.value, verb=_("reserve seats"))
    _check(job, reserve)
    seats = reserve.seats
    wanted = (seats, str(reserve.kind or ""), reserve.until) if seats else (0, "", None)
    if wanted != (job.reserved_seats, job.reserved_for, job.reserved_until):
        job.reserved_seats, job.reserved_for, job.reserved_until = wanted
        entry = make_job_move(job, EventType.RESERVE_CHANGED, actor=actor)
        if job.reserved_until and job.status is not JobStatus.DRAFT:
            job.note_due(job.reserved_until)
        fill_seats(job, cause_seq=entry.seq)
    words = {"reserved_sentence": reserve.sentence, "reserved_code": reserve.code}
    if seats:
        JobPosting.objects.filter(job_id=job.id).update(**words)
    write(job, commit=True)


def _check(job: LockedJob, reserve: Reserve) -> None:
    if not reserve.seats:
        return
    if reserve.seats > job.capacity:
        raise ReserveRefused(
            why=ngettext_lazy(
                "The job has {seats} seat. Reserve at most that many.",
                "The job has {seats} seats. Reserve at most that many.",
                "seats",
            ),
            seats=job.capacity,
        )
    until = reserve.until
    plans = PlannedSeats.objects.filter(job_id=job.id)
    check_reserve(plans, job.capacity, reserve.seats, until)
    if until and until != job.reserved_until and not job.now < until <= job.now + LONGEST_AHEAD:
        raise ReserveRefused(why=_("Choose an end in the future, at most two years ahead."))
    others = GroupClaim.objects.filter(job_id=job.id)
    if reserve.kind == GroupKind.OWN:  # the sentence says which group it is
        same = JobPosting.objects.filter(job_id=job.id, reserved_sentence=reserve.sentence)
        others = others if not same.exists() else others.exclude(kind=GroupKind.OWN)
    else:
        others = others.exclude(kind=reserve.kind)
    if others.exists():
        raise ReserveRefused(
            why=_("People have stated that they belong to another group. A job keeps its group.")
        )


# Statements of applicants, and decisions about them.


def count_code(job_id: UUID, applicant_id: UUID) -> Tally:
    """Count a code that a person enters in a job, however often they apply to it."""
    return count("group_code", f"{job_id} {applicant_id}", _CODES)


@line_transaction
def state_claim(*, application_id: UUID, code: str, actor: Actor) -> GroupClaim:
    """Note that a person on the waitlist says that they belong to the job's group.

    The right code confirms it at once, and a free reserved seat is offered before this returns.
    Otherwise the company decides. Repeating it is harmless. Raises ReserveRefused if the job
    reserves no seats or the company has declined; IllegalMove if the person does not wait;
    ApplicationNotFound.
    """
    job = lock_job_of(application_id, hold_person=True)
    settle_due(job)
    application = job.application(application_id)
    _check_waiting(job, application)
    kept = note_claim(job, application, code, actor=actor)
    write(job, commit=True)
    return kept


def note_claim(
    job: LockedJob, application: Application, entered: str, *, actor: Actor
) -> GroupClaim:
    """Keep a statement in a locked, settled line. Does not write the line. As `state_claim`."""
    if not job.reserved_seats:
        raise ReserveRefused(why=_("This job reserves no seats."))
    kept, _is_new = GroupClaim.objects.get_or_create(
        application_id=application.id,
        defaults={
            "job_id": job.id,
            "state": ClaimState.STATED,
            "kind": job.reserved_for,
            "salt": secrets.token_bytes(32),
            "stated_at": job.now,
        },
    )
    if kept.state == ClaimState.DECLINED:
        raise ReserveRefused(why=_("The company has declined this. Ask the company."))
    code = JobPosting.objects.values_list("reserved_code", flat=True).get(job_id=job.id)
    is_right = code and hmac.compare_digest(code.encode(), entered.encode())
    if kept.state == ClaimState.STATED and is_right:
        _decide(job, application, kept, ClaimState.CONFIRMED, actor)
    return kept


def claim_when_applying(
    job: LockedJob, application: Application, entered: str, *, actor: Actor
) -> None:
    """Keep the statement of a person who has just joined the line.

    One that is refused changes nothing else: the person is in line all the same. Of someone who
    has entered too many codes, it is a statement without a code.
    """
    if entered and not count_code(job.id, application.applicant_id).allowed:
        entered = ""
    with suppress(ReserveRefused):
        note_claim(job, application, entered, actor=actor)


@line_transaction
def decide_claim(*, application_id: UUID, confirms: bool, actor: Actor) -> GroupClaim:
    """Confirm or decline a person's statement. A confirmed one may take a reserved seat at once.

    Nobody loses a seat. Repeating it is harmless. Raises ReserveRefused if the person has stated
    nothing or the job reserves no seats, IllegalMove if they do not wait, ApplicationNotFound.
    """
    job = lock_job_of(application_id, hold_person=True)
    settle_due(job)
    application = job.application(application_id)
    _check_waiting(job, application)
    kept = GroupClaim.objects.filter(application_id=application.id).first()
    if kept is None or not job.reserved_seats:
        raise ReserveRefused(why=_("This person has not said that they belong to the group."))
    to = ClaimState.CONFIRMED if confirms else ClaimState.DECLINED
    if kept.state != to:
        _decide(job, application, kept, to, actor)
        write(job, commit=True)
        ids = {"company": str(job.company_id), "application": str(application.id)}
        security.info("claim.decided", extra=ids)
    return kept


def _check_waiting(job: LockedJob, application: Application) -> None:
    status = Status(application.status)
    if status is not Status.WAITLIST or job.status is JobStatus.CLOSED:
        raise IllegalMove(status=status, move=Move.NOTE_GROUP)


def _decide(
    job: LockedJob, application: Application, kept: GroupClaim, to: ClaimState, actor: Actor
) -> None:
    application.is_member = to is ClaimState.CONFIRMED
    kept.state, kept.decided_at = to, job.now
    facts = {CLAIM_DIGEST: claim_digest(kept)}
    entry = make_move(job, application, Move.NOTE_GROUP, actor=actor, facts=facts)
    kept.seq = entry.seq
    kept.save(force_update=True)  # the person may have been erased: nothing is made anew
    if application.is_verified:
        offer_free_seat(job, application, cause_seq=entry.seq)
