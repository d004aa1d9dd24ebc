"""Contest: a person asks the company to look again at the end of their application."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from uuid_utils.compat import uuid7

from pipeline.domain.contests import (
    ANSWER_BY,
    CONTEST_ID,
    CONTEST_WITHIN,
    CONTESTABLE,
    CONTESTED_SEQ,
)
from pipeline.domain.errors import (
    AlreadyContested,
    ApplicationNotFound,
    ContestTooLate,
    NotContestable,
)
from pipeline.domain.states import Actor, Move
from pipeline.line.event_log import logged_time
from pipeline.line.lock import lock_job_of
from pipeline.line.moves import make_move
from pipeline.line.removed_logs import refuse_removed_log
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Application, Contest
from pipeline.selectors.contests import contestable_end

NOT_CONTESTABLE = (
    "Only an application that lapsed after missed deadlines, or that the company removed or did not"
    " select, can be looked at again."
)


@line_transaction
def contest(
    *, application_id: UUID, text: str, actor: Actor, request_id: UUID | None = None
) -> Contest:
    """Ask the company to look again at the end of an application, once for each end.

    The application stays ended. The company must answer within CONTEST_DAYS, a setting.
    `text` stays out of the log. `request_id` identifies the request: repeating it is harmless.
    Raises NotContestable if it did not lapse and was not removed or rejected, or was never
    verified; ContestTooLate after CONTEST_WITHIN; AlreadyContested; LogArchived;
    ApplicationNotFound, also if the person was erased meanwhile.
    """
    job = lock_job_of(application_id, hold_person=True)
    settle_due(job, only_ends=True)
    application = job.application(application_id)
    owner = Application.objects.select_related("applicant").get(id=application_id).applicant
    if owner.is_erased or owner.id != actor.id:
        raise ApplicationNotFound
    earlier = Contest.objects.filter(application_id=application_id)
    if request_id and (same := earlier.filter(id=request_id).first()):
        return same
    end = contestable_end(application_id)
    if end is None:
        refuse_removed_log(job.id)
    if application.outcome not in CONTESTABLE or not application.is_verified or end is None:
        raise NotContestable(why=NOT_CONTESTABLE)
    if earlier.filter(contested_seq=end.seq).exists():
        raise AlreadyContested
    if job.now >= end.at + CONTEST_WITHIN:
        raise ContestTooLate(days=CONTEST_WITHIN.days)
    asked = Contest(
        id=request_id or uuid7(),
        application_id=application_id,
        job_id=job.id,
        company_id=job.company_id,
        contested_seq=end.seq,
        text=text,
        asked_at=job.now,
        answer_by=job.now + timedelta(days=settings.CONTEST_DAYS),
    )
    facts = {
        CONTEST_ID: str(asked.id),
        CONTESTED_SEQ: end.seq,
        ANSWER_BY: logged_time(asked.answer_by),
    }
    asked.seq = make_move(job, application, Move.CONTEST, actor=actor, facts=facts).seq
    asked.save(force_insert=True)
    write(job, commit=True)
    return asked
