"""A company's decision on an application."""

from __future__ import annotations

from uuid import UUID

from pipeline.line.change import change
from pipeline.line.fill import fill_seats
from pipeline.line.lock import lock_job_of
from pipeline.line.settle import settle_due
from pipeline.line.write import write
from pipeline.models import Application, DecisionNote
from pipeline.states import DECISIONS, Actor, Outcome, Reason


@change
def remove(
    *,
    application_id: UUID,
    outcome: Outcome,
    actor: Actor,
    reason: Reason | None = None,
    note: str = "",
) -> Application:
    """End an application as REMOVED, REJECTED or HIRED; an opened seat goes to the next in line.

    `reason` is a code and goes into the log; `note` is free text, kept where it can be erased.
    Raises IllegalMove (HIRED is possible only from ACTIVE), ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    code = {"reason": reason.value} if reason else {}
    job.move(application, DECISIONS[outcome], actor=actor, facts=code)
    fill_seats(job)
    write(job)
    if note:
        DecisionNote.objects.create(application=application, text=note)
    return application
