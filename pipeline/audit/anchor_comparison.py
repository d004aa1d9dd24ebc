"""Comparison of the logs with their anchors, also of logs that are in the archive alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from uuid import UUID

from pipeline.audit.anchors import Anchor, public_anchor_key, read_anchors
from pipeline.audit.archive import BadArchive, archived_log_path, read_archived_rows
from pipeline.models import Event, RemovedLog

MOST_PROBLEMS = 20
SEQS_AT_ONCE = 5_000


def compare(
    path: Path, key_path: Path, *, job_ids: Collection[UUID] = (), archive: Path | None = None
) -> tuple[int, list[str]]:
    """Compare the logs with a file of anchors; return how many were compared, and the problems.

    A problem names a line of the file that is not as it was signed, or the first seq of a job that
    differs from its anchor. A log that was removed from the database is read from the folder of the
    archive; without one, only its last event is compared, which is kept. Raises BadAnchors.
    """
    anchors: dict[UUID, list[Anchor]] = defaultdict(list)
    problems = []
    for anchor, problem in read_anchors(path, public_anchor_key(key_path)):
        if problem:
            problems.append(problem)
        elif anchor and (not job_ids or anchor.job_id in job_ids):
            anchors[anchor.job_id].append(anchor)
    removed = {each.pk: each for each in RemovedLog.objects.filter(pk__in=list(anchors))}
    compared = 0
    for job_id, found in anchors.items():
        if record := removed.get(job_id):
            hashes = _removed_log_hashes(record, archive)
            known = [each for each in found if archive or each.seq in hashes]
        else:
            hashes, known = _log_hashes(job_id, [anchor.seq for anchor in found]), found
        compared += len(known)
        problems += _first_difference(job_id, known, hashes)
    return compared, problems[:MOST_PROBLEMS]


def _log_hashes(job_id: UUID, seqs: list[int]) -> dict[int, str]:
    hashes: dict[int, str] = {}
    for start in range(0, len(seqs), SEQS_AT_ONCE):
        some = Event.objects.filter(job_id=job_id, seq__in=seqs[start : start + SEQS_AT_ONCE])
        hashes |= {seq: bytes(digest).hex() for seq, digest in some.values_list("seq", "hash")}
    return hashes


def _removed_log_hashes(record: RemovedLog, archive: Path | None) -> dict[int, str]:
    if archive is None:
        return {record.events: bytes(record.head).hex()}
    try:
        rows = read_archived_rows(archived_log_path(archive, record.pk))
        return {row.seq: row.hash.hex() for row in rows}
    except BadArchive:  # its verification says why
        return {}


def _first_difference(job_id: UUID, anchors: list[Anchor], hashes: dict[int, str]) -> list[str]:
    """Name the first anchored seq at which the log now differs; empty if there is none."""
    good = 0
    for anchor in sorted(anchors, key=lambda each: each.seq):
        found = hashes.get(anchor.seq)
        if found == anchor.hash:
            good = anchor.seq
            continue
        now = f"now it has {found[:16]}…" if found else "now there is none"
        return [
            f"{job_id}: seq {anchor.seq} is not what was anchored at {anchor.at}: it had"
            f" {anchor.hash[:16]}…, {now}. The change is in seq {good + 1} to {anchor.seq}."
        ]
    return []
