"""Removal of archived logs from the database, and their way back from their files.

Both need the role that owns the tables. The database lets nothing but a whole archived log be
removed (`pipeline.models.line`); whether its file is sound is decided here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.models import QuerySet

from jobs.models import Job, JobStatus
from pipeline.audit import archive
from pipeline.audit.archive import (
    BATCH,
    ArchiveHeader,
    BadArchive,
    archive_log,
    archived_log_path,
    manifest_difference,
    read_manifest,
    read_placed_rows,
    verify_archived_log,
)
from pipeline.audit.verify import verify_job
from pipeline.database import instants, replica, roles
from pipeline.line.event_log import GENESIS, chained_hash
from pipeline.models import Contest, Event, PendingDecision, RemovedLog

# Figures of a company go back 26 weeks. A younger log is never removed.
FEWEST_DAYS, USUAL_DAYS = 200, 400
# A longer log would be locked for more than a few seconds while it is put back.
LONGEST = 100_000
LOCK_WAIT = "2s"


class LogNotRemovableError(Exception):
    """A log cannot be removed now, or not be put back; says why."""


class Removal(NamedTuple):
    """Result of a run: how many logs and events were removed, and a sentence for each refusal."""

    logs: int
    events: int
    refused: list[str]


def remove_archived_logs(
    folder: Path, *, after_days: int, most: int | None = None, dry_run: bool = False
) -> Removal:
    """Remove the logs of jobs that ended long ago and whose files are sound and complete.

    At most `most` logs, those that ended first; refused ones do not count. With `dry_run`,
    everything is checked and nothing removed. Raises ArchiveBusy, BadArchive if the manifest is
    damaged, OSError.
    """
    before = instants.now() - timedelta(days=max(after_days, FEWEST_DAYS))
    ended: QuerySet[Job] = Job.objects.filter(
        status=JobStatus.CLOSED, is_test=False, last_event_at__lt=before, removed_log=None
    ).order_by("last_event_at", "id")
    with roles.migrating(), replica.primary_only(), archive.exclusive_writing():
        noted = read_manifest(folder)
        logs, events, refused = 0, 0, []
        for job_id in ended.values_list("id", flat=True).iterator():
            if logs == most:
                break
            try:
                last = noted.get(job_id, [None])[-1]
                events += _remove_archived_log(folder, job_id, last, dry_run=dry_run)
                logs += 1
            except (LogNotRemovableError, BadArchive) as error:
                refused.append(f"{job_id} was not removed: {error}")
    return Removal(logs, events, refused)


def put_back_log(folder: Path, job_id: UUID) -> int:
    """Put the rows of a removed log back as they were; return how many there are.

    Its file is verified first. Raises LogNotRemovableError if it was not removed or the job is
    busy, BadArchive, ArchiveBusy.
    """
    with roles.migrating(), replica.primary_only(), archive.exclusive_writing():
        record = RemovedLog.objects.filter(job_id=job_id).first()
        if record is None:
            raise LogNotRemovableError("its log is in the database")
        path = archived_log_path(folder, job_id)
        header = verify_archived_log(path)
        if header != ArchiveHeader(job_id, record.events, bytes(record.head)):
            raise BadArchive(f"{path}: it is not the log that was removed")
        last_place = record.last_txid, record.last_id
        with _job_locked(job_id) as job:
            record.delete()
            with closing(_restorable_rows(path, job.company_id, last_place)) as rows:
                while batch := list(islice(rows, BATCH)):
                    Event.objects.bulk_create(batch)
        return header.events


def _restorable_rows(path: Path, company_id: UUID, last_place: tuple[int, int]) -> Generator[Event]:
    """Yield the events of a verified file. Raises BadArchive if it has changed meanwhile.

    No hash covers the places in the feed: they rise up to the last one, which the database knows.
    """
    head, place = GENESIS, (0, 0)
    with closing(read_placed_rows(path)) as archived:
        for row, txid, row_id in archived:
            if row.prev_hash != head or chained_hash(head, row) != row.hash:
                raise BadArchive(f"{path}: it has changed meanwhile, at seq {row.seq}")
            if not place < (txid, row_id) <= last_place:
                raise BadArchive(f"{path}: the place of seq {row.seq} in the feed was changed")
            head, place = row.hash, (txid, row_id)
            yield Event(**field_values(row), company_id=company_id, txid=txid, id=row_id)
        if place != last_place:
            raise BadArchive(f"{path}: the place of seq {row.seq} in the feed was changed")


def field_values(row: object) -> dict[str, object]:
    """Return the fields of a log entry, which an event has too."""
    return {name: getattr(row, name) for name in row.__slots__}  # type: ignore[attr-defined]


def _remove_archived_log(
    folder: Path, job_id: UUID, noted: ArchiveHeader | None, *, dry_run: bool
) -> int:
    """Remove one log and return its number of events. Raises LogNotRemovableError, BadArchive."""
    header = _sound_file(folder, job_id, noted, dry_run=dry_run)
    with _job_locked(job_id) as job:
        if (job.seq, bytes(job.chain_head)) != (header.events, header.head):
            raise LogNotRemovableError("its log has grown since it was archived")
        if job.active_count or job.pending_count or job.waitlist_count:
            raise LogNotRemovableError("people still have seats in it or wait")
        if Contest.objects.filter(job_id=job_id, answer="").exists():
            raise LogNotRemovableError("someone asked to look at a decision again")
        if PendingDecision.objects.filter(job_id=job_id, finished_at=None).exists():
            raise LogNotRemovableError("a decision is about to take effect")
        if dry_run:
            return header.events
        last = Event.objects.get(job_id=job_id, seq=header.events)
        RemovedLog.objects.create(
            job_id=job_id,
            events=header.events,
            head=header.head,
            last_txid=last.txid,
            last_id=last.id,
        )
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM pipeline_event WHERE job_id = %s", [job_id])
    return header.events


def _sound_file(
    folder: Path, job_id: UUID, noted: ArchiveHeader | None, *, dry_run: bool
) -> ArchiveHeader:
    """Verify a log and its file, which is written anew if it has no places in the feed."""
    if noted is None:
        raise LogNotRemovableError("it is not archived yet. Run archive_logs first")
    if noted.events > LONGEST:
        raise LogNotRemovableError(f"it has more than {LONGEST:,} events")
    verdict = verify_job(job_id)
    if not verdict.is_sound:
        raise BadArchive("its log is not sound. Run verify_log")
    path = archived_log_path(folder, job_id)
    if not archive.has_places(path) and not dry_run:
        archive_log(folder, job_id)
        noted = read_manifest(folder)[job_id][-1]
    header = verify_archived_log(path)
    if header != noted:
        raise BadArchive(manifest_difference(path, header, [noted]))
    if not dry_run or archive.has_places(path):
        compare_feed_places(path, header)
    return header


def compare_feed_places(path: Path, header: ArchiveHeader) -> None:
    """Compare the events' places in the feed, which no hash covers, with those in the file."""
    own = Event.objects.filter(job_id=header.job_id, seq__lte=header.events).order_by("seq")
    places = own.values_list("seq", "txid", "id")
    with closing(read_placed_rows(path)) as archived:
        found = ((row.seq, txid, row_id) for row, txid, row_id in archived)
        for stored, kept in zip_longest(places.iterator(chunk_size=BATCH), found):
            if stored != kept:
                seq = (stored or kept or (0,))[0]
                raise BadArchive(f"{path}: the place of seq {seq} in the feed differs")


@contextmanager
def _job_locked(job_id: UUID) -> Iterator[Job]:
    """Lock a job in a transaction. Raises LogNotRemovableError if that takes too long."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
        try:
            job = Job.objects.select_for_update(no_key=True).get(id=job_id)
        except OperationalError:
            raise LogNotRemovableError("the job is being changed. Try again") from None
        try:
            yield job
        except DatabaseError as error:  # such as a trigger, or a limit of the role
            raise LogNotRemovableError(f"the database refused: {str(error).strip()}") from error
