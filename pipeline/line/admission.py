"""The rule by which a person comes into a line; the same for one who applies and for many."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from jobs.models import JobStatus
from pipeline.domain.errors import AlreadyApplied, AlreadyDecided, JobNotOpen
from pipeline.domain.states import Actor, ActorKind, Move
from pipeline.line.lock import History
from pipeline.line.locked_job import LockedJob
from pipeline.models import Application


def enter(
    job: LockedJob,
    history: History,
    *,
    applicant_id: UUID,
    name: str,
    actor: Actor,
    verified: bool,
    application_id: UUID | None = None,
) -> Application:
    """Take a person into a line that was settled, with what they have behind them there.

    Writes nothing yet. Raises JobNotOpen, AlreadyApplied, AlreadyDecided.
    """
    _refuse(job, history, actor)
    application = _new(job, history, applicant_id, name)
    application.id = application_id or application.id
    job.move(application, _way_in(job, application, verified=verified), actor=actor)
    if job.seats_free and application.eligible_at:
        job.due(application.eligible_at)
    return application


def _refuse(job: LockedJob, history: History, actor: Actor) -> None:
    if job.status is not JobStatus.OPEN:
        raise JobNotOpen(status=job.status.value)
    if history.live:
        raise AlreadyApplied
    if history.decided and actor.kind is not ActorKind.COMPANY:
        raise AlreadyDecided


def _new(job: LockedJob, history: History, applicant_id: UUID, name: str) -> Application:
    cooling = history.eligible_at is not None and history.eligible_at > job.now
    values: Any = _BLANK | {
        "id": uuid7(),
        "job_id": job.id,
        "applicant_id": applicant_id,
        "name": name,
        "applied_at": job.now,
        "decay_count": history.misses,
        "eligible_at": history.eligible_at if cooling else None,
    }
    return Application(*values.values())  # by place: twice as fast as by name


_BLANK = {field.attname: field.get_default() for field in Application._meta.concrete_fields}


def _way_in(job: LockedJob, application: Application, *, verified: bool) -> Move:
    """After settling, a seat is free only if nobody eligible waits: nobody is overtaken."""
    if not job.seats_free or application.eligible_at:
        return Move.QUEUE
    if job.policy.acknowledge_first_seat or not verified:
        return Move.OFFER
    return Move.SEAT
