"""Admission of imported people to a job's line: many under one lock, by the rules for applying.

A batch is one transaction: its rows leave the file, become applications or refusals, and are
counted. So wherever a process dies, every committed row was imported once, and the next run
continues after it. Two runs at once take different rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models.functions import Now

from applicants.addresses import checked_address
from applicants.people import find_or_create_people
from jobs.models import Job, JobStatus
from pipeline.domain.errors import (
    AlreadyApplied,
    ApplicantNotFound,
    DrawFull,
    JobNotOpen,
    SandboxFull,
)
from pipeline.domain.states import Actor, ActorKind
from pipeline.files.imports.answers import CellRefused, fill_row
from pipeline.files.imports.reading import read_file
from pipeline.files.imports.results import (
    attach_references,
    find_external_id_holders,
    keep_imported_rows,
    keep_refused_rows,
)
from pipeline.files.imports.rows import ImportRow, Refusal, decode_part
from pipeline.form.answers import keep, logged
from pipeline.form.versions import questions_of
from pipeline.line.admission import admit
from pipeline.line.lock import LockedPeople, lock_job, read_people
from pipeline.line.locked_job import LockedJob
from pipeline.line.settle import settle_due
from pipeline.line.write import write
from pipeline.models import ImportRefusal, ImportRun
from pipeline.services.joining import lock_external_ids, prepare_answers
from pipeline.sources.origin import Origin

# About how long a batch may hold the job's lock. Other changes run between two batches.
LOCK_SECONDS = 0.1
# The most parts of the file in a batch. The first batch takes FIRST_PARTS.
MOST_PARTS = 20
FIRST_PARTS = 2

_ENDINGS = {
    JobStatus.PAUSED: ImportRun.Ending.JOB_PAUSED,
    JobStatus.CLOSED: ImportRun.Ending.JOB_CLOSED,
}

# The next rows of a file, which this transaction removes from it.
_TAKE_PARTS = """
WITH taken AS (
    DELETE FROM pipeline_storedpart WHERE file_id = %(file)s AND number <= (
        SELECT max(number) FROM (
            SELECT number FROM pipeline_storedpart WHERE file_id = %(file)s
            ORDER BY number LIMIT %(parts)s) first)
    RETURNING number, data
)
SELECT data FROM taken ORDER BY number
"""


@dataclass(slots=True)
class Batch:
    """Batch of rows and their results, in the order of the file."""

    rows: list[ImportRow]
    accepted: list[tuple[ImportRow, UUID]] = field(default_factory=list)
    already_there: list[tuple[ImportRow, UUID]] = field(default_factory=list)
    refused: list[tuple[ImportRow, Refusal]] = field(default_factory=list)
    # The application that is in the way of a refused row, by the row's number.
    existing: dict[int, UUID] = field(default_factory=dict)
    # What is wrong with a refused answer, by the row's number.
    details: dict[int, str] = field(default_factory=dict)
    lock_seconds: float = 0.0


def admit_rows(
    import_id: UUID,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
    after_batch: Callable[[ImportRun], None] = lambda run: None,
) -> ImportRun:
    """Import the remaining rows of a file, and return the import's progress.

    Reads the file first if necessary. Stops when no rows are left, when the job no longer takes
    applications, or between two batches if `is_cancelled`; a later call then continues.
    `after_batch` is called after each commit. Raises ImportRun.DoesNotExist, and
    django.db.OperationalError if the line was too busy: committed rows stay, and it can be called
    again. Must not be called inside a transaction.
    """
    with transaction.atomic(durable=True):
        run = lock_run(import_id)
        read_file(run)
        if run.check_only and not run.finished_at:
            forget_check(run)
    parts = FIRST_PARTS
    while True:
        try:
            run, batch = _admit_batch(import_id, parts)
        except JobNotOpen:
            run, batch = _end_early(import_id), Batch([])
        except SandboxFull:
            full = ImportRun.Ending.JOB_FULL
            run, batch = _end_early(import_id, full), Batch([])
        if run.finished_at:
            return run
        after_batch(run)
        if is_cancelled():
            return run
        parts = next_part_count(parts, batch.lock_seconds)


def next_part_count(parts: int, seconds: float) -> int:
    """Return the number of parts for the next batch, from how long this one held the lock."""
    most = min(2 * parts, MOST_PARTS)
    return max(1, min(most, int(parts * LOCK_SECONDS / max(seconds, 0.001))))


@transaction.atomic(durable=True)
def _admit_batch(import_id: UUID, parts: int) -> tuple[ImportRun, Batch]:
    run = lock_run(import_id)
    batch = Batch([])
    if run.finished_at:
        return run, batch
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_PARTS, {"file": run.file_id, "parts": parts})
        batch.rows = [row for (part,) in cursor.fetchall() for row in decode_part(bytes(part))]
    if not batch.rows:
        return _end(run, ImportRun.Ending.COMPLETE), batch
    people = _find_people(run, batch)
    begun = time.perf_counter()
    job = lock_job(run.file.job_id)
    _admit_each(job, batch, people, Actor(ActorKind.COMPANY, run.started_by))
    if batch.accepted:
        if run.admitted_seqs is not None or not run.accepted:  # else an older version began it
            run.admitted_seqs = [*(run.admitted_seqs or []), job.entries[0].seq, job.seq]
        write(job)
        attach_references(job.company_id, batch.accepted)
    _count_admitted(run, batch)

    def note_admitting_time() -> None:
        batch.lock_seconds = time.perf_counter() - begun

    transaction.on_commit(note_admitting_time)
    return run, batch


def lock_run(import_id: UUID) -> ImportRun:
    """Lock an import, so that batches and erasures take turns."""
    runs = ImportRun.objects.select_for_update(of=("self",)).select_related("file")
    return runs.get(file_id=import_id)


def _find_people(run: ImportRun, batch: Batch) -> dict[str, UUID]:
    """Find or create the rows' applicants, by address, before the job is locked.

    Raises JobNotOpen before any personal data is stored.
    """
    status = Job.objects.values_list("status", flat=True).get(id=run.file.job_id)
    if status != JobStatus.OPEN:
        raise JobNotOpen(status=status)
    addresses = []
    for row in batch.rows:
        with suppress(ValidationError):
            if not row.refusal and checked_address(row.email) == row.email:
                addresses.append(row.email)
    return find_or_create_people(addresses)


def _admit_each(job: LockedJob, batch: Batch, people: dict[str, UUID], actor: Actor) -> None:
    """Admit the rows in order, each by the same rule as a single application.

    Raises JobNotOpen and SandboxFull.
    """
    settle_due(job)
    if job.status is not JobStatus.OPEN:
        raise JobNotOpen(status=job.status.value)
    known = read_people(job, applicant_ids=people.values())
    lock_external_ids([row.external_id for row in batch.rows if row.external_id])
    holders = find_external_id_holders(job.company_id, batch.rows)
    for row in batch.rows:
        holder = holders.get(row.external_id)
        if holder and not row.refusal and holder.is_of(row, job.id):
            batch.already_there.append((row, holder.application_id))
            continue
        refusal = row.refusal
        if holder and not refusal:
            refusal, batch.existing[row.number] = Refusal.EXTERNAL_ID_TAKEN, holder.application_id
        refusal = refusal or _admit_row(job, batch, known, row, people.get(row.email), actor)
        if refusal:
            batch.refused.append((row, refusal))


def _admit_row(
    job: LockedJob,
    batch: Batch,
    known: LockedPeople,
    row: ImportRow,
    applicant_id: UUID | None,
    actor: Actor,
) -> Refusal | None:
    if applicant_id is None:
        return Refusal.BAD_EMAIL
    try:
        filled = fill_row(job.form_version, questions_of(job.id, job.form_version), row)
        history = known.locked_person(applicant_id).history
        given = filled and prepare_answers(job.id, history.unverified, filled)
        application = admit(
            job,
            history,
            applicant_id=applicant_id,
            name=row.name,
            actor=actor,
            verified=True,
            application_id=given.application_id if given else None,
            facts=logged(given) if given else {},
        )
    except CellRefused as error:
        batch.details[row.number] = str(error)
        return Refusal.BAD_ANSWER
    except ApplicantNotFound:
        return Refusal.ERASED
    except AlreadyApplied as error:
        batch.existing[row.number] = error.facts["existing_id"]
        return Refusal.ALREADY_APPLIED
    except DrawFull:
        return Refusal.DRAW_FULL
    if given:
        keep(job, given)
    if row.source:
        origin = Origin.read({"source": row.source})
        is_new = application.id in job.created
        job.beside.extend(origin.rows(application, is_new=is_new, at=job.now))
    batch.accepted.append((row, application.id))
    return None


def _count_admitted(run: ImportRun, batch: Batch) -> None:
    keep_refused_rows(run, batch.refused, batch.existing, batch.details)
    keep_imported_rows(run, batch.accepted, already_there=False)
    keep_imported_rows(run, batch.already_there, already_there=True)
    run.next_row += len(batch.rows)
    run.accepted += len(batch.accepted)
    run.already_there += len(batch.already_there)
    run.refused += len(batch.refused)
    run.save(update_fields=["next_row", "accepted", "already_there", "refused", "admitted_seqs"])


def forget_check(run: ImportRun) -> None:
    """Forget what a check found, so that the rows of a locked import are admitted from now on."""
    ImportRefusal.objects.filter(run=run).delete()
    run.check_only, run.next_row, run.refused, run.already_there = False, 0, 0, 0
    run.save(update_fields=["check_only", "next_row", "refused", "already_there"])


@transaction.atomic(durable=True)
def _end_early(import_id: UUID, ending: ImportRun.Ending | None = None) -> ImportRun:
    """End an import into a full, closed or paused job. The remaining rows stay in the file."""
    run = lock_run(import_id)
    if run.finished_at:
        return run
    status = Job.objects.values_list("status", flat=True).get(id=run.file.job_id)
    ending = ending or _ENDINGS.get(JobStatus(status))
    return _end(run, ending) if ending else run  # it was opened again just now


def _end(run: ImportRun, ending: ImportRun.Ending) -> ImportRun:
    run.ending = ending
    ImportRun.objects.filter(file_id=run.file_id).update(ending=ending, finished_at=Now())
    run.refresh_from_db(fields=["finished_at"])
    return run


def count_remaining_rows(run: ImportRun) -> int:
    """Return the number of rows that were neither accepted nor refused."""
    return run.total_rows - run.next_row
