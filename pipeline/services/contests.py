"""Contests: a person asks the company to look again, drops that, or gets an answer."""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext_lazy
from uuid_utils.compat import uuid7

from jobs.models import JobStatus
from pipeline.domain.contests import (
    ANSWER,
    ANSWER_BY,
    ANSWER_SEQ,
    CONTEST_ID,
    CONTEST_WITHIN,
    CONTESTABLE,
    CONTESTED_SEQ,
    REASONS_OF,
    ContestAnswer,
    ContestReason,
)
from pipeline.domain.errors import (
    AlreadyContested,
    ApplicationNotFound,
    ContestAnswered,
    ContestNotFound,
    ContestTooLate,
    NotContestable,
    NotReinstatable,
)
from pipeline.domain.states import Actor, Move
from pipeline.line import removed_logs
from pipeline.line.admission import give_missed_place_back
from pipeline.line.event_log import logged_time
from pipeline.line.lock import line_transaction, lock_job_of
from pipeline.line.locked_job import LockedJob
from pipeline.line.misses import LastMiss
from pipeline.line.moves import make_move
from pipeline.line.settle import settle_due
from pipeline.line.write import write
from pipeline.models import Application, Contest
from pipeline.selectors.review import contestable_end

security = logging.getLogger("security")


NOT_CONTESTABLE = gettext_lazy(
    "Only an application that lapsed after missed deadlines, or that the company removed or did not"
    " select, can be looked at again."
)


@line_transaction
def contest(
    *, application_id: UUID, text: str, actor: Actor, request_id: UUID | None = None
) -> Contest:
    """Ask the company to look again at how an application ended, once per decision.

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
        removed_logs.refuse(job.id)
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


# Answer of a company to someone who asked it to look again.


JOB_CLOSED = gettext_lazy("The job is closed, so there is no place to give back.")
DRAWN_SINCE = gettext_lazy(
    "The order was drawn by lot since, so the former place is gone. Add the person again instead."
)


@line_transaction
def answer_contest(
    *,
    contest_id: UUID,
    application_id: UUID,
    answer: ContestAnswer,
    reason: ContestReason,
    actor: Actor,
    text: str = "",
    request_id: UUID | None = None,
) -> Contest:
    """Answer a contest: the decision stands, or the person gets their former place back at once.

    The answer and its effects are events of the same change. `reason` fits the answer
    (`REASONS_OF`). `text` is for the applicant and stays out of the log. `request_id` as in
    `remove`. Raises ContestNotFound; ContestAnswered; NotReinstatable or AlreadyApplied if there is
    no place to give back; ApplicationNotFound.
    """
    assert reason in REASONS_OF[answer]  # noqa: S101  callers check what they are given
    job = lock_job_of(application_id, hold_person=True)
    settle_due(job, only_ends=answer is not ContestAnswer.CHANGED)
    application = job.application(application_id)
    found = Contest.objects.filter(id=contest_id, application_id=application_id).first()
    if found is None:
        raise ContestNotFound
    if not found.is_open:
        if request_id and found.answer_request == request_id:
            return found
        raise ContestAnswered
    place = find_lost_place(job, application) if answer is ContestAnswer.CHANGED else None
    found.answer_text, found.answer_request = text, request_id
    seq = close_answered(job, application, found, answer=answer, reason=reason, actor=actor)
    if place:
        facts = {"reason": str(reason), ANSWER_SEQ: seq}
        give_missed_place_back(job, application, place, actor=actor, facts=facts)
    write(job, commit=True)
    ids = {"company": str(job.company_id), "application": str(application_id)}
    security.info("contest.answered", extra=ids | {"answer": str(answer), "reason": str(reason)})
    return found


def find_lost_place(job: LockedJob, application: Application) -> LastMiss:
    """Return the place that an application lost by its end.

    Raises NotReinstatable, AlreadyApplied. Before a draw by lot, nobody had a place yet.
    """
    if job.status is JobStatus.CLOSED:
        raise NotReinstatable(why=JOB_CLOSED)
    if job.drawn_at and application.ended_at and application.ended_at < job.drawn_at:
        raise NotReinstatable(why=DRAWN_SINCE)
    place = job.source.last_miss(application)
    place.refuse_giving_back()
    return place


def close_answered(
    job: LockedJob,
    application: Application,
    found: Contest,
    *,
    answer: ContestAnswer,
    reason: ContestReason,
    actor: Actor,
) -> int:
    """Log the answer to a contest, save it, and return the event's seq. Does not write the line."""
    facts = {CONTEST_ID: str(found.id), ANSWER: str(answer), "reason": str(reason)}
    entry = make_move(job, application, Move.ANSWER_CONTEST, actor=actor, facts=facts)
    found.answer, found.reason = answer, reason
    found.answered_at, found.answered_by, found.answer_seq = job.now, actor.id, entry.seq
    found.save(force_update=True)  # the person may have been erased: nothing is made anew
    return entry.seq


# End of a contest that nobody can answer any more, because the person's data is erased.


@line_transaction
def drop_contest(*, application_id: UUID, actor: Actor) -> bool:
    """End the open contest of an application without an answer; return whether there was one.

    Settles nothing: it changes no place. Raises ApplicationNotFound.
    """
    job = lock_job_of(application_id, hold_person=True)
    found = Contest.objects.filter(application_id=application_id, answer="").first()
    if found is None:
        return False
    close_answered(
        job,
        job.application(application_id),
        found,
        answer=ContestAnswer.DROPPED,
        reason=ContestReason.PERSON_ERASED,
        actor=actor,
    )
    write(job, commit=True)
    return True
