"""Answers after applying, while a person waits or when one is asked in a seat. They move nobody."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from uuid_utils.compat import uuid7

from jobs.models import JobStatus
from pipeline.domain.contests import ANSWER_BY
from pipeline.domain.errors import (
    AnswersNotChangeable,
    ApplicationNotFound,
    FormChanged,
    FurtherQuestionNotFound,
    IllegalMove,
    QuestionNotAskable,
)
from pipeline.domain.states import ANSWERS, QUESTION_ID, Actor, Move, Status
from pipeline.domain.verbs import status_after
from pipeline.form.answers import (
    SALT_BYTES,
    Filled,
    HasForm,
    attach_files,
    digest_of,
    files_in,
    keep,
    logged,
    prepare,
)
from pipeline.form.questions import Answers, Kind, Question, check_answers, read_questions
from pipeline.form.versions import questions_of
from pipeline.line.event_log import logged_time
from pipeline.line.lock import line_transaction, lock_job_of
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_move
from pipeline.line.settle import settle_due
from pipeline.line.write import write
from pipeline.models import Application, FurtherQuestion, GivenAnswers

# The most versions of the answers of one application, and further questions: the log keeps each.
MOST_CHANGES, MOST_FURTHER = 20, 20
# For how long a person can be given to answer a further question.
ANSWER_WITHIN = timedelta(days=60)


def fill_later(
    job: HasForm,
    given: Mapping[str, Any],
    *,
    earlier: Answers | None = None,
    number: int | None = None,
    holder: bytes = b"",
) -> Filled:
    """Check the answers of a person who has applied, to the current form.

    A condition on an answer is not looked at: it decides only who may apply. A question for files
    that is left out keeps those of the `earlier` answers. `holder`: who uploaded new ones. Raises
    FormChanged, AnswersRefused, AnswersNotChangeable if the job has no form.
    """
    current = job.form_version
    if not current:
        raise AnswersNotChangeable(why=_("This job asks no questions."))
    if number not in (None, current):
        raise FormChanged(form_version=current)
    questions = questions_of(job.id, current)
    before = earlier or {}
    kept = [each.key for each in questions if each.kind is Kind.FILE and each.key in before]
    answers = check_answers(questions, {key: before[key] for key in kept} | dict(given))
    files = files_in(questions, answers)
    answers |= {key: [str(each) for each in ids] for key, ids in files.items()}
    return Filled(current, current, answers, files, holder)


@line_transaction
def change_answers(*, application_id: UUID, filled: Filled, actor: Actor) -> Application:
    """Change the answers of a person on the waitlist. Earlier ones are kept, with their files.

    The same answers again change nothing. Raises IllegalMove unless the person waits and is
    verified, FormChanged, AnswersNotChangeable after MOST_CHANGES, ApplicationNotFound, also if the
    person was erased meanwhile; and the errors of `attach_files`.
    """
    job, application = _lock_to_answer(application_id, actor, Move.CHANGE_ANSWERS)
    if application.status != Status.WAITLIST:
        raise IllegalMove(status=application.status, move=Move.CHANGE_ANSWERS)
    if job.form_version != filled.current:
        raise FormChanged(form_version=job.form_version)
    last = GivenAnswers.objects.filter(application_id=application_id).order_by("-number").first()
    if last and (last.form_number, last.answers) == (filled.number, filled.answers):
        return application
    number = last.number + 1 if last else 1
    if number > MOST_CHANGES:
        why = ngettext(
            "You have already changed your answers {limit} time, which is the limit.",
            "You have already changed your answers {limit} times, which is the limit.",
            MOST_CHANGES,
        )
        raise AnswersNotChangeable(why=why.format(limit=MOST_CHANGES))
    with transaction.atomic():
        attach_files(job.id, application_id, filled)
    row = prepare(job.id, application_id, filled, number=number)
    make_move(job, application, Move.CHANGE_ANSWERS, actor=actor, facts=logged(row))
    keep(job, row)
    write(job, commit=True)
    return application


def _lock_to_answer(
    application_id: UUID, actor: Actor, move: Move
) -> tuple[LockedJob, Application]:
    """Lock the job of an application for its person. Raises ApplicationNotFound, IllegalMove."""
    job = lock_job_of(application_id, hold_person=True)
    settle_due(job)
    application = job.application(application_id)
    owner = Application.objects.select_related("applicant").get(id=application_id).applicant
    if owner.is_erased or owner.id != actor.id:
        raise ApplicationNotFound
    status_after(Status(application.status), move, verified=application.is_verified)
    return job, application


# Further question: one more, of a person in a seat.


@line_transaction
def ask(
    *,
    application_id: UUID,
    question: Question,
    answer_by: datetime,
    actor: Actor,
    question_id: UUID | None = None,
) -> FurtherQuestion:
    """Ask a person in a seat one more question, to be answered by a time.

    The person is emailed. The question stays out of the log. `question_id`: the id of the new row;
    if it exists, it is returned. Raises QuestionNotAskable if one is open, too many were asked or
    the time is not ahead; IllegalMove unless the person is in review; ApplicationNotFound, also if
    the person was erased.
    """
    job = lock_job_of(application_id, hold_person=True)
    settle_due(job)
    application = job.application(application_id)
    if Application.objects.select_related("applicant").get(id=application_id).applicant.is_erased:
        raise ApplicationNotFound
    earlier = list(FurtherQuestion.objects.filter(application_id=application_id))
    for each in earlier:
        if each.id == question_id:
            return each
    status_after(Status(application.status), Move.ASK_QUESTION, verified=application.is_verified)
    if job.status is JobStatus.CLOSED and application.status != Status.ACTIVE:
        raise IllegalMove(status=application.status, move=Move.ASK_QUESTION)
    _refuse_asking(earlier, answer_by, job.now)
    asked = FurtherQuestion(
        id=question_id or uuid7(),
        application_id=application_id,
        question=question.as_json(),
        asked_by=actor.id,
        asked_at=job.now,
        answer_by=answer_by,
    )
    facts = {QUESTION_ID: str(asked.id), ANSWER_BY: logged_time(answer_by)}
    asked.seq = make_move(job, application, Move.ASK_QUESTION, actor=actor, facts=facts).seq
    asked.save(force_insert=True)
    write(job, commit=True)
    return asked


def _refuse_asking(earlier: list[FurtherQuestion], answer_by: datetime, now: datetime) -> None:
    why = ""
    if any(each.is_open for each in earlier):
        why = _("A question to this person is still open. Wait for the answer, or withdraw it.")
    elif len(earlier) >= MOST_FURTHER:
        why = ngettext(
            "You have asked this person {limit} question, which is the limit.",
            "You have asked this person {limit} questions, which is the limit.",
            MOST_FURTHER,
        )
        why = why.format(limit=MOST_FURTHER)
    elif not now < answer_by <= now + ANSWER_WITHIN:
        days = ANSWER_WITHIN.days
        why = ngettext(
            "Choose a time in the next {days} day.", "Choose a time in the next {days} days.", days
        ).format(days=days)
    if why:
        raise QuestionNotAskable(why=why)


@line_transaction
def answer(*, application_id: UUID, question_id: UUID, given: Any, actor: Actor) -> FurtherQuestion:
    """Answer the open further question. It can be late; the answer cannot be changed.

    `given` has been checked with `open_question`. Raises FurtherQuestionNotFound if it is not open,
    IllegalMove if the person is not in review any more, ApplicationNotFound.
    """
    job, application = _lock_to_answer(application_id, actor, Move.CHANGE_ANSWERS)
    found = _find_open(application_id, question_id)
    if application.status != Status.ACTIVE:
        raise IllegalMove(status=application.status, move=Move.CHANGE_ANSWERS)
    found.answer, found.salt = given, os.urandom(SALT_BYTES)
    found.digest = digest_of(found.salt, 0, given)
    facts = {
        QUESTION_ID: str(question_id),
        ANSWERS: {"form_version": 0, "number": 1, "digest": found.digest.hex()},
    }
    entry = make_move(job, application, Move.CHANGE_ANSWERS, actor=actor, facts=facts)
    found.answered_at, found.answer_seq = job.now, entry.seq
    found.save(force_update=True)
    write(job, commit=True)
    return found


@line_transaction
def withdraw_question(*, application_id: UUID, question_id: UUID) -> None:
    """Withdraw the open further question. Raises FurtherQuestionNotFound, ApplicationNotFound."""
    job = lock_job_of(application_id)
    found = _find_open(application_id, question_id)
    FurtherQuestion.objects.filter(id=found.id).update(withdrawn_at=job.now)


def _find_open(application_id: UUID, question_id: UUID) -> FurtherQuestion:
    rows = FurtherQuestion.objects.filter(id=question_id, application_id=application_id)
    found = rows.filter(answered_at=None, withdrawn_at=None).first()
    if found is None:
        raise FurtherQuestionNotFound
    return found


def open_question(application_id: UUID) -> tuple[FurtherQuestion, Question] | None:
    """Return the further question that a person still has to answer, in one query."""
    found = next((row for row in read_further(application_id) if row.is_open), None)
    return (found, question_in(found)) if found else None


def question_in(asked: FurtherQuestion) -> Question:
    """Return the question that was asked."""
    return read_questions([asked.question])[0]


def read_further(application_id: UUID) -> list[FurtherQuestion]:
    """Return the further questions of an application, newest first, in one query."""
    return list(FurtherQuestion.objects.filter(application_id=application_id).order_by("-seq"))
