"""Archived log: the log of one job in a file outside the database.

A file is compressed with gzip. Its first line is JSON that says what the file is: the job, the
number of events and the head. Each further line is an event as in an exported log, and its place in
the feed, which no hash covers. So a file can be verified and replayed without the database, and its
rows can be put back. The same log always gives the same bytes.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import IO, Any, NamedTuple, cast
from uuid import UUID

from jobs.policies import Policy, logged_policy_values
from pipeline.audit.log_fold import BadRow, LogFold
from pipeline.audit.replay import Line, add_replayed_people
from pipeline.domain.errors import FutureMoment, NoSuchMoment
from pipeline.line.event_log import LogEntry, exported_log_row, parse_exported_log_row
from pipeline.models import Event

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


def archive_header_of(path: Path) -> ArchiveHeader:
    """Return a file's first line, unverified. Raises BadArchive."""
    with closing(_archived_lines_of(path)) as lines:
        return _parse_archive_format(path, lines)[1]


def is_archived_with_places(path: Path) -> bool:
    """Tell whether a file has the events' places in the feed. Raises BadArchive."""
    with closing(_archived_lines_of(path)) as lines:
        return _parse_archive_format(path, lines)[0] == FORMAT


def archived_rows_with_places(path: Path) -> Generator[tuple[LogEntry, int, int]]:
    """Yield a file's events, unverified, with the `txid` and `id` of each. Raises BadArchive."""
    with closing(_archived_lines_of(path)) as lines:
        _parse_archive_format(path, lines)
        for row, facts in _parse_archived_lines(path, lines):
            try:
                txid, row_id = map(int, facts["place"])
            except UNREADABLE:
                raise BadArchive(f"{path}: seq {row.seq} has no place in the feed") from None
            yield row, txid, row_id


def archived_rows_of(path: Path) -> Generator[LogEntry]:
    """Yield a file's events, unverified. Raises BadArchive."""
    with closing(_archived_lines_of(path)) as lines:
        _parse_archive_format(path, lines)
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
    with closing(_archived_lines_of(path)) as lines:
        header = _parse_archive_format(path, lines)[1]
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
        packed.write(_archived_line_of(about))
        for after in range(0, header.events, BATCH):
            last = min(after + BATCH, header.events)
            for event in own.filter(seq__gt=after, seq__lte=last).order_by("seq"):
                place = {"place": [event.txid, event.id]}
                packed.write(_archived_line_of(exported_log_row(event) | place))


def _archived_line_of(facts: dict[str, Any]) -> bytes:
    text = json.dumps(facts, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return f"{text}\n".encode()


def _parse_archive_format(path: Path, lines: Iterator[bytes]) -> tuple[str, ArchiveHeader]:
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
            row = parse_exported_log_row(facts)
        except UNREADABLE:
            raise BadArchive(f"{path}: event {number} cannot be read") from None
        yield row, facts


def _archived_lines_of(path: Path) -> Generator[bytes]:
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
