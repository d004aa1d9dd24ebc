"""Forms of jobs: the draft that a company edits, and the versions that it publishes.

A version is never changed, so what an application answered stays what it was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from jobs import activity
from jobs.models import Job, JobPosting, JobStatus
from pipeline.domain.errors import IllegalJobMove, JobNotFound, StaleVersion
from pipeline.domain.states import Actor
from pipeline.form.questions import (
    MOST_QUESTIONS,
    Question,
    QuestionRefused,
    check_form,
    read_questions,
    suggest_key,
)
from pipeline.line.lock import lock_job
from pipeline.models import Change, ChangeKind, FormDraft, FormRefusals, FormVersion

security = logging.getLogger("security")

FORM_PUBLISHED = activity.declare(
    "form.published", activity.Group.RULES, _("Published the questions of a job")
)

# The most versions of one job's form. They are kept as long as the job.
MOST_VERSIONS = 500

Questions = tuple[Question, ...]


@lru_cache(maxsize=512)
def questions_of(job_id: UUID, number: int) -> Questions:
    """Return the questions of a published form. Raises LookupError if there is no such version.

    A version never changes, so each process reads it once.
    """
    if not number:
        return ()
    found = FormVersion.objects.filter(job_id=job_id, number=number)
    stored = found.values_list("questions", flat=True).first()
    if stored is None:
        raise LookupError(f"job {job_id} has no form {number}")
    return read_questions(stored)


def current_questions(jobs: Iterable[Job]) -> dict[UUID, Questions]:
    """Return the current forms of some jobs, in at most one query, and none if they have none."""
    with_form = [job.id for job in jobs if job.form_version]
    if not with_form:
        return {}
    found = FormVersion.objects.filter(job_id__in=with_form, number=F("job__form_version"))
    return {id: read_questions(stored) for id, stored in found.values_list("job_id", "questions")}


def all_questions(job_id: UUID) -> list[Question]:
    """Return the questions of all versions of a job's form, each key once as it is last asked."""
    found: dict[str, Question] = {}
    versions = FormVersion.objects.filter(job_id=job_id).order_by("-number")
    for stored in versions.values_list("questions", flat=True):
        for question in read_questions(stored):
            found.setdefault(question.key, question)
    return list(found.values())


class Draft(NamedTuple):
    """Questions that a company is editing. `published` is the number of the current version.

    `changes` counts the questions that are new, gone, or asked otherwise since it was published; a
    new order alone counts as one.
    """

    questions: Questions
    revision: int
    published: int
    changes: int

    @property
    def is_changed(self) -> bool:
        """Tell whether people who apply see something else."""
        return self.changes > 0


def read_draft(job: Job) -> Draft:
    """Return the form of a job as its company last left it."""
    published = published_form(job)
    row = FormDraft.objects.filter(job_id=job.id).first()
    if row is None:
        return published
    questions = read_questions(row.questions)
    changes = _count_changes(published.questions, questions)
    return Draft(questions, row.revision, job.form_version, changes)


def published_form(job: Job) -> Draft:
    """Return the form of a job of which no change waits to be published, without a query."""
    return Draft(questions_of(job.id, job.form_version), 0, job.form_version, 0)


def _count_changes(before: Questions, after: Questions) -> int:
    if before == after:
        return 0
    old, new = ({each.key: each for each in questions} for questions in (before, after))
    return sum(old.get(key) != new.get(key) for key in old.keys() | new.keys()) or 1


@transaction.atomic
def edit(
    *, job: Job, revision: int, change: Callable[[list[Question]], Sequence[Question]]
) -> Draft:
    """Change the draft of a job's form, if it still has the revision that was shown.

    Raises StaleVersion, QuestionRefused, JobNotFound for a deleted draft of a job, IllegalJobMove
    if the job is closed.
    """
    if job.status == JobStatus.CLOSED:
        raise IllegalJobMove(status=job.status, verb="change its questions")
    if not JobPosting.objects.filter(job_id=job.id).exists():
        raise JobNotFound
    before = read_draft(job)
    if before.revision != revision:
        raise StaleVersion
    questions = tuple(change(list(before.questions)))
    check_form(questions)
    FormDraft.objects.get_or_create(job_id=job.id)
    shown = FormDraft.objects.filter(job_id=job.id, revision=revision)
    stored = [each.as_json() for each in questions]
    if not shown.update(questions=stored, revision=revision + 1, changed_at=Now()):
        raise StaleVersion
    return read_draft(job)


def add(questions: list[Question], question: Question) -> list[Question]:
    """Return the questions with one more at the end."""
    return [*questions, question]


def put(questions: list[Question], question: Question) -> list[Question]:
    """Return the questions with the one of the same key replaced."""
    return [question if each.key == question.key else each for each in questions]


def remove(questions: list[Question], key: str) -> list[Question]:
    """Return the questions without one."""
    return [each for each in questions if each.key != key]


def move(questions: list[Question], key: str, places: int) -> list[Question]:
    """Return the questions with one moved by some places, up if negative."""
    at = next((at for at, each in enumerate(questions) if each.key == key), None)
    if at is not None:
        questions.insert(max(0, at + places), questions.pop(at))
    return questions


def arrange(questions: list[Question], keys: Sequence[str]) -> list[Question]:
    """Return the questions in the order of the keys; those that are not named come last."""
    places = {key: at for at, key in enumerate(keys)}
    return sorted(questions, key=lambda each: places.get(each.key, len(places)))


def copy(questions: list[Question], more: Sequence[Question]) -> list[Question]:
    """Return the questions with those of another form behind them.

    A key that is taken gets a number. At most two answers stay on the board.
    """
    for each in more[: MOST_QUESTIONS - len(questions)]:
        taken = {known.key for known in questions}
        key = each.key if each.key not in taken else suggest_key(each.key, taken)
        questions = [*questions, replace(each, key=key, in_summary=False)]
    return questions


@transaction.atomic(durable=True)
def publish(*, job_id: UUID, questions: Sequence[Question] | None = None, actor: Actor) -> int:
    """Publish a job's draft, or `questions`, as its next version; return the current number.

    From then on people who apply answer that version. Without questions the job has no form: 0.
    Publishing what is published already changes nothing. Raises JobNotFound, IllegalJobMove if the
    job is closed, QuestionRefused.
    """
    job = lock_job(job_id)
    if not JobPosting.objects.filter(job_id=job_id).exists():
        raise JobNotFound
    if job.status is JobStatus.CLOSED:
        raise IllegalJobMove(status=job.status.value, verb="change its questions")
    if questions is None:
        stored = FormDraft.objects.filter(job_id=job_id).values_list("questions", flat=True).first()
        if stored is None:
            return job.form_version
        questions = read_questions(stored)
    else:
        values = {"questions": [each.as_json() for each in questions]}
        FormDraft.objects.update_or_create(job_id=job_id, defaults=values)
        FormDraft.objects.filter(job_id=job_id).update(revision=F("revision") + 1)
    check_form(questions)
    if tuple(questions) == questions_of(job_id, job.form_version):
        return job.form_version
    number = write_version(job_id, questions, actor) if questions else 0
    Job.objects.filter(id=job_id).update(form_version=number)
    JobPosting.objects.filter(job_id=job_id).update(version=F("version") + 1, updated_at=Now())
    Change.objects.create(kind=ChangeKind.JOB_CHANGED, company_id=job.company_id, job_id=job_id)
    ids = {"company": job.company_id, "job": job_id, "actor": actor.id, "form_version": number}
    activity.note(FORM_PUBLISHED, company_id=job.company_id, by=actor.id, job_id=job_id)
    security.info("form.published", extra={name: str(value) for name, value in ids.items()})
    return number


def write_version(job_id: UUID, questions: Sequence[Question], actor: Actor) -> int:
    """Write the next version of a locked or new job's form, and return its number.

    Raises QuestionRefused if there are too many.
    """
    versions = FormVersion.objects.filter(job_id=job_id).order_by("-number")
    number = (versions.values_list("number", flat=True).first() or 0) + 1
    if number > MOST_VERSIONS:
        why = ngettext(
            "A job can have %(most)s version of its form. Create another job like it.",
            "A job can have %(most)s versions of its form. Create another job like it.",
            MOST_VERSIONS,
        )
        raise QuestionRefused({"questions": why % {"most": MOST_VERSIONS}})
    FormVersion.objects.create(
        job_id=job_id,
        number=number,
        questions=[each.as_json() for each in questions],
        published_by=actor.id,
    )
    return number


def forget(job_id: UUID) -> None:
    """Remove the form of a job that was never opened: its draft and its versions."""
    for kind in (FormDraft, FormVersion, FormRefusals):
        kind._default_manager.filter(job_id=job_id).delete()


class Requirement(NamedTuple):
    """Condition of a job's form, and how many people it has refused."""

    question: Question
    refused: int


def read_requirements(job: Job) -> list[Requirement]:
    """Return the conditions of a job's current form, in at most two queries; none without any."""
    decisive = [each for each in questions_of(job.id, job.form_version) if each.must]
    if not decisive:
        return []
    counts = dict(FormRefusals.objects.filter(job_id=job.id).values_list("key", "refused"))
    return [Requirement(each, counts.get(each.key, 0)) for each in decisive]
