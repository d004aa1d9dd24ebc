"""A company's decision on an application."""

from __future__ import annotations

import logging
from uuid import UUID

from pipeline.domain.states import DECISIONS, Actor, EventType, Outcome, Reason
from pipeline.line.fill import fill_seats
from pipeline.line.lock import lock_job_of
from pipeline.line.moves import make_move
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Application, DecisionNote, Event

security = logging.getLogger("security")


@line_transaction
def remove(
    *,
    application_id: UUID,
    outcome: Outcome,
    actor: Actor,
    reason: Reason | None = None,
    note: str = "",
    request_id: UUID | None = None,
) -> Application:
    """End an application as REMOVED, REJECTED or HIRED. A freed seat goes to the next in line.

    `reason` is a code and goes into the log. `note` is free text, stored where it can be erased.
    `request_id` identifies the company's request: repeating it is harmless, even if the person has
    got their place back since. Raises IllegalMove
    (HIRED is possible only from ACTIVE), ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job, only_ends=True)
    application = job.application(application_id)
    if request_id:
        ended = Event.objects.filter(application_id=application.id, event=EventType.REMOVED)
        if ended.filter(data__request=str(request_id)).exists():
            return application
    codes = {"reason": reason, "request": request_id}
    facts = {name: str(value) for name, value in codes.items() if value}
    entry = make_move(job, application, DECISIONS[outcome], actor=actor, facts=facts)
    fill_seats(job)
    if note:
        DecisionNote.objects.create(application=application, seq=entry.seq, text=note)
    write(job, commit=True)
    ids = {"company": str(job.company_id), "application": str(application.id)}
    security.info("decision.made", extra=ids | {"outcome": str(outcome)})
    return application
