"""Rows that an import refused: kept, read, their reasons in words, and the report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from pipeline.exports.formats import formatted_csv_lines, formatted_pieces
from pipeline.imports.cells import visible_text
from pipeline.imports.progress import ImportProgress
from pipeline.imports.rows import LEFT_WORDS, NOT_REACHED, WORDS, ImportRow, Refusal, rows_in
from pipeline.models import ImportRefusal, ImportRun, StoredPart
from tasks.sql.prepared import PreparedStatement, prepared_row

SLICE = 2_000


# Three columns have the names that an import expects, so that a corrected file can be imported.
REPORT_COLUMNS = ("row", "name", "email", "reason", "code", "external_id")


PIECE = 64 * 1_024  # characters, roughly


_KEEP_REFUSED = PreparedStatement(
    """
INSERT INTO pipeline_importrefusal
    (run_id, row, reason, name, email, external_id, application_id)
SELECT run_id, row, reason, name, email, external_id, application_id
FROM json_populate_recordset(NULL::pipeline_importrefusal, %(refused)s::json)
""",
    prepared_row,
)


def keep_refused_rows(
    run: ImportRun,
    refused: Sequence[tuple[ImportRow, Refusal]],
    existing: Mapping[int, UUID] | None = None,
) -> None:
    """Store rows that an import refuses, or would refuse, with the reasons.

    `existing`: the application that is in a row's way, by the row's number.
    """
    in_the_way = existing or {}
    records = [
        {
            "run_id": str(run.file_id),
            "row": row.number,
            "reason": why.value,
            "name": row.name,
            "email": row.email,
            "external_id": row.external_id,
            "application_id": str(in_the_way[row.number]) if row.number in in_the_way else None,
        }
        for row, why in refused
    ]
    if records:
        _KEEP_REFUSED.all(refused=json.dumps(records))


def refusals_of_import(run: ImportRun, *, limit: int) -> list[ImportRefusal]:
    """Return the first rows that an import refused, in the order of the file."""
    return list(ImportRefusal.objects.filter(run=run).order_by("row")[:limit])


def refused_import_rows(seen: ImportProgress) -> Iterator[dict[str, object]]:
    """Yield every row that was not imported: number, name, address and reason.

    After the end of the import, this includes rows that it did not reach. Rows come in the order of
    the file, with one batch in memory at a time.
    """
    last = -1
    refusals = ImportRefusal.objects.filter(run=seen.run).order_by("row")
    while some := list(refusals.filter(row__gt=last)[:SLICE]):
        for refusal in some:
            yield _refused_import_row(seen.run, refusal, refusal.row, refusal.reason)
        last = some[-1].row
    if not seen.is_over or seen.run.check_only:
        return
    why = seen.run.ending if seen.run.ending in LEFT_WORDS else NOT_REACHED
    parts = StoredPart.objects.filter(file_id=seen.run.file_id).order_by("number")
    last = -1
    while part := parts.filter(number__gt=last).first():
        for row in rows_in(bytes(part.data)):
            yield _refused_import_row(seen.run, row, row.number, row.refusal or why)
        last = part.number


def report_of_refused_rows(seen: ImportProgress) -> Iterator[bytes]:
    """Yield the report as CSV in UTF-8."""
    lines = formatted_csv_lines(REPORT_COLUMNS, refused_import_rows(seen))
    yield from formatted_pieces(lines, characters=PIECE, first_at_once=False)


def first_waiting_row(run: ImportRun) -> ImportRow | None:
    """Return the first row of a read file that is not refused for itself, to show as an example."""
    part = StoredPart.objects.filter(file_id=run.file_id, number__gte=0).order_by("number").first()
    rows = rows_in(bytes(part.data)) if part else []
    return next((row for row in rows if not row.refusal), None)


def import_refusal_in_words(reason: str, email: str, columns: Mapping[str, Any]) -> str:
    """Return the text of a refusal: the cell, what it holds, and the cure.

    `columns`: how the columns were understood, if the rows came in a file. An unknown reason, from
    a later release, is returned as it is.
    """
    if reason not in WORDS:
        return reason
    titles = {"name": "name", "email": "email", "external_id": "external_id"} | dict(columns)
    names = titles["name"] if isinstance(titles["name"], list) else [titles["name"]]
    return WORDS[Refusal(reason)].format(
        name=" or ".join(f"“{name}”" for name in names),
        email=f"“{titles['email']}”",
        id=f"“{titles['external_id']}”",
        seen=visible_text(email),
    )


def _refused_import_row(
    run: ImportRun, row: ImportRow | ImportRefusal, number: int, code: str
) -> dict[str, object]:
    words = LEFT_WORDS.get(code) or import_refusal_in_words(code, row.email, run.columns)
    return {
        "row": number,
        "name": row.name,
        "email": row.email,
        "reason": words,
        "code": str(code),
        "external_id": row.external_id,
    }
