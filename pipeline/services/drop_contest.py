"""End of a contest that nobody can answer any more, because the person's data is erased."""

from __future__ import annotations

from uuid import UUID

from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Actor
from pipeline.line.lock import lock_job_of
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Contest
from pipeline.services.answer_contest import close_contest_with_answer


@line_transaction
def drop_contest(*, application_id: UUID, actor: Actor) -> bool:
    """End the open contest of an application without an answer; return whether there was one.

    Settles nothing: it changes no place. Raises ApplicationNotFound.
    """
    job = lock_job_of(application_id, hold_person=True)
    found = Contest.objects.filter(application_id=application_id, answer="").first()
    if found is None:
        return False
    close_contest_with_answer(
        job,
        job.application(application_id),
        found,
        answer=ContestAnswer.DROPPED,
        reason=ContestReason.PERSON_ERASED,
        actor=actor,
    )
    write(job, commit=True)
    return True
