"""What became of each row of an import: its application, or the reason why it has none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from pipeline.imports.refusals import import_refusal_in_words
from pipeline.imports.rows import ImportRow
from pipeline.models import ApplicationReference, ImportRun
from tasks.sql.prepared import PreparedStatement, prepared_row

_KEEP_IMPORTED = PreparedStatement(
    """
INSERT INTO pipeline_importedrow (run_id, row, application_id, already_there)
SELECT run_id, row, application_id, already_there
FROM json_populate_recordset(NULL::pipeline_importedrow, %(imported)s::json)
""",
    prepared_row,
)

# Rows without a reason have an application. Its id may have changed since.
_OUTCOMES = """
SELECT outcome.row, outcome.application_id, outcome.already_there, outcome.reason, outcome.email,
       CASE WHEN outcome.reason = '' THEN attached.external_id
            ELSE nullif(outcome.external_id, '') END
FROM (
    (SELECT row, application_id, already_there, '' AS reason, '' AS email, '' AS external_id
     FROM pipeline_importedrow
     WHERE run_id = %(run)s AND row > %(after)s ORDER BY row LIMIT %(most)s)
    UNION ALL
    (SELECT row, application_id, false, reason, email, external_id
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
    """What became of a row. With a `reason`, the application is the one in its way, if any."""

    row: int
    application_id: UUID | None
    already_there: bool
    external_id: str | None
    reason: str
    words: str


def holders_of_external_ids(company_id: UUID, rows: Iterable[ImportRow]) -> dict[str, Holder]:
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

    The rows' ids must be held by `lock_external_ids_of_references`, and free. A single submission
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


def outcomes_of_import(run: ImportRun, *, after: int, limit: int) -> list[Outcome]:
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
            import_refusal_in_words(reason, email, run.columns) if reason else "",
        )
        for row, application_id, already_there, reason, email, external_id in found
    ]
