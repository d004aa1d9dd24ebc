"""Results of an import: refused rows, progress, and the outcome of each row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from pipeline.domain.errors import StoredFileNotFound
from pipeline.files.exports import ANSWER, answer_cell, formatted_csv_lines, formatted_pieces
from pipeline.files.imports.columns import visible_text
from pipeline.files.imports.rows import (
    LEFT_WORDS,
    NOT_REACHED,
    WORDS,
    ImportRow,
    Refusal,
    decode_part,
)
from pipeline.form.versions import all_questions
from pipeline.models import ApplicationReference, ImportRefusal, ImportRun, StoredPart
from tasks.models import Status, Task
from tasks.sql.prepared import PreparedStatement

_ENDED = {Status.SUCCEEDED, Status.CANCELLED, Status.DEAD, Status.DISCARDED}


# How long after its end an import can be undone.
UNDO_WITHIN = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """Import with the status of its task ("" once that is removed)."""

    run: ImportRun
    task_status: str
    now: datetime
    started_at: datetime | None = None
    undo_status: str = ""
    # When its task ended, for whatever reason.
    stopped_at: datetime | None = None

    @property
    def left(self) -> int:
        """Return the number of rows that were neither accepted nor refused."""
        return self.run.total_rows - self.run.next_row

    @property
    def seconds_left(self) -> float | None:
        """Return how long the rest takes at the pace so far; None before a pace is known."""
        if self.is_over or not (self.started_at and self.run.next_row and self.left):
            return None
        return (self.now - self.started_at).total_seconds() * self.left / self.run.next_row

    @property
    def is_over(self) -> bool:
        """Return True if no more rows are imported unless the task is started again."""
        return self.run.finished_at is not None or self.task_status in ("", *_ENDED)

    @property
    def undo_until(self) -> datetime:
        """Return until when the import can be undone, if it has ended and added someone."""
        return (self.run.finished_at or self.stopped_at or self.run.file.created_at) + UNDO_WITHIN

    @property
    def can_undo(self) -> bool:
        """Tell whether an undo of the import can be started, or started again."""
        added = self.is_over and self.run.accepted and self.run.admitted_seqs
        undoing = self.is_being_undone or self.run.undo_ended_at
        return bool(added and not undoing and self.now < self.undo_until)

    @property
    def is_being_undone(self) -> bool:
        """Tell whether a task will remove more people."""
        return bool(self.undo_status) and self.undo_status not in _ENDED


def read_progress(company_id: UUID, import_id: UUID) -> ImportProgress:
    """Return an import of a company. Raises StoredFileNotFound."""
    return _progress(ImportRun.objects.filter(file_id=import_id, file__company_id=company_id))


def read_task_progress(company_id: UUID, task_id: UUID) -> ImportProgress:
    """Return the import of a task. Raises StoredFileNotFound."""
    return _progress(ImportRun.objects.filter(file__task_id=task_id, file__company_id=company_id))


def recent_runs(company_id: UUID, job_id: UUID, *, limit: int) -> list[ImportRun]:
    """Return the last imports into a company's job, newest first."""
    runs = ImportRun.objects.filter(file__company_id=company_id, file__job_id=job_id)
    return list(runs.select_related("file").order_by("-file_id")[:limit])


def _progress(runs: QuerySet[ImportRun]) -> ImportProgress:
    run = runs.select_related("file").annotate(now=Now()).first()
    if run is None:
        raise StoredFileNotFound
    tasks = Task.objects.in_bulk([each for each in (run.file.task_id, run.undo_task_id) if each])
    own, undo = tasks.get(run.file.task_id), tasks.get(run.undo_task_id)
    return ImportProgress(
        run,
        own.status if own else "",
        run.now,
        own.started_at if own else None,
        undo.status if undo else "",
        own.finished_at if own else None,
    )


# Rows that an import refused: kept, read, their reasons in words, and the report.


SLICE = 2_000


# Three columns have the names that an import expects, so that a corrected file can be imported.
REPORT_COLUMNS = ("row", "name", "email", "reason", "code", "external_id")


PIECE = 64 * 1_024  # characters, roughly


_KEEP_REFUSED = PreparedStatement(
    """
INSERT INTO pipeline_importrefusal
    (run_id, row, reason, name, email, external_id, application_id, detail, answers)
SELECT run_id, row, reason, name, email, external_id, application_id, detail, answers
FROM json_populate_recordset(NULL::pipeline_importrefusal, %(refused)s::json)
"""
)


def keep_refused_rows(
    run: ImportRun,
    refused: Sequence[tuple[ImportRow, Refusal]],
    existing: Mapping[int, UUID] | None = None,
    details: Mapping[int, str] | None = None,
) -> None:
    """Store rows that an import refuses, or would refuse, with the reasons.

    `existing`: the application that is in a row's way, by the row's number; `details` likewise:
    what is wrong with an answer.
    """
    in_the_way, told = existing or {}, details or {}
    records = [
        {
            "run_id": str(run.file_id),
            "row": row.number,
            "reason": why.value,
            "name": row.name,
            "email": row.email,
            "external_id": row.external_id,
            "application_id": str(in_the_way[row.number]) if row.number in in_the_way else None,
            "detail": told.get(row.number, ""),
            "answers": row.answers,
        }
        for row, why in refused
    ]
    if records:
        _KEEP_REFUSED.all(refused=json.dumps(records))


def first_refusals(run: ImportRun, *, limit: int) -> list[ImportRefusal]:
    """Return the first rows that an import refused, in the order of the file."""
    return list(ImportRefusal.objects.filter(run=run).order_by("row")[:limit])


def read_refused_rows(seen: ImportProgress) -> Iterator[dict[str, object]]:
    """Yield every row that was not imported: number, name, address, reason and answers.

    After the end of the import, this includes rows that it did not reach. Rows come in the order of
    the file, with one batch in memory at a time.
    """
    last = -1
    refusals = ImportRefusal.objects.filter(run=seen.run).order_by("row")
    while some := list(refusals.filter(row__gt=last)[:SLICE]):
        for refusal in some:
            yield _refused_row(seen.run, refusal, refusal.row, refusal.reason)
        last = some[-1].row
    if not seen.is_over or seen.run.check_only:
        return
    why = seen.run.ending if seen.run.ending in LEFT_WORDS else NOT_REACHED
    parts = StoredPart.objects.filter(file_id=seen.run.file_id).order_by("number")
    last = -1
    while part := parts.filter(number__gt=last).first():
        for row in decode_part(bytes(part.data)):
            yield _refused_row(seen.run, row, row.number, row.refusal or why)
        last = part.number


def refusal_report(seen: ImportProgress) -> Iterator[bytes]:
    """Yield the report as CSV in UTF-8."""
    questions = all_questions(seen.run.file.job_id)
    columns = REPORT_COLUMNS + tuple(f"{ANSWER}{question.key}" for question in questions)
    rows = (dict.fromkeys(columns) | row for row in read_refused_rows(seen))
    lines = formatted_csv_lines(columns, rows)
    yield from formatted_pieces(lines, characters=PIECE, first_at_once=False)


def first_waiting_row(run: ImportRun) -> ImportRow | None:
    """Return the first row of a read file that is not refused for itself, to show as an example."""
    part = StoredPart.objects.filter(file_id=run.file_id, number__gte=0).order_by("number").first()
    rows = decode_part(bytes(part.data)) if part else []
    return next((row for row in rows if not row.refusal), None)


def describe_refusal(reason: str, email: str, columns: Mapping[str, Any], detail: str = "") -> str:
    """Return the text of a refusal: the cell, what it holds, and the cure.

    `columns`: how the columns were understood, if the rows came in a file. An unknown reason, from
    a later release, is returned as it is.
    """
    if reason not in WORDS:
        return reason
    titles = {"name": "name", "email": "email", "external_id": "external_id"} | dict(columns)
    names = titles["name"] if isinstance(titles["name"], list) else [titles["name"]]
    return (
        WORDS[Refusal(reason)]
        .format(
            name=_or(names),
            email=f"“{titles['email']}”",
            id=f"“{titles['external_id']}”",
            seen=visible_text(email),
            detail=detail,
        )
        .strip()
    )


def _or(names: Sequence[str]) -> str:
    """Return the columns of a name: “First name” or “Last name”."""
    *first, last = (f"“{name}”" for name in names)
    for name in reversed(first):
        last = _("%(one)s or %(other)s") % {"one": name, "other": last}
    return last


def _refused_row(
    run: ImportRun, row: ImportRow | ImportRefusal, number: int, code: str
) -> dict[str, object]:
    words = str(LEFT_WORDS.get(code, "")) or describe_refusal(
        code, row.email, run.columns, getattr(row, "detail", "")
    )
    return {
        "row": number,
        "name": row.name,
        "email": row.email,
        "reason": words,
        "code": str(code),
        "external_id": row.external_id,
        **{f"{ANSWER}{key}": answer_cell(each) for key, each in (row.answers or {}).items()},
    }


# What became of each row of an import: its application, or the reason why it has none.


_KEEP_IMPORTED = PreparedStatement(
    """
INSERT INTO pipeline_importedrow (run_id, row, application_id, already_there)
SELECT run_id, row, application_id, already_there
FROM json_populate_recordset(NULL::pipeline_importedrow, %(imported)s::json)
"""
)

# Rows without a reason have an application. Its id may have changed since.
_OUTCOMES = """
SELECT outcome.row, outcome.application_id, outcome.already_there, outcome.reason, outcome.email,
       outcome.detail,
       CASE WHEN outcome.reason = '' THEN attached.external_id
            ELSE nullif(outcome.external_id, '') END
FROM (
    (SELECT row, application_id, already_there, '' AS reason, '' AS email, '' AS external_id,
            '' AS detail
     FROM pipeline_importedrow
     WHERE run_id = %(run)s AND row > %(after)s ORDER BY row LIMIT %(most)s)
    UNION ALL
    (SELECT row, application_id, false, reason, email, external_id, detail
     FROM pipeline_importrefusal
     WHERE run_id = %(run)s AND row > %(after)s ORDER BY row LIMIT %(most)s)
) outcome
LEFT JOIN pipeline_applicationreference attached
    ON attached.application_id = outcome.application_id AND outcome.reason = ''
ORDER BY outcome.row LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class Holder:
    """Application that has an external id."""

    application_id: UUID
    job_id: UUID
    email: str

    def is_of(self, row: ImportRow, job_id: UUID) -> bool:
        """Tell whether a row means this application: the same person in the same job."""
        return (self.email, self.job_id) == (row.email, job_id)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a row. With a `reason`, the application is the one in its way, if any."""

    row: int
    application_id: UUID | None
    already_there: bool
    external_id: str | None
    reason: str
    words: str


def find_external_id_holders(company_id: UUID, rows: Iterable[ImportRow]) -> dict[str, Holder]:
    """Return the company's applications that have the rows' external ids, by id."""
    ids = {row.external_id for row in rows if row.external_id}
    if not ids:
        return {}
    held = ApplicationReference.objects.filter(company_id=company_id, external_id__in=ids)
    fields = (
        "external_id",
        "application_id",
        "application__job_id",
        "application__applicant__email",
    )
    return {str(external_id): Holder(*rest) for external_id, *rest in held.values_list(*fields)}


def attach_references(company_id: UUID, accepted: Sequence[tuple[ImportRow, UUID]]) -> None:
    """Attach the external ids and metadata of admitted rows.

    The rows' ids must be held by `lock_external_ids`, and free. A single submission
    can still take one in the meantime: IntegrityError, and the batch is tried again.
    """
    by_fields: dict[tuple[str, ...], list[ApplicationReference]] = {}
    for row, application_id in accepted:
        named = {"external_id": row.external_id or None, "metadata": row.metadata}
        values = {name: value for name, value in named.items() if value is not None}
        if values:
            reference = ApplicationReference(
                application_id=application_id, company_id=company_id, **values
            )
            by_fields.setdefault(tuple(values), []).append(reference)
    for fields, references in by_fields.items():
        ApplicationReference.objects.bulk_create(
            references,
            update_conflicts=True,  # an unverified application that was taken over may have one
            unique_fields=["application"],
            update_fields=list(fields),
        )


def keep_imported_rows(
    run: ImportRun, rows: Sequence[tuple[ImportRow, UUID]], *, already_there: bool
) -> None:
    """Store the applications of rows."""
    records = [
        {
            "run_id": str(run.file_id),
            "row": row.number,
            "application_id": str(application_id),
            "already_there": already_there,
        }
        for row, application_id in rows
    ]
    if records:
        _KEEP_IMPORTED.all(imported=json.dumps(records))


def read_outcomes(run: ImportRun, *, after: int, limit: int) -> list[Outcome]:
    """Return what became of the rows after a row, in their order. Rows not reached are missing."""
    with connection.cursor() as cursor:
        cursor.execute(_OUTCOMES, {"run": run.file_id, "after": after, "most": limit})
        found = cursor.fetchall()
    return [
        Outcome(
            row,
            application_id,
            already_there,
            external_id,
            reason,
            describe_refusal(reason, email, run.columns, detail) if reason else "",
        )
        for row, application_id, already_there, reason, email, detail, external_id in found
    ]
