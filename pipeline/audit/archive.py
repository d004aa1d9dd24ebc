"""Archive: a folder outside the database with a file for the log of each closed job.

A manifest in the folder says which files it must have. There is no other record of the archive.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import json
import os
import secrets
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, NamedTuple, cast
from uuid import UUID

from django.db import DatabaseError, connection

from jobs.models import Job, JobStatus
from jobs.policies import Policy, logged_policy_values
from pipeline.audit import anchors
from pipeline.audit.log_fold import BadRow, LogFold
from pipeline.audit.verify import (
    Line,
    add_replayed_people,
    read_applications,
    read_live_rows,
    reconcile,
    verify_job,
)
from pipeline.database import instants, replica
from pipeline.domain.errors import FutureMoment, NoSuchMoment
from pipeline.line.event_log import LogEntry, exported_row, parse_exported_row
from pipeline.models import Application, Event, RemovedLog
from pipeline.wording.english import count
from tasks.advisory_locks import ARCHIVE_TURN

# Archived log: the log of one job in a file outside the database. A file is compressed with gzip.
# Its first line is JSON that says what the file is: the job, the number of events and the head.
# Each further line is an event as in an exported log, and its place in the feed, which no hash
# covers. So a file can be verified and replayed without the database, and its rows can be put back.
# The same log always gives the same bytes.


FORMAT = "next-in-line log 2"
WITHOUT_PLACES = "next-in-line log 1"  # of earlier releases
BATCH = 2_000
LONGEST_LINE = 2**20  # a longer one is no event, however much a damaged file unpacks to
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError, ArithmeticError)


class BadArchive(Exception):
    """A file of the archive cannot be read, is not sound, or differs from the log; says which."""


class ArchiveHeader(NamedTuple):
    """First line of a file: the job, the number of its events, and the hash of the last one."""

    job_id: UUID
    events: int
    head: bytes


def read_header(path: Path) -> ArchiveHeader:
    """Return a file's first line, unverified. Raises BadArchive."""
    with closing(_read_lines(path)) as lines:
        return _parse_format(path, lines)[1]


def has_places(path: Path) -> bool:
    """Tell whether a file has the events' places in the feed. Raises BadArchive."""
    with closing(_read_lines(path)) as lines:
        return _parse_format(path, lines)[0] == FORMAT


def read_placed_rows(path: Path) -> Generator[tuple[LogEntry, int, int]]:
    """Yield a file's events, unverified, with the `txid` and `id` of each. Raises BadArchive."""
    with closing(_read_lines(path)) as lines:
        _parse_format(path, lines)
        for row, facts in _parse_archived_lines(path, lines):
            try:
                txid, row_id = map(int, facts["place"])
            except UNREADABLE:
                raise BadArchive(f"{path}: seq {row.seq} has no place in the feed") from None
            yield row, txid, row_id


def read_archived_rows(path: Path) -> Generator[LogEntry]:
    """Yield a file's events, unverified. Raises BadArchive."""
    with closing(_read_lines(path)) as lines:
        _parse_format(path, lines)
        yield from (row for row, _ in _parse_archived_lines(path, lines))


def verify_archived_log(path: Path) -> ArchiveHeader:
    """Check a file's whole chain and every move in it, and return its first line.

    Raises BadArchive.
    """
    return fold_archived_log(path)[0]


def fold_archived_log(
    path: Path, is_later: Callable[[LogEntry], bool] = lambda _: False
) -> tuple[ArchiveHeader, LogFold]:
    """Verify a file's events, all or up to the first one that is too late, and add them up.

    Returns its first line and the sum. Raises BadArchive.
    """
    with closing(_read_lines(path)) as lines:
        header = _parse_format(path, lines)[1]
        fold = LogFold(header.job_id)
        try:
            for row, _ in _parse_archived_lines(path, lines):
                if is_later(row):
                    break
                fold.fold_event(cast(Event, row))  # it has the same fields
            else:
                if (fold.seq, fold.head) != header[1:]:
                    raise BadRow(fold.seq + 1, "the file ends here, its first line says otherwise")
                fold.refuse_unfinished()
        except BadRow as bad:
            raise BadArchive(f"{path}: seq {bad.seq}: {bad}") from None
        except UNREADABLE:
            raise BadArchive(f"{path}: seq {fold.seq + 1} cannot be read") from None
    return header, fold


def replay_archived_log(
    path: Path, *, seq: int | None = None, as_of: datetime | None = None
) -> Line:
    """Return the line after event `seq`, or at time `as_of`, or at the end, as `replay` does.

    Everything up to there is verified. A time after the last event means the end. Raises
    BadArchive; NoSuchMoment before the first event; FutureMoment after the last one.
    """

    def is_archived_row_later(row: LogEntry) -> bool:
        return bool(seq is not None and row.seq > seq) or bool(as_of and row.at > as_of)

    header, fold = fold_archived_log(path, is_archived_row_later)
    if fold.seq == 0 or fold.at is None:
        raise NoSuchMoment
    if seq is not None and seq > fold.seq:
        raise FutureMoment
    draw, hiring = fold.draw, fold.positions
    line = Line(
        job_id=header.job_id,
        seq=fold.seq,
        at=fold.at,
        status=fold.job["status"],
        capacity=fold.job["capacity"],
        policy=Policy(**logged_policy_values(fold.job["policy"])),
        policy_version=fold.policy_version,
        awaits_draw=draw.draw_at is not None and (draw.drawn_at is None or draw.is_unfinished),
        positions_to_fill=hiring.to_fill,
        hired_count=None if hiring.to_fill is None else hiring.hired,
        opens_at=hiring.opens_at,
        closes_at=hiring.closes_at,
    )
    add_replayed_people(line, fold.places.values())
    return line


def write_archived_log(file: IO[bytes], header: ArchiveHeader) -> None:
    """Write the log of a job, up to the header's last event."""
    about = {
        "format": FORMAT,
        "job": str(header.job_id),
        "events": header.events,
        "head": header.head.hex(),
    }
    own = Event.objects.filter(job_id=header.job_id)
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
        packed.write(_encode_line(about))
        for after in range(0, header.events, BATCH):
            last = min(after + BATCH, header.events)
            for event in own.filter(seq__gt=after, seq__lte=last).order_by("seq"):
                place = {"place": [event.txid, event.id]}
                packed.write(_encode_line(exported_row(event) | place))


def _encode_line(facts: dict[str, Any]) -> bytes:
    text = json.dumps(facts, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return f"{text}\n".encode()


def _parse_format(path: Path, lines: Iterator[bytes]) -> tuple[str, ArchiveHeader]:
    try:
        facts = json.loads(next(lines, b""))
        known = facts["format"] in (FORMAT, WITHOUT_PLACES)
        if known and isinstance(facts["events"], int):
            job_id, head = UUID(facts["job"]), bytes.fromhex(facts["head"])
            return facts["format"], ArchiveHeader(job_id, facts["events"], head)
    except UNREADABLE:
        pass
    raise BadArchive(f"{path}: it is no archived log of a format that this release knows")


def _parse_archived_lines(
    path: Path, lines: Iterator[bytes]
) -> Iterator[tuple[LogEntry, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        try:
            facts = json.loads(line)
            row = parse_exported_row(facts)
        except UNREADABLE:
            raise BadArchive(f"{path}: event {number} cannot be read") from None
        yield row, facts


def _read_lines(path: Path) -> Generator[bytes]:
    """Yield a file's lines. Raises BadArchive if it is missing, damaged or cut off."""
    try:
        if path.is_fifo():  # reading it would wait for ever
            raise BadArchive(f"{path}: it is no file")
        with gzip.open(path) as file:
            while line := file.readline(LONGEST_LINE):
                yield line
    except (EOFError, zlib.error):
        raise BadArchive(f"{path}: it is damaged or cut off") from None
    except OSError as error:
        raise BadArchive(f"{path}: it cannot be read: {error.strerror or error}") from None


# Manifest of an archive: the files that it must have, each with its number of events and head. A
# line is JSON with the SHA-256 of the line before it, so that only the last lines can be removed
# without notice. A file gets its name and its line while its writer holds the manifest.


NAME = "manifest.jsonl"
FIRST = "0" * 64  # in the place of the hash of a line before the first
MOST_BYTES_OF_LINE = 1_024

Noted = dict[UUID, list[ArchiveHeader]]


@contextmanager
def hold_manifest(folder: Path) -> Iterator[int]:
    """Hold the manifest of an archive for a change, and make it if there is none.

    Raises OSError, also if the folder does not exist.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    file = os.open(folder / NAME, flags, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def append_manifest(file: int, header: ArchiveHeader) -> None:
    """Note a file that has its name now in a held manifest, and flush the line to the disk.

    The rest of a line that a crash has cut off is removed: the next run notes its file.
    """
    size = os.fstat(file).st_size
    end = os.pread(file, MOST_BYTES_OF_LINE, max(0, size - MOST_BYTES_OF_LINE))
    whole, _, rest = end.rpartition(b"\n")
    os.ftruncate(file, size - len(rest))
    last = whole.rpartition(b"\n")[2]
    facts = {
        "job": str(header.job_id),
        "events": header.events,
        "head": header.head.hex(),
        "previous": sha256(last).hexdigest() if last else FIRST,
    }
    anchors.write(file, json.dumps(facts, separators=(",", ":"), sort_keys=True).encode() + b"\n")


def read_manifest(folder: Path) -> Noted:
    """Return each job's entries, oldest first; empty if there is no manifest.

    Raises BadArchive if a line is missing, changed or not readable.
    """
    path, noted, before = folder / NAME, defaultdict(list), FIRST
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadArchive(f"{path}: it cannot be read: {error.strerror or error}") from None
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            facts = json.loads(line)
            header = ArchiveHeader(
                UUID(facts["job"]), int(facts["events"]), bytes.fromhex(facts["head"])
            )
            previous = facts["previous"]
        except UNREADABLE:
            raise BadArchive(f"{path}: line {number} cannot be read") from None
        if previous != before:
            raise BadArchive(f"{path}: lines before line {number} are missing or changed")
        noted[header.job_id].append(header)
        before = sha256(line).hexdigest()
    return dict(noted)


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
    before = instants.now() - timedelta(days=after_days)
    closed = Job.objects.filter(status=JobStatus.CLOSED, is_test=False, closed_at__lt=before)
    closed = closed.filter(removed_log=None)
    written, left_out = 0, 0
    with replica.primary_only(), exclusive_writing():
        _remove_unfinished(folder)
        try:
            noted, problems = _begin(folder)
        except BadArchive as error:
            return 0, 0, [str(error)]
        problems += find_lost_files(folder)
        rows = closed.order_by("closed_at", "id").values_list("id", "seq").iterator()
        for job_id, seq in takewhile(lambda _: not is_stopped(), rows):
            path, last = archived_log_path(folder, job_id), noted.get(job_id, [None])[-1]
            try:
                if _is_archived(folder, job_id, last):
                    continue
                problems += find_losses(path, last)
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
            if not path.exists() or read_header(path).events <= header.events:
                unfinished.replace(path)
                for changed in (path.parent, folder):
                    anchors.sync_folder(changed)
                append_manifest(manifest, header)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def find_archive_problems(folder: Path, *, job_ids: Collection[UUID] = ()) -> tuple[int, list[str]]:
    """Verify the files of a folder, or of some jobs in it, and compare them with the logs.

    Returns how many files there are or must be, and a sentence for each that is missing or not
    sound, or that differs from the manifest or the log: it names the first seq. A log may have more
    events than its file. If the log was removed from the database, the job's rows must be what its
    file adds up to.
    """
    try:
        noted = read_manifest(folder)
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
            _compare_log(path, header, fold)
            sound.append((path, header))
        except BadArchive as error:
            problems.append(str(error))
    noted_since = read_manifest(folder)  # a run may have replaced some files
    for path, header in sound:
        allowed = noted_since.get(header.job_id, [])[
            max(0, len(noted.get(header.job_id, [])) - 1) :
        ]
        if header not in allowed:
            problems.append(manifest_difference(path, header, allowed))
    return len(paths), problems


def count_missing_archives(folder: Path, *, after_days: int) -> int:
    """Return how many jobs closed long enough ago and were never archived."""
    before = instants.now() - timedelta(days=after_days)
    closed = Job.objects.filter(status=JobStatus.CLOSED, is_test=False, closed_at__lt=before)
    return len(set(closed.values_list("id", flat=True)) - read_manifest(folder).keys())


def find_lost_files(folder: Path) -> list[str]:
    """Name each removed log without a file: nothing can write it again."""
    removed = RemovedLog.objects.order_by("pk").values_list("pk", flat=True).iterator()
    return [
        f"{path} is gone, and its log was removed from the database. Bring it back from a copy"
        for path in (archived_log_path(folder, job_id) for job_id in removed)
        if not path.exists()
    ]


@contextmanager
def exclusive_writing() -> Iterator[None]:
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


def _begin(folder: Path) -> tuple[Noted, list[str]]:
    """Return the entries of the manifest.

    Create one if there is none, and report one that is gone. Raises BadArchive if the manifest is
    damaged, OSError if the folder cannot be written.
    """
    is_new = not (folder / NAME).exists()
    with hold_manifest(folder):
        if is_new:
            anchors.sync_folder(folder)
    if is_new and any(folder.glob(f"??/*{ENDING}")):
        return {}, [f"{folder / NAME} was gone. A new one begins with the files that are there"]
    return read_manifest(folder), []


def find_losses(path: Path, noted: ArchiveHeader | None) -> list[str]:
    """Describe what has happened to a file that the manifest names; empty if all is well."""
    if noted is None:
        return []
    if not path.exists():
        return [f"{path} was gone. It is written again from the log"]
    if read_header(path).events < noted.events:
        return [f"{path} was older than the manifest says. It is written again from the log"]
    return []


def manifest_difference(path: Path, header: ArchiveHeader, noted: list[ArchiveHeader]) -> str:
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
    header = read_header(path) if path.exists() else None
    if header == live == noted:
        return True
    if header:
        _compare_log(path, *fold_archived_log(path))
    if noted and noted != live:
        last = Event.objects.filter(job_id=job_id, seq=noted.events, hash=noted.head)
        if not last.exists():
            raise BadArchive(f"{path}: the log in the database is not the one that was archived")
    if header == live:  # a crash came between its name and its line
        with hold_manifest(folder) as manifest:
            append_manifest(manifest, live)
    return header == live


def _compare_log(path: Path, header: ArchiveHeader, fold: LogFold) -> None:
    """Raise BadArchive if the log in the database does not begin with the events of a file.

    If the log was removed, the job's rows must be what the file adds up to.
    """
    if path != archived_log_path(path.parent.parent, header.job_id):
        raise BadArchive(f"{path}: it has the log of {header.job_id}, by its first line")
    own = Event.objects.filter(job_id=header.job_id)
    if removed := RemovedLog.objects.filter(job_id=header.job_id).first():
        if header[1:] != (removed.events, bytes(removed.head)):
            raise BadArchive(f"{path}: it is not the log that was removed from the database")
        applications: dict[UUID, Application] = {}
        read_applications(header.job_id, fold.places, applications)
        job = Job.objects.get(id=header.job_id)
        if differences := reconcile(fold, read_live_rows(job, applications)):
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
    with closing(read_archived_rows(path)) as archived:
        found = ((each.seq, each.hash) for each in archived)
        others = (each for each in found if each != next(rows, None))
        first, _ = next(others, (header.events, header.head))
    raise BadArchive(f"{path}: the log in the database differs from seq {first} on")


def _remove_unfinished(folder: Path) -> None:
    for part in folder.glob("??/*.part"):
        with suppress(OSError):  # another process has just finished it, or it cannot be removed
            if part.lstat().st_mtime < time.time() - LEFT_BEHIND_SECONDS:
                part.unlink()
