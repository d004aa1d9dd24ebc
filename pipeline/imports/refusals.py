"""Rows that an import refused: kept, read, their reasons in words, and the report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pipeline.exports.formats import formatted_csv_lines, formatted_pieces
from pipeline.imports.progress import ImportProgress
from pipeline.imports.rows import LEFT_WORDS, NOT_REACHED, WORDS, ImportRow, Refusal, rows_in
from pipeline.models import ImportRefusal, ImportRun, StoredPart
from tasks.sql.prepared import PreparedStatement, prepared_row

SLICE = 2_000


# Two columns have the names that an import expects, so that a corrected file can be imported.
REPORT_COLUMNS = ("row", "name", "email", "reason", "code")


PIECE = 64 * 1_024  # characters, roughly


_KEEP_REFUSED = PreparedStatement(
    """
INSERT INTO pipeline_importrefusal (run_id, row, reason, name, email)
SELECT run_id, row, reason, name, email
FROM json_populate_recordset(NULL::pipeline_importrefusal, %(refused)s::json)
""",
    prepared_row,
)


def keep_refused_rows(run: ImportRun, refused: Sequence[tuple[ImportRow, Refusal]]) -> None:
    """Store rows that an import refuses, or would refuse, with the reasons."""
    records = [
        {
            "run_id": str(run.file_id),
            "row": row.number,
            "reason": why.value,
            "name": row.name,
            "email": row.email,
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
            yield _refused_import_row(refusal.row, refusal.name, refusal.email, refusal.reason)
        last = some[-1].row
    if not seen.is_over or seen.run.check_only:
        return
    why = seen.run.ending if seen.run.ending in LEFT_WORDS else NOT_REACHED
    parts = StoredPart.objects.filter(file_id=seen.run.file_id).order_by("number")
    last = -1
    while part := parts.filter(number__gt=last).first():
        for row in rows_in(bytes(part.data)):
            yield _refused_import_row(row.number, row.name, row.email, row.refusal or why)
        last = part.number


def report_of_refused_rows(seen: ImportProgress) -> Iterator[bytes]:
    """Yield the report as CSV in UTF-8."""
    lines = formatted_csv_lines(REPORT_COLUMNS, refused_import_rows(seen))
    yield from formatted_pieces(lines, characters=PIECE, first_at_once=False)


def import_refusal_in_words(reason: str) -> str:
    """Return the text of a refusal.

    An unknown reason, from a later release, is returned as it is.
    """
    return WORDS[Refusal(reason)] if reason in WORDS else reason


def _refused_import_row(row: int, name: str, email: str, code: str) -> dict[str, object]:
    words = LEFT_WORDS.get(code) or import_refusal_in_words(code)
    return {"row": row, "name": name, "email": email, "reason": words, "code": str(code)}
