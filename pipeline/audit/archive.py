"""Archive: a folder outside the database with a file for the log of each closed job.

A manifest in the folder says which files it must have. There is no other record of the archive.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from itertools import takewhile
from pathlib import Path
from uuid import UUID

from django.db import DatabaseError, connection

from jobs.models import Job, JobStatus
from pipeline.audit.anchors import sync_anchor_folder
from pipeline.audit.archive_manifest import (
    NAME,
    Noted,
    append_to_manifest,
    hold_manifest,
    manifest_of,
)
from pipeline.audit.archived_log import (
    BATCH,
    ArchiveHeader,
    BadArchive,
    archive_header_of,
    archived_rows_of,
    fold_archived_log,
    verify_archived_log,
    write_archived_log,
)
from pipeline.audit.log_fold import LogFold
from pipeline.audit.reconciliation import reconcile
from pipeline.audit.verify import verify_job
from pipeline.database.instants import database_now
from pipeline.database.replica import primary_without_replica
from pipeline.models import Event, RemovedLog
from pipeline.wording.english import count
from tasks.advisory_locks import ARCHIVE_TURN

ENDING = ".jsonl.gz"
LEFT_BEHIND_SECONDS = 86_400  # older unfinished files are of dead processes


class ArchiveBusy(Exception):
    """Another run is writing the archive."""


def archived_log_path(folder: Path, job_id: UUID) -> Path:
    """Return the path of a job's file, whether it exists or not."""
    return folder / job_id.hex[-2:] / f"{job_id}{ENDING}"


def archive_logs(
    folder: Path,
    *,
    after_days: int,
    longest: int | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> tuple[int, int, list[str]]:
    """Archive the logs of jobs that closed long enough ago and whose present log is not archived.

    Returns how many files were written, how many logs were left out as longer than `longest`, and a
    sentence for each that could not be archived, or whose file was lost. Raises ArchiveBusy, and
    OSError if the folder cannot be written.
    """
    before = database_now() - timedelta(days=after_days)
    closed = Job.objects.filter(status=JobStatus.CLOSED, is_test=False, closed_at__lt=before)
    closed = closed.filter(removed_log=None)
    written, left_out = 0, 0
    with primary_without_replica(), turn_to_archive():
        _remove_unfinished_archives(folder)
        try:
            noted, problems = _begin_archive(folder)
        except BadArchive as error:
            return 0, 0, [str(error)]
        problems += lost_files_of_removed_logs(folder)
        rows = closed.order_by("closed_at", "id").values_list("id", "seq").iterator()
        for job_id, seq in takewhile(lambda _: not is_stopped(), rows):
            path, last = archived_log_path(folder, job_id), noted.get(job_id, [None])[-1]
            try:
                if _is_archived(folder, job_id, last):
                    continue
                problems += losses_in_archive(path, last)
                if longest is not None and seq > longest:
                    left_out += 1
                    continue
                archive_log(folder, job_id)
                written += 1
            except BadArchive as error:
                problems.append(str(error))
            except OSError as error:
                if not folder.is_dir() or error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
                    raise
                problems.append(f"{job_id} was not archived: {error}")
    return written, left_out, problems


def archive_log(folder: Path, job_id: UUID) -> Path:
    """Write a job's log as of now to its file, note it in the manifest, and return the path.

    The log is verified before, and the file is read back and verified. Only then does it take the
    place of an earlier one, unless another run has put a newer one there meanwhile. Raises
    BadArchive if either is not sound, OSError.
    """
    verdict = verify_job(job_id)
    if not verdict.is_sound:
        raise BadArchive(f"{job_id} was not archived: its log is not sound. Run verify_log.")
    path = archived_log_path(folder, job_id)
    header = ArchiveHeader(job_id, verdict.head_seq, bytes.fromhex(verdict.head_hash))
    path.parent.mkdir(exist_ok=True)  # not the folder: a disk may not be mounted
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with unfinished.open("xb") as file:
            write_archived_log(file, header)
            os.fsync(file.fileno())
        if verify_archived_log(unfinished) != header:
            raise BadArchive(f"{unfinished}: it has other events than were written")
        with hold_manifest(folder) as manifest:
            if not path.exists() or archive_header_of(path).events <= header.events:
                unfinished.replace(path)
                for changed in (path.parent, folder):
                    sync_anchor_folder(changed)
                append_to_manifest(manifest, header)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def problems_with_archive(folder: Path, *, job_ids: Collection[UUID] = ()) -> tuple[int, list[str]]:
    """Verify the files of a folder, or of some jobs in it, and compare them with the logs.

    Returns how many files there are or must be, and a sentence for each that is missing or not
    sound, or that differs from the manifest or the log: it names the first seq. A log may have more
    events than its file. If the log was removed from the database, the job's rows must be what its
    file adds up to.
    """
    try:
        noted = manifest_of(folder)
    except BadArchive as error:
        return 0, [str(error)]
    removed = RemovedLog.objects.values_list("pk", flat=True)
    paths = {archived_log_path(folder, job_id) for job_id in job_ids or {*noted, *removed}}
    if not job_ids:
        paths |= set(folder.glob(f"??/*{ENDING}"))
    problems, sound = [], []
    for path in sorted(paths):
        try:
            header, fold = fold_archived_log(path)
            _compare_archive_with_database(path, header, fold)
            sound.append((path, header))
        except BadArchive as error:
            problems.append(str(error))
    noted_since = manifest_of(folder)  # a run may have replaced some files
    for path, header in sound:
        allowed = noted_since.get(header.job_id, [])[
            max(0, len(noted.get(header.job_id, [])) - 1) :
        ]
        if header not in allowed:
            problems.append(difference_from_manifest(path, header, allowed))
    return len(paths), problems


def count_missing_in_archive(folder: Path, *, after_days: int) -> int:
    """Return how many jobs closed long enough ago and were never archived."""
    before = database_now() - timedelta(days=after_days)
    closed = Job.objects.filter(status=JobStatus.CLOSED, is_test=False, closed_at__lt=before)
    return len(set(closed.values_list("id", flat=True)) - manifest_of(folder).keys())


def lost_files_of_removed_logs(folder: Path) -> list[str]:
    """Name each removed log without a file: nothing can write it again."""
    removed = RemovedLog.objects.order_by("pk").values_list("pk", flat=True).iterator()
    return [
        f"{path} is gone, and its log was removed from the database. Bring it back from a copy"
        for path in (archived_log_path(folder, job_id) for job_id in removed)
        if not path.exists()
    ]


@contextmanager
def turn_to_archive() -> Iterator[None]:
    """Let no other run write an archive in the block. Raises ArchiveBusy if one does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [ARCHIVE_TURN])
        if not cursor.fetchone()[0]:
            raise ArchiveBusy
    try:
        yield
    finally:
        with suppress(DatabaseError), connection.cursor() as cursor:  # gone with its connection
            cursor.execute("SELECT pg_advisory_unlock(%s)", [ARCHIVE_TURN])


def _begin_archive(folder: Path) -> tuple[Noted, list[str]]:
    """Return the entries of the manifest.

    Create one if there is none, and report one that is gone. Raises BadArchive if the manifest is
    damaged, OSError if the folder cannot be written.
    """
    is_new = not (folder / NAME).exists()
    with hold_manifest(folder):
        if is_new:
            sync_anchor_folder(folder)
    if is_new and any(folder.glob(f"??/*{ENDING}")):
        return {}, [f"{folder / NAME} was gone. A new one begins with the files that are there"]
    return manifest_of(folder), []


def losses_in_archive(path: Path, noted: ArchiveHeader | None) -> list[str]:
    """Describe what has happened to a file that the manifest names; empty if all is well."""
    if noted is None:
        return []
    if not path.exists():
        return [f"{path} was gone. It is written again from the log"]
    if archive_header_of(path).events < noted.events:
        return [f"{path} was older than the manifest says. It is written again from the log"]
    return []


def difference_from_manifest(path: Path, header: ArchiveHeader, noted: list[ArchiveHeader]) -> str:
    """Say how a file differs from its job's entries in the manifest."""
    if not noted:
        return f"{path}: it is not in the manifest"
    if header.events < noted[-1].events:
        events = noted[-1].events
        return f"{path}: it is older: it has {header.events} events, the manifest says {events}"
    return f"{path}: it is not the file that the manifest names"


def _is_archived(folder: Path, job_id: UUID, noted: ArchiveHeader | None) -> bool:
    """Tell from its first line whether a job's file has the present log.

    Raises BadArchive if it is damaged or has another log, and so must not be replaced, or if the
    log is not the one that was archived.
    """
    path = archived_log_path(folder, job_id)
    seq, head = Job.objects.values_list("seq", "chain_head").get(id=job_id)
    live = ArchiveHeader(job_id, seq, bytes(head))
    header = archive_header_of(path) if path.exists() else None
    if header == live == noted:
        return True
    if header:
        _compare_archive_with_database(path, *fold_archived_log(path))
    if noted and noted != live:
        last = Event.objects.filter(job_id=job_id, seq=noted.events, hash=noted.head)
        if not last.exists():
            raise BadArchive(f"{path}: the log in the database is not the one that was archived")
    if header == live:  # a crash came between its name and its line
        with hold_manifest(folder) as manifest:
            append_to_manifest(manifest, live)
    return header == live


def _compare_archive_with_database(path: Path, header: ArchiveHeader, fold: LogFold) -> None:
    """Raise BadArchive if the log in the database does not begin with the events of a file.

    If the log was removed, the job's rows must be what the file adds up to.
    """
    if path != archived_log_path(path.parent.parent, header.job_id):
        raise BadArchive(f"{path}: it has the log of {header.job_id}, by its first line")
    own = Event.objects.filter(job_id=header.job_id)
    if removed := RemovedLog.objects.filter(job_id=header.job_id).first():
        if header[1:] != (removed.events, bytes(removed.head)):
            raise BadArchive(f"{path}: it is not the log that was removed from the database")
        if differences := reconcile(fold, Job.objects.get(id=header.job_id)):
            more = (
                f", and {count(len(differences) - 1, 'more difference')}"
                if len(differences) > 1
                else ""
            )
            raise BadArchive(f"{path}: {differences[0]}{more}")
        return
    last = own.filter(seq=header.events).values_list("hash", flat=True).first()
    if last is not None and bytes(last) == header.head:
        return
    stored = own.order_by("seq").values_list("seq", "hash").iterator(chunk_size=BATCH)
    rows = ((seq, bytes(own_hash)) for seq, own_hash in stored)
    with closing(archived_rows_of(path)) as archived:
        found = ((each.seq, each.hash) for each in archived)
        others = (each for each in found if each != next(rows, None))
        first, _ = next(others, (header.events, header.head))
    raise BadArchive(f"{path}: the log in the database differs from seq {first} on")


def _remove_unfinished_archives(folder: Path) -> None:
    for part in folder.glob("??/*.part"):
        with suppress(OSError):  # another process has just finished it, or it cannot be removed
            if part.lstat().st_mtime < time.time() - LEFT_BEHIND_SECONDS:
                part.unlink()
