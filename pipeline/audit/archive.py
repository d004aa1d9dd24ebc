"""Archive: a file outside the database for the log of each closed job.

A file is compressed with gzip. Its first line is JSON that says what the file is: the job, the
number of events and the head. Each further line is an event as in an exported log. So a file can be
verified and replayed without the database. The same log always gives the same bytes.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import secrets
import time
import zlib
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any, NamedTuple, cast
from uuid import UUID

from jobs.models import Job, JobStatus
from jobs.policies import Policy, logged_policy_values
from pipeline.audit.anchors import sync_anchor_folder
from pipeline.audit.log_fold import BadRow, LogFold
from pipeline.audit.replay import Line, add_replayed_people
from pipeline.audit.verify import verify_job
from pipeline.database.instants import database_now
from pipeline.database.replica import primary_without_replica
from pipeline.domain.errors import FutureMoment, NoSuchMoment
from pipeline.line.event_log import LogEntry, exported_log_row, parse_exported_log_row
from pipeline.models import Event

FORMAT = "next-in-line log 1"
ENDING = ".jsonl.gz"
BATCH = 2_000
LONGEST_LINE = 2**20  # a longer one is no event, however much a damaged file unpacks to
LEFT_BEHIND_SECONDS = 86_400  # older unfinished files are of dead processes
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError, ArithmeticError)


class BadArchive(Exception):
    """A file of the archive cannot be read, is not sound, or differs from the log; says which."""


class ArchiveHeader(NamedTuple):
    """First line of a file: the job, the number of its events, and the hash of the last one."""

    job_id: UUID
    events: int
    head: bytes


def archived_log_path(folder: Path, job_id: UUID) -> Path:
    """Return the file of a job's log, there or not."""
    return folder / job_id.hex[-2:] / f"{job_id}{ENDING}"


def archive_logs(
    folder: Path,
    *,
    after_days: int,
    longest: int | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> tuple[int, int, list[str]]:
    """Archive the logs of the jobs that closed so long ago and are not in the archive as they are.

    Returns how many files were written, how many logs were left out as longer than `longest`, and a
    sentence for each that could not be archived. Raises OSError if the folder cannot be written.
    """
    _remove_unfinished_archives(folder)
    before = database_now() - timedelta(days=after_days)
    closed = Job.objects.filter(status=JobStatus.CLOSED, is_test=False, closed_at__lt=before)
    written, left_out, problems = 0, 0, []
    with primary_without_replica():
        for job_id, seq in closed.order_by("closed_at", "id").values_list("id", "seq").iterator():
            if is_stopped():
                break
            try:
                if _is_archived(folder, job_id):
                    continue
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
    """Write a job's log as of now to its file, and return the path.

    The log is verified before, and the file is read back and verified. Only then does it take the
    place of an earlier one. Raises BadArchive if either is not sound, OSError.
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
            _write_archived_log(file, header)
            os.fsync(file.fileno())
        if verify_archived_log(unfinished) != header:
            raise BadArchive(f"{unfinished}: it has other events than were written")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    for changed in (path.parent, folder):
        sync_anchor_folder(changed)
    return path


def verify_archived_log(path: Path) -> ArchiveHeader:
    """Check a file's whole chain and every move in it, and return its first line.

    Raises BadArchive.
    """
    return _fold_archived_log(path, lambda _: False)[0]


def replay_archived_log(
    path: Path, *, seq: int | None = None, as_of: datetime | None = None
) -> Line:
    """Return the line after event `seq`, or at time `as_of`, or at the end, as `replay` does.

    Everything up to there is verified. A time after the last event means the end. Raises
    BadArchive; NoSuchMoment before the first event; FutureMoment after the last one.
    """

    def is_later(row: LogEntry) -> bool:
        return bool(seq is not None and row.seq > seq) or bool(as_of and row.at > as_of)

    header, fold = _fold_archived_log(path, is_later)
    if fold.seq == 0 or fold.at is None:
        raise NoSuchMoment
    if seq is not None and seq > fold.seq:
        raise FutureMoment
    draw = fold.draw
    line = Line(
        job_id=header.job_id,
        seq=fold.seq,
        at=fold.at,
        status=fold.job["status"],
        capacity=fold.job["capacity"],
        policy=Policy(**logged_policy_values(fold.job["policy"])),
        policy_version=fold.policy_version,
        awaits_draw=draw.draw_at is not None and (draw.drawn_at is None or draw.is_unfinished),
    )
    add_replayed_people(line, fold.places.values())
    return line


def problems_with_archive(folder: Path, *, job_ids: Collection[UUID] = ()) -> tuple[int, list[str]]:
    """Verify the files of a folder, or of some jobs in it, and compare them with the logs.

    Returns how many files there are, and a sentence for each that is not sound, or that differs
    from the log: it names the first seq. A log may have more events than its file.
    """
    paths = [archived_log_path(folder, job_id) for job_id in job_ids]
    paths = paths or sorted(folder.glob(f"??/*{ENDING}"))
    problems = []
    for path in paths:
        try:
            _compare_archive_with_database(path, verify_archived_log(path))
        except BadArchive as error:
            problems.append(str(error))
    return len(paths), problems


def _is_archived(folder: Path, job_id: UUID) -> bool:
    """Tell whether a job's file has the log as it is, by its first line.

    Raises BadArchive if it is damaged or has another log: it must not be replaced then.
    """
    path = archived_log_path(folder, job_id)
    if not path.exists():
        return False
    with closing(_archived_lines_of(path)) as lines:
        header = _parse_archive_header(path, lines)
    live = Job.objects.values_list("seq", "chain_head").get(id=job_id)
    if (header.events, header.head) == (live[0], bytes(live[1])):
        return True
    _compare_archive_with_database(path, verify_archived_log(path))
    return False


def _compare_archive_with_database(path: Path, header: ArchiveHeader) -> None:
    """Raise BadArchive if the log in the database does not begin with the events of a file."""
    if path != archived_log_path(path.parent.parent, header.job_id):
        raise BadArchive(f"{path}: it has the log of {header.job_id}, by its first line")
    own = Event.objects.filter(job_id=header.job_id)
    last = own.filter(seq=header.events).values_list("hash", flat=True).first()
    if last is not None and bytes(last) == header.head:
        return
    stored = own.order_by("seq").values_list("seq", "hash").iterator(chunk_size=BATCH)
    rows = ((seq, bytes(own_hash)) for seq, own_hash in stored)
    with closing(_archived_lines_of(path)) as lines:
        _parse_archive_header(path, lines)
        found = ((each.seq, each.hash) for each in _parse_archived_rows(path, lines))
        others = (each for each in found if each != next(rows, None))
        first, _ = next(others, (header.events, header.head))
    raise BadArchive(f"{path}: the log in the database differs from seq {first} on")


def _write_archived_log(file: IO[bytes], header: ArchiveHeader) -> None:
    about = {
        "format": FORMAT,
        "job": str(header.job_id),
        "events": header.events,
        "head": header.head.hex(),
    }
    own = Event.objects.filter(job_id=header.job_id)
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
        packed.write(_archived_line_of(about))
        for after in range(0, header.events, BATCH):
            last = min(after + BATCH, header.events)
            for event in own.filter(seq__gt=after, seq__lte=last).order_by("seq"):
                packed.write(_archived_line_of(exported_log_row(event)))


def _archived_line_of(facts: dict[str, Any]) -> bytes:
    text = json.dumps(facts, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return f"{text}\n".encode()


def _fold_archived_log(
    path: Path, is_later: Callable[[LogEntry], bool]
) -> tuple[ArchiveHeader, LogFold]:
    """LogFold a file's rows, all or up to the first one that is too late. Raises BadArchive."""
    with closing(_archived_lines_of(path)) as lines:
        header = _parse_archive_header(path, lines)
        fold = LogFold(header.job_id)
        try:
            for row in _parse_archived_rows(path, lines):
                if is_later(row):
                    break
                fold.take(cast(Event, row))  # it has the same fields
            else:
                if (fold.seq, fold.head) != header[1:]:
                    raise BadRow(fold.seq + 1, "the file ends here, its first line says otherwise")
                fold.refuse_unfinished()
        except BadRow as bad:
            raise BadArchive(f"{path}: seq {bad.seq}: {bad}") from None
        except UNREADABLE:
            raise BadArchive(f"{path}: seq {fold.seq + 1} cannot be read") from None
    return header, fold


def _parse_archive_header(path: Path, lines: Iterator[bytes]) -> ArchiveHeader:
    try:
        facts = json.loads(next(lines, b""))
        if facts["format"] == FORMAT and isinstance(facts["events"], int):
            return ArchiveHeader(UUID(facts["job"]), facts["events"], bytes.fromhex(facts["head"]))
    except UNREADABLE:
        pass
    raise BadArchive(f"{path}: it is no archived log of a format that this release knows")


def _parse_archived_rows(path: Path, lines: Iterator[bytes]) -> Iterator[LogEntry]:
    for number, line in enumerate(lines, start=1):
        try:
            row = parse_exported_log_row(json.loads(line))
        except UNREADABLE:
            raise BadArchive(f"{path}: event {number} cannot be read") from None
        yield row


def _archived_lines_of(path: Path) -> Generator[bytes]:
    """Yield a file's lines. Raises BadArchive if it is missing, damaged or cut off."""
    if path.is_fifo():  # reading it would wait for ever
        raise BadArchive(f"{path}: it is no file")
    try:
        with gzip.open(path) as file:
            while line := file.readline(LONGEST_LINE):
                yield line
    except (EOFError, zlib.error):
        raise BadArchive(f"{path}: it is damaged or cut off") from None
    except OSError as error:
        raise BadArchive(f"{path}: it cannot be read: {error.strerror or error}") from None


def _remove_unfinished_archives(folder: Path) -> None:
    for part in folder.glob("??/*.part"):
        with suppress(FileNotFoundError):  # another run has just finished it
            if part.lstat().st_mtime < time.time() - LEFT_BEHIND_SECONDS:
                part.unlink()
