"""Admission of a person to a line: one rule for a single application and for an import."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from jobs.models import JobStatus
from pipeline.domain.errors import AlreadyApplied, AlreadyDecided, JobNotOpen
from pipeline.domain.states import Actor, ActorKind, Move
from pipeline.line.lock import History
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_move
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
    application_id: UUID | None = None,
) -> Application:
    """Admit a person to a settled line; misses and a cool-down of earlier applications follow them.

    A newcomer overtakes nobody: after settling, a seat is free only if nobody eligible waits.
    Writes nothing yet. Raises JobNotOpen, AlreadyApplied, AlreadyDecided.
    """
    if job.status is not JobStatus.OPEN:
        raise JobNotOpen(status=job.status.value)
    if history.live:
        raise AlreadyApplied
    if history.decided and actor.kind is not ActorKind.COMPANY:
        raise AlreadyDecided
    cooling = history.eligible_at is not None and history.eligible_at > job.now
    values: Any = _BLANK | {
        "id": application_id or uuid7(),
        "job_id": job.id,
        "applicant_id": applicant_id,
        "name": name,
        "applied_at": job.now,
        "decay_count": history.misses,
        "eligible_at": history.eligible_at if cooling else None,
    }
    application = Application(*values.values())  # by place: twice as fast as by name
    if not job.seats_free or cooling:
        move = Move.QUEUE
    elif job.policy.acknowledge_first_seat or not verified:
        move = Move.OFFER
    else:
        move = Move.SEAT
    make_move(job, application, move, actor=actor)
    if job.seats_free and application.eligible_at:
        job.due(application.eligible_at)
    return application
