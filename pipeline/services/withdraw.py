"""Withdrawal from a line."""

from __future__ import annotations

from uuid import UUID

from pipeline.domain.states import Actor, Move, Outcome
from pipeline.line.fill import fill_seats
from pipeline.line.lock import lock_job_of
from pipeline.line.moves import make_move
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Application


@line_transaction
def withdraw(*, application_id: UUID, actor: Actor) -> Application:
    """Withdraw an application. A freed seat goes to the next in line before this returns.

    Withdrawing twice is harmless. Raises IllegalMove if the application ended in another way,
    ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job, only_ends=True)
    application = job.application(application_id)
    if application.outcome != Outcome.WITHDRAWN:
        make_move(job, application, Move.WITHDRAW, actor=actor)
        fill_seats(job)
        write(job, commit=True)
    return application
