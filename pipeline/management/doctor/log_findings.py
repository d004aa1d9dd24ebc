"""Findings about what guards the logs outside the database: anchors and the archive."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings

from pipeline.audit import anchors, archive
from pipeline.audit.anchors import BadAnchors, LastAnchor
from pipeline.management.doctor.findings import Finding, found_ok, found_problem, found_warning
from pipeline.models import RemovedLog
from pipeline.wording.english import count

# A task worker writes anchors every five minutes.
LATE = timedelta(hours=1)


def check_anchors() -> Iterator[Finding]:
    """Check the file as `check_file` does, and that it keeps up with the logs."""
    found = list(check_anchor_file())
    yield from found
    if any(finding.advice for finding in found):
        return
    last = _read_last_anchor()
    if not anchors.logs_grew(last and last.anchor, before=LATE):
        return
    noted = f"since the last anchor, from {last.anchor.at}" if last and last.anchor else "so far"
    yield found_warning(
        f"Anchors are late: the logs grew over an hour ago, but no anchor was written {noted}.",
        "Is a task worker running? See manage.py tasks list --type log.anchor. If several machines"
        " have task workers, the newest anchors can be on another one. On a machine without task"
        " workers, add --skip anchors.",
    )


def check_anchor_file() -> Iterator[Finding]:
    """Check that this process can write the anchors, and that the last line is as it was signed."""
    path, key = settings.ANCHOR_FILE, settings.ANCHOR_KEY_FILE
    for name, file in (("ANCHOR_FILE", path), ("ANCHOR_KEY_FILE", key)):
        # The first anchor creates the file, and the folder with its parents.
        there = next(each for each in (file, *file.parents) if each.exists())
        if not os.access(there, os.W_OK) or (there != file and not there.is_dir()):
            yield found_problem(
                f"{name} cannot be written: {file}.",
                "Give the task workers' user this path, or set another. On a machine without task"
                " workers, add --skip anchors.",
            )
            return
    try:
        last = _read_last_anchor()
    except BadAnchors as error:
        yield found_problem(
            f"The anchors cannot be examined: {error}",
            "Put back the file and the key that belong together, or move both away but keep them.",
        )
        return
    if last is None or last == LastAnchor(None, "", is_cut_off=False):
        yield found_ok(f"No anchor has been written to {path} yet.")
    else:
        yield _check_last_anchor(last)


def _read_last_anchor() -> LastAnchor | None:
    """Return the end of the file; None if there is no file. Raises BadAnchors."""
    if not settings.ANCHOR_FILE.exists():
        return None
    return anchors.read_last(settings.ANCHOR_FILE, settings.ANCHOR_KEY_FILE)


def _check_last_anchor(last: LastAnchor) -> Finding:
    path = settings.ANCHOR_FILE
    if last.fault:
        return found_problem(
            f"The last line of the anchors {last.fault}, so none is written any more: {path}.",
            "Keep the file, find out who changed it, and move it away: a new one then begins with"
            " the heads of all logs.",
        )
    before = (
        f"The last whole anchor is from {last.anchor.at}." if last.anchor else "It is the first."
    )
    if last.is_cut_off:
        return found_warning(
            f"The last line of the anchors is cut off, as by a crash: {path}. {before}",
            "The next run of log.anchor replaces it. If this line stays, is a task worker running?",
        )
    kilobytes = path.stat().st_size // 1_000
    return found_ok(f"Anchors are written to {path}, {kilobytes} kB so far. {before}")


# Findings about logs that are in the archive alone.


def check_archive() -> Iterator[Finding]:
    """Check that the file of each removed log is there. Says nothing if none was removed."""
    removed = RemovedLog.objects.count()
    if not removed:
        return
    logs = count(removed, "removed log")
    if settings.ARCHIVE_DIR is None:
        yield found_warning(
            f"There must be files of {logs}, but ARCHIVE_DIR is not set here.",
            "Run doctor where the archive is, or add --skip archive on this machine.",
        )
    elif lost := archive.find_lost_files(settings.ARCHIVE_DIR):
        yield found_problem(
            f"Of {logs}, {count(len(lost), 'file')} cannot be found. {lost[0]}.",
            "Bring the files back from your copy of the archive; nothing can write them again.",
        )
    else:
        yield found_ok(f"The archive has a file for {logs}. verify_log --archive examines them.")
