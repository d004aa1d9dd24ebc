"""Undo of an import: the people whom it added and who have not acted since are removed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from pipeline.domain.errors import ImportUndoTooLate, StoredFileNotFound
from pipeline.domain.states import Actor, ActorKind, Move, Reason
from pipeline.imports.admit import lock_import_to_admit
from pipeline.imports.progress import progress_of_import
from pipeline.line import sql
from pipeline.line.fill import fill_seats
from pipeline.line.lock import attach_locked_row, lock_job
from pipeline.line.moves import make_move
from pipeline.line.round_trips import fetch_in_one_trip
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import ImportRun
from tasks.enqueue import Enqueued, enqueue

security = logging.getLogger("security")

UNDO = "applications.undo_import"
# How many people leave in one transaction, which holds the job's lock all that time.
SLICE = 200

# People whom an import added, who are still in the line and have not acted, nor has the company
# decided on them: since they were added, only the system has moved them. Those on the waitlist
# come first, from its end, so that nobody is offered a seat here only to be removed.
_REMOVABLE = """
SELECT own.id
FROM unnest(%(firsts)s::bigint[], %(lasts)s::bigint[]) AS batch (first, last)
JOIN pipeline_event added ON added.job_id = %(job)s
    AND added.seq BETWEEN batch.first AND batch.last AND added.event = 'APPLIED'
JOIN pipeline_application own ON own.id = added.application_id
WHERE own.status <> 'INACTIVE' AND NOT EXISTS (
    SELECT FROM pipeline_event later WHERE later.application_id = own.id
      AND later.seq > added.seq AND later.actor_kind <> 'SYSTEM')
ORDER BY own.status <> 'WAITLIST', added.seq DESC
"""
_STILL_REMOVABLE = f"""SELECT id FROM ({_REMOVABLE}) removable WHERE id = ANY(%(ids)s::uuid[])"""  # noqa: S608  constants


def start_undo_of_import(
    *, company_id: UUID, import_id: UUID, actor: Actor, producer: str
) -> Enqueued | None:
    """Start to undo an import that has ended. None if it is being undone, or was.

    The import cannot continue afterwards. An undo that was cancelled or failed can be started
    again. Raises StoredFileNotFound, ImportUndoTooLate.
    """
    with transaction.atomic(durable=True):
        try:
            run = lock_import_to_admit(import_id)
        except ImportRun.DoesNotExist:
            raise StoredFileNotFound from None
        seen = progress_of_import(company_id, import_id)
        if seen.is_being_undone or run.undo_ended_at:
            return None
        if not seen.can_undo:
            raise ImportUndoTooLate
        payload = {"import_id": str(import_id)}
        task = enqueue(UNDO, payload, owner_id=company_id, producer=producer)
        ImportRun.objects.filter(file_id=import_id).update(
            undo_by=actor.id,
            undo_task_id=task.id,
            undo_total=run.undone + len(_applications_to_undo(run)),
            finished_at=run.finished_at or seen.now,
        )
    ids = {"company": str(company_id), "import": str(import_id)}
    security.info("import.undo_started", extra=ids)
    return task


def undo_import(
    import_id: UUID,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
    after_batch: Callable[[ImportRun], None] = lambda run: None,
) -> ImportRun:
    """Remove the people whom an import added and who have not acted since, each by an event.

    Safe to run again: those removed are not found again. Raises ImportRun.DoesNotExist, ClockMoving
    and django.db.OperationalError if the line was too busy; it can then be called again. Must not
    be called inside a transaction.
    """
    run = ImportRun.objects.select_related("file").get(file_id=import_id)
    if run.undo_by is None or run.undo_ended_at:
        return run
    left = _applications_to_undo(run)
    while left and not is_cancelled():
        _remove_applications_to_undo(import_id, run.file.job_id, left[:SLICE])
        left = left[SLICE:]
        run.refresh_from_db()
        after_batch(run)
    if not left:
        ImportRun.objects.filter(file_id=import_id).update(undo_ended_at=Now())
        run.refresh_from_db()
    return run


@line_transaction
def _remove_applications_to_undo(import_id: UUID, job_id: UUID, ids: Sequence[UUID]) -> None:
    run = lock_import_to_admit(import_id)
    job = lock_job(job_id)
    settle_due(job, only_ends=True)
    found = set(_applications_to_undo(run, among=ids))
    still = [each for each in ids if each in found]
    values: Any = {"job": job_id, "applications": still}
    (rows,) = fetch_in_one_trip(sql.READ_APPLICATIONS, parameters=values)
    for row in rows:
        attach_locked_row(job, row)
    actor = Actor(ActorKind.COMPANY, run.undo_by)
    facts = {"reason": str(Reason.IMPORT_UNDONE), "import": str(import_id)}
    for application_id in still:
        make_move(job, job.application(application_id), Move.REMOVE, actor=actor, facts=facts)
    if still:
        write(job)  # the next in line are read from the database
        fill_seats(job)
        write(job)  # also if nobody was promoted: when the first cool-down ends is due
        undone = F("undone") + len(still)
        ImportRun.objects.filter(file_id=import_id).update(undone=undone)


def _applications_to_undo(run: ImportRun, *, among: Sequence[UUID] | None = None) -> list[UUID]:
    seqs = run.admitted_seqs or []
    values: dict[str, Any] = {
        "job": run.file.job_id,
        "firsts": seqs[::2],
        "lasts": seqs[1::2],
        "ids": among,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REMOVABLE if among is None else _STILL_REMOVABLE, values)
        return [id_ for (id_,) in cursor.fetchall()]
