"""Findings about logs that are in the archive alone."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from pipeline.audit import archive
from pipeline.management.doctor.findings import Finding, found_ok, found_problem, found_warning
from pipeline.models import RemovedLog
from pipeline.wording.english import count


def check() -> Iterator[Finding]:
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
