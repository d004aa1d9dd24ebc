"""Answers to a job's form: filled in, kept with their application, and read.

An application names the version of the form that it answered. Answers never move anybody: a
condition on one refuses a person before the line, and nothing looks at it afterwards.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, Protocol
from uuid import UUID, uuid5

from django.db import connection
from django.utils.translation import gettext as _

from pipeline.attachments.kinds import BY_CONTENT_TYPE
from pipeline.attachments.uploads import attach
from pipeline.domain.errors import FileKindRefused, FormChanged, RequirementNotMet
from pipeline.domain.states import ANSWERS
from pipeline.form.questions import (
    Answers,
    AnswersRefused,
    Kind,
    Question,
    check_answers,
    find_unmet,
)
from pipeline.form.versions import questions_of
from pipeline.line.event_log import LogEntry
from pipeline.line.locked_job import LockedJob
from pipeline.models import Application, Attachment, FurtherQuestion, GivenAnswers
from tasks.sql.prepared import PreparedStatement

SALT_BYTES = 32


class HasForm(Protocol):
    """Job with the number of its current form."""

    @property
    def id(self) -> UUID: ...
    @property
    def form_version(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Filled:
    """Form that was filled in: answers that fit the version `number`.

    `current` was the job's version when they were checked: it decides under the lock whether the
    form has changed since. `files`: the uploads that are answers, by the keys of their questions,
    which `holder` sent.
    """

    number: int
    current: int
    answers: Answers
    files: dict[str, list[UUID]] = field(default_factory=dict)
    holder: bytes = b""


def fill(
    job: HasForm,
    given: Mapping[str, Any] | None,
    *,
    number: int | None = None,
    by_company: bool = False,
    holder: bytes = b"",
) -> Filled | None:
    """Check answers to a job's form, and return them; None if there is no form, or none are given.

    `number`: the version that was shown; usually the current one. An earlier one will do if it asks
    the same. A company can leave questions out; the person has to answer those that are needed.
    `holder`: who uploaded the files among them. Raises FormChanged; AnswersRefused; and
    RequirementNotMet, which is counted unless the company
    submits the person.
    """
    current = job.form_version
    if by_company and not given:
        return None
    if number not in (None, current) and not _asks_same(job.id, number, current):
        raise FormChanged(form_version=current)
    if not current:
        check_answers((), given or {})
        return None
    questions = questions_of(job.id, current)
    answers = check_answers(questions, given or {}, is_complete=not by_company)
    asked = [each for each in questions if each.key in answers] if by_company else questions
    if unmet := find_unmet(asked, answers):
        if not by_company:
            count_refusal(job.id, unmet.key)
        assert unmet.must is not None  # noqa: S101  it has a condition
        raise RequirementNotMet(refusal=unmet.must.refusal, question=unmet.key)
    shown = current if number is None else number
    files = files_in(questions, answers)
    answers |= {key: [str(each) for each in ids] for key, ids in files.items()}
    return Filled(shown, current, answers, files, holder)


def files_in(questions: Sequence[Question], answers: Answers) -> dict[str, list[UUID]]:
    """Return the uploads among answers, by the keys of their questions. Raises AnswersRefused."""
    found: dict[str, list[UUID]] = {}
    for question in questions:
        if question.kind is Kind.FILE and question.key in answers:
            try:
                ids = map(UUID, answers[question.key])
                found[question.key] = list(dict.fromkeys(ids))
            except ValueError:
                why = _("Send the ids of uploaded files.")
                raise AnswersRefused({question.key: why}) from None
    return found


def question_id_of(job_id: UUID, key: str) -> UUID:
    """Return the id by which the files of a question are known, the same in every version."""
    return uuid5(job_id, key)


def attach_files(job_id: UUID, application_id: UUID, filled: Filled) -> None:
    """Attach the uploads among answers to an application, inside the caller's savepoint.

    Raises FileKindRefused for a kind that the question does not take, and the errors of
    `pipeline.attachments.uploads.attach`.
    """
    questions = {each.key: each for each in questions_of(job_id, filled.current)}
    for key, upload_ids in filled.files.items():
        rows = attach(
            upload_ids,
            job_id=job_id,
            application_id=application_id,
            question_id=question_id_of(job_id, key),
            holder=filled.holder,
        )
        wanted = questions[key].file_kinds
        if wanted and any(BY_CONTENT_TYPE[row.content_type].name not in wanted for row in rows):
            why = _("“{question}” takes files of these kinds: {kinds}. Choose another file.")
            why = why.format(question=questions[key].label, kinds=", ".join(wanted))
            raise FileKindRefused(why=why)


def _asks_same(job_id: UUID, number: int | None, current: int) -> bool:
    if not (number and current and 0 < number < current):
        return False
    try:
        before = questions_of(job_id, number)
    except LookupError:
        return False
    now = questions_of(job_id, current)
    return [each.as_asked() for each in before] == [each.as_asked() for each in now]


# One row per question, so that people who are refused at the same moment wait only for each other.
_COUNT_REFUSAL = PreparedStatement("""
INSERT INTO pipeline_formrefusals (job_id, key, refused) VALUES (%(job)s, %(key)s, 1)
ON CONFLICT (job_id, key) DO UPDATE SET refused = pipeline_formrefusals.refused + 1
""")


def count_refusal(job_id: UUID, key: str) -> None:
    """Count a person who may not apply, by the question that decided it."""
    _COUNT_REFUSAL.all(job=job_id, key=key)


# Answers kept with an application, in the statement that writes its event.


def digest_of(salt: bytes, number: int, answers: Any) -> bytes:
    """Return the HMAC-SHA256 of answers under their salt, as the log holds it.

    It covers the JSON of the version and the answers: sorted keys, no spaces, UTF-8.
    """
    return hmac.digest(salt, canonical_answers(number, answers), "sha256")


def canonical_answers(number: int, answers: Any) -> bytes:
    """Encode what the digest of answers covers."""
    told = {"answers": answers, "form_version": number}
    return json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def prepare(job_id: UUID, application_id: UUID, filled: Filled, *, number: int = 1) -> GivenAnswers:
    """Return a row of answers to a job's form, whose `seq` and time are still open."""
    salt = os.urandom(SALT_BYTES)
    return GivenAnswers(
        application_id=application_id,
        number=number,
        form_number=filled.number,
        answers=filled.answers,
        salt=salt,
        digest=digest_of(salt, filled.number, filled.answers),
        searched=_searched_text(questions_of(job_id, filled.current), filled.answers),
    )


def _searched_text(questions: Sequence[Question], answers: Answers) -> str:
    """Return the answers by which a search finds the person."""
    found = (each.show(answers.get(each.key)) for each in questions if each.searchable)
    return " ".join(filter(None, found))


def logged(row: GivenAnswers) -> dict[str, Any]:
    """Return what an event holds of answers."""
    digest = bytes(row.digest).hex()
    return {ANSWERS: {"form_version": row.form_number, "number": row.number, "digest": digest}}


def keep(job: LockedJob, row: GivenAnswers) -> None:
    """Write answers with the event that names them, which was logged in this change."""
    entry = _event_of(job, row.application_id)
    row.seq, row.given_at = entry.seq, entry.at
    job.beside.append(row)


def _event_of(job: LockedJob, application_id: UUID) -> LogEntry:
    own = (each for each in reversed(job.entries) if each.application_id == application_id)
    return next(each for each in own if ANSWERS in each.data)


# Reads of answers.


class ShownAnswer(NamedTuple):
    """Question with an answer as people read it; empty if it was not answered.

    `files`: those that are the answer, as far as they are still there.
    """

    question: Question
    text: str
    value: Any
    files: list[Attachment]


class ShownForm(NamedTuple):
    """Answers of an application as pages show them."""

    row: GivenAnswers
    answers: list[ShownAnswer]


def read_given(application_id: UUID) -> list[GivenAnswers]:
    """Return all answers of an application, the last ones first, in one query."""
    return list(GivenAnswers.objects.filter(application_id=application_id).order_by("-number"))


_LATEST = """
SELECT DISTINCT ON (application_id) application_id, form_number, number, answers, given_at
FROM pipeline_givenanswers WHERE application_id = ANY(%s)
ORDER BY application_id, number DESC
"""


class LatestAnswers(NamedTuple):
    """Last answers of an application."""

    form_number: int
    number: int
    answers: Answers
    given_at: Any


def read_latest(application_ids: Collection[UUID]) -> dict[UUID, LatestAnswers]:
    """Return the last answers of each application that has some, in one query."""
    if not application_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_LATEST, [list(application_ids)])
        return {
            application_id: LatestAnswers(
                form, number, answers if isinstance(answers, dict) else json.loads(answers), at
            )
            for application_id, form, number, answers, at in cursor.fetchall()
        }


def show(job_id: UUID, row: GivenAnswers, files: Iterable[Attachment] = ()) -> ShownForm:
    """Return answers with their questions, as people read them, and the application's files."""
    questions = questions_of(job_id, row.form_number)
    return ShownForm(row, show_answers(questions, row.answers, files))


def show_answers(
    questions: Sequence[Question], answers: Answers, files: Iterable[Attachment] = ()
) -> list[ShownAnswer]:
    """Return each question with its answer, as people read it."""
    rows = {str(row.id): row for row in files}
    return [
        ShownAnswer(
            each,
            each.show(value := answers.get(each.key)),
            value,
            [rows[id] for id in value or () if id in rows] if each.kind is Kind.FILE else [],
        )
        for each in questions
    ]


def replaced_files(files: Iterable[Attachment], latest: Answers | None) -> list[Attachment]:
    """Return the files that answered a question, and are in the latest answers no more."""
    named = _named_files(latest)
    return [row for row in files if row.question_id and str(row.id) not in named]


def files_beside(files: Iterable[Attachment], latest: Answers | None) -> list[Attachment]:
    """Return the files that are not in the latest answers, where people see them anyway."""
    named = _named_files(latest)
    return [row for row in files if str(row.id) not in named]


def _named_files(latest: Answers | None) -> set[str]:
    lists = [value for value in (latest or {}).values() if isinstance(value, list)]
    return set(chain.from_iterable(lists))


class Summaries(NamedTuple):
    """Labels of the questions that the board shows, and people's answers, each with its label."""

    labels: list[str]
    answers: dict[UUID, list[tuple[str, str]]]


def read_summaries(job: HasForm, application_ids: Collection[UUID]) -> Summaries:
    """Return the answers that the board shows, in at most one query and none without a form.

    An answer that somebody did not give is empty.
    """
    if not job.form_version:
        return Summaries([], {})
    marked = [each for each in questions_of(job.id, job.form_version) if each.in_summary]
    if not marked:
        return Summaries([], {})
    found = read_latest(application_ids)
    answers = {
        id: [(each.label, _shown_if_fitting(each, latest.answers.get(each.key))) for each in marked]
        for id, latest in found.items()
    }
    return Summaries([each.label for each in marked], answers)


def _shown_if_fitting(question: Question, value: Any) -> str:
    """Return an answer as people read it; empty if it was to another kind of question."""
    try:
        return question.show(value)
    except (TypeError, ValueError):
        return ""


# In one statement, because retention ends under the lock of the job.
_FORGET = """
WITH questions AS (DELETE FROM pipeline_furtherquestion WHERE application_id = ANY(%(ids)s))
DELETE FROM pipeline_givenanswers WHERE application_id = ANY(%(ids)s)
"""


def forget(application_ids: Collection[UUID]) -> None:
    """Remove all answers of applications, and the salts by which the log's digests are checked."""
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, {"ids": list(application_ids)})


def read_for_person(applicant_id: UUID) -> dict[UUID, dict[str, Any]]:
    """Return everything that a person answered, by application, with what proves it."""
    theirs = Application.objects.filter(applicant_id=applicant_id).values("id")
    kept: dict[UUID, dict[str, Any]] = {}
    rows = GivenAnswers.objects.filter(application_id__in=theirs).select_related("application")
    for row in rows.order_by("application_id", "number"):
        shown = show(row.application.job_id, row)
        about = {
            "form_version": row.form_number,
            "number": row.number,
            "given_at": row.given_at,
            "questions": [
                {"key": each.question.key, "question": each.question.label, "answer": each.text}
                for each in shown.answers
            ],
            **_proof(row.form_number, row.answers, row.salt, row.digest, row.seq),
        }
        kept.setdefault(row.application_id, {}).setdefault("answers", []).append(about)
    for asked in FurtherQuestion.objects.filter(application_id__in=theirs).order_by("seq"):
        about = {
            "question": asked.question["label"],
            "help": asked.question["help"],
            "asked_at": asked.asked_at,
            "answer_by": asked.answer_by,
            "withdrawn_at": asked.withdrawn_at,
            "answered_at": asked.answered_at,
        }
        if asked.answered_at and asked.salt and asked.digest:
            about |= _proof(0, asked.answer, asked.salt, asked.digest, asked.answer_seq)
        kept.setdefault(asked.application_id, {}).setdefault("further_questions", []).append(about)
    return kept


def _proof(number: int, answers: Any, salt: Any, digest: Any, seq: int | None) -> dict[str, Any]:
    return {
        "signed_content": canonical_answers(number, answers).decode(),
        "salt": bytes(salt).hex(),
        "digest": bytes(digest).hex(),
        "seq": seq,
    }
