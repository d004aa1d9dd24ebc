"""Admission of a person to a line: one rule for single applications and imports."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from uuid_utils.compat import uuid7

from jobs.models import JobStatus
from pipeline.domain import draw
from pipeline.domain.errors import (
    AlreadyApplied,
    AlreadyDecided,
    DrawFull,
    DrawFullOfUnverified,
    JobNotOpen,
    NotMovable,
)
from pipeline.domain.states import (
    DRAW_AT,
    EXCEPTION,
    FROM_TICKET,
    FROM_TIE,
    MOST_EXCEPTIONS,
    PEOPLE_PASSED,
    VERIFY_WITHIN,
    Actor,
    ActorKind,
    ExceptionReason,
    Move,
)
from pipeline.line.event_log import LogEntry, logged_time
from pipeline.line.lock import History, read_locked_application
from pipeline.line.locked_job import LockedJob
from pipeline.line.misses import DECIDED, LastMiss
from pipeline.line.moves import make_move, promote
from pipeline.models import Application

_BLANK = {field.attname: field.get_default() for field in Application._meta.concrete_fields}


def admit(
    job: LockedJob,
    history: History,
    *,
    applicant_id: UUID,
    name: str,
    actor: Actor,
    verified: bool,
    language: str = "",
    application_id: UUID | None = None,
    facts: Mapping[str, Any] = MappingProxyType({}),
) -> Application:
    """Admit a person to a settled line. `facts` go into the data of the event.

    `language` is that of emails, empty if unknown. Misses, passes and a cool-down from earlier
    applications still count.

    A newcomer overtakes nobody: after settling, a seat is free only if nobody eligible waits, or
    the walk to the next in line is unfinished, and then they join behind it.
    Nobody unverified gets a seat; nobody at all does before a draw, or once every position is
    filled. An unverified application of the same person is taken over: it keeps its place and gets
    the new name. Does not write the line.
    Raises JobNotOpen, DrawFull, AlreadyApplied, AlreadyDecided.
    """
    if job.status is not JobStatus.OPEN:
        raise JobNotOpen(status=job.status.value)
    if history.unverified and verified:
        job.zones[history.unverified] = history.time_zone
        own = history.unverified
        said = {"name": name, **({"language": language} if language else {})}
        return _admit_own_application(job, own, said, actor=actor, facts=facts)
    _check_new_application(job, history, actor, verified=verified)
    new_id = application_id or uuid7()
    job.zones[new_id] = history.time_zone
    application = _new_application(job, history, new_id, applicant_id, verified=verified)
    application.name, application.language = name, language
    no_seat = not job.seats_free or job.is_walk_unfinished or job.awaits_draw
    if no_seat or application.eligible_at or not verified:
        move = Move.QUEUE
    elif job.policy.acknowledge_first_seat:
        move = Move.OFFER
    else:
        move = Move.SEAT
    draws = job.draw_at if job.awaits_draw else None
    drawn = {DRAW_AT: logged_time(draws)} if draws else {}
    make_move(job, application, move, actor=actor, facts={**facts, **drawn})
    end = application.verify_by or (job.seats_free and application.eligible_at)
    if end:
        job.note_due(end)
    return application


def _check_new_application(
    job: LockedJob, history: History, actor: Actor, *, verified: bool
) -> None:
    """Refuse a second application by someone in line or decided on, and one to a full draw.

    The check of a full draw comes first: otherwise, people who have not proved the address would
    learn whether it is in line.
    """
    is_full = job.awaits_draw and job.waitlist_count >= draw.MOST_IN_DRAW
    if is_full and not (history.live and verified):
        raise DrawFull(limit=draw.MOST_IN_DRAW)
    unverified = 0 if verified or not job.awaits_draw else job.unverified_count
    if unverified >= draw.MOST_UNVERIFIED_IN_DRAW:
        raise DrawFullOfUnverified
    if history.live:
        raise AlreadyApplied(existing_id=history.live)
    if history.decided and actor.kind is not ActorKind.COMPANY:
        raise AlreadyDecided(existing_id=history.decided)


def _new_application(
    job: LockedJob, history: History, new_id: UUID, applicant_id: UUID, *, verified: bool
) -> Application:
    """Return a new application with earlier misses and passes, and their cool-down if it runs."""
    cooling = history.eligible_at is not None and history.eligible_at > job.now
    values: Any = _BLANK | {
        "id": new_id,
        "job_id": job.id,
        "applicant_id": applicant_id,
        "applied_at": job.now,
        "decay_count": history.misses,
        "eligible_at": history.eligible_at if cooling else None,
        "passes_used": history.passes,
        "passed_at": history.passed_at if cooling else None,
        "verify_by": None if verified else job.now + VERIFY_WITHIN,
    }
    return Application(*values.values())  # positional: twice as fast as by name


def _admit_own_application(
    job: LockedJob,
    application_id: UUID,
    said: Mapping[str, str],
    *,
    actor: Actor,
    facts: Mapping[str, Any],
) -> Application:
    """Verify a person's application, with the name and language said now.

    It keeps its place, or gets a free seat at once.

    The person cannot be erased before this change is committed.
    """
    application = read_locked_application(job, application_id)
    admit_verified(job, application, actor=actor, facts=facts)
    changed = {each: text for each, text in said.items() if text != getattr(application, each)}
    if changed:
        Application.objects.filter(id=application.id).update(**changed)
        for each, text in changed.items():
            setattr(application, each, text)
    return application


def admit_verified(
    job: LockedJob,
    application: Application,
    *,
    actor: Actor,
    facts: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Make a waiting application of a settled line eligible, and offer it a free seat.

    After settling, a seat is free only if nobody else is eligible. Raises IllegalMove.
    """
    entry = make_move(job, application, Move.VERIFY, actor=actor, facts=facts)
    offer_free_seat(job, application, cause_seq=entry.seq)


def offer_free_seat(job: LockedJob, application: Application, *, cause_seq: int) -> None:
    """Offer a seat that is free in a settled line to a person who has just become eligible.

    If the walk to the next in line is unfinished, it reaches this person in their turn.
    """
    if job.status is not JobStatus.OPEN or job.awaits_draw or not job.can_take_seat(application):
        return
    if job.is_walk_unfinished:
        return
    if application.held_until and application.held_until > job.now:
        job.note_due(application.held_until)
    elif promote(job, application, cause_seq=cause_seq) and application.eligible_at:
        job.note_due(application.eligible_at)  # they passed it, and nobody else is eligible


# A place that a person had before, given back or kept.


def give_missed_place_back(
    job: LockedJob,
    application: Application,
    miss: LastMiss,
    *,
    actor: Actor,
    facts: dict[str, Any],
) -> LogEntry:
    """Return a person of a settled line to the place before their last miss, or before a removal.

    A miss and its cool-down no longer count; earlier misses and the cool-down of a pass still do. A
    free seat is offered to them, because nobody else is eligible while one is free. Raises
    IllegalMove.
    """
    assert miss.deadline is not None  # noqa: S101  there is a miss
    assert miss.ticket is not None  # noqa: S101  and a place before it
    application.ticket, application.tie = miss.ticket, miss.tie
    if application.outcome not in DECIDED:
        application.decay_count -= 1
        if application.passed_at is None:
            application.eligible_at = None
        facts = facts | {"missed": logged_time(miss.deadline)}
    application.outcome = application.ended_at = None
    application.status_since = job.now
    job.head_ticket = min(job.head_ticket, miss.ticket)
    entry = make_move(
        job,
        application,
        Move.REINSTATE,
        actor=actor,
        cause_seq=miss.seq,
        facts=facts,
    )
    offer_free_seat(job, application, cause_seq=entry.seq)
    return entry


def pass_offered_seat(job: LockedJob, application: Application, *, actor: Actor) -> None:
    """Return a person who passes an offered seat to the place before it. Raises IllegalMove."""
    application.ticket, application.tie = job.source.place_before_offer(application)
    job.head_ticket = min(job.head_ticket, application.ticket)
    make_move(job, application, Move.PASS, actor=actor)


# A place at the front, by an exception that everyone passed is told of.


def move_to_front(
    job: LockedJob,
    application: Application,
    *,
    reason: ExceptionReason,
    actor: Actor,
    facts: Mapping[str, Any] = MappingProxyType({}),
) -> LogEntry:
    """Move a person of a settled line before everyone who waits. Raises NotMovable, IllegalMove.

    The ticket is one less than the first of all, and than a newcomer's: after misses, everyone can
    wait behind that. So it can be below 1. Nobody else's place changes, and nobody becomes eligible
    by this, so no free seat is offered.
    """
    if job.exception_count >= MOST_EXCEPTIONS:
        why = ngettext_lazy(
            "This job has had {most} exception, which is the limit.",
            "This job has had {most} exceptions, which is the limit.",
            "most",
        )
        raise NotMovable(why=why, most=MOST_EXCEPTIONS)
    if job.awaits_draw:
        raise NotMovable(why=_("The order has not been drawn yet, so nobody has a place."))
    front = job.source.front(job, application)
    if not front.people_ahead:
        raise NotMovable(why=_("This person is the first in line already."))
    passed = {
        EXCEPTION: str(reason),
        PEOPLE_PASSED: front.people_ahead,
        FROM_TICKET: application.ticket,
        FROM_TIE: application.tie,
    }
    application.ticket = min(front.ticket, job.next_ticket) - 1
    application.tie = job.seq + 1
    job.head_ticket = min(job.head_ticket, application.ticket)
    job.exception_count, job.has_rare_changes = job.exception_count + 1, True
    return make_move(job, application, Move.MOVE_AHEAD, actor=actor, facts={**facts, **passed})
