"""Manifest of an archive: the files that it must have, each with its number of events and head.

A line is JSON with the SHA-256 of the line before it, so that only the last lines can be removed
without notice. A file gets its name and its line while its writer holds the manifest.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from pipeline.audit.anchors import write_anchors
from pipeline.audit.archived_log import UNREADABLE, ArchiveHeader, BadArchive

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


def append_to_manifest(file: int, header: ArchiveHeader) -> None:
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
    write_anchors(file, json.dumps(facts, separators=(",", ":"), sort_keys=True).encode() + b"\n")


def manifest_of(folder: Path) -> Noted:
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
