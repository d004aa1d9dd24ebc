"""Site-wide tasks: write anchors every few minutes and archive logs every night."""

from __future__ import annotations

import time

from django.conf import settings
from django.db.models.functions import Now

from pipeline.audit.anchors import BadAnchors
from pipeline.audit.anchors import append as append_anchors
from pipeline.audit.archive import ArchiveBusy, archive_logs
from pipeline.models import Heartbeat
from pipeline.wording.english import count
from tasks.context import Context
from tasks.errors import Fatal
from tasks.models import HIGHEST_PRIORITY
from tasks.registry import task_type
from tasks.scheduling import schedules

KEY = "log.anchor"
EVERY_FIVE_MINUTES = "*/5 * * * *"


@task_type(key=KEY, owner="site", queue="upkeep", timeout_seconds=240, max_attempts=3, cap=1)
def anchor_logs() -> dict[str, int]:
    """Append the heads of all logs that have grown to the anchor file, and report their number."""
    try:
        anchors = append_anchors()
    except (OSError, BadAnchors) as error:
        raise Fatal(
            f"the anchors cannot be written (ANCHOR_FILE, ANCHOR_KEY_FILE): {error}"
        ) from None
    Heartbeat.objects.update_or_create(worker="anchors", defaults={"completed_at": Now()})
    return {"anchors": anchors}


def ensure_anchoring() -> None:
    """Create the schedule. Safe to call at every start and from many processes at once."""
    schedules.ensure("Anchors", EVERY_FIVE_MINUTES, KEY, priority=HIGHEST_PRIORITY)


ARCHIVE_KEY = "log.archive"
EVERY_NIGHT = "40 2 * * *"
# Verification holds everyone who ever applied in memory, and a task may use 512 MB. The command
# `archive_logs` archives longer logs.
LONGEST_IN_TASK = 100_000
STOP_SECONDS = 3_000


@task_type(
    key=ARCHIVE_KEY, owner="site", queue="upkeep", timeout_seconds=3_600, max_attempts=3, cap=1
)
def archive_old_logs(context: Context) -> dict[str, int]:
    """Archive the logs of jobs closed long ago, and report their number. Does nothing by default.

    After about STOP_SECONDS, the rest is left for the next night.
    """
    if settings.ARCHIVE_DIR is None:
        return {"archived": 0}
    stop_at = time.monotonic() + STOP_SECONDS
    try:
        written, left_out, problems = archive_logs(
            settings.ARCHIVE_DIR,
            after_days=settings.ARCHIVE_AFTER_DAYS,
            longest=LONGEST_IN_TASK,
            is_stopped=lambda: context.cancelled or time.monotonic() > stop_at,
        )
    except ArchiveBusy:  # the command is doing the same
        return {"archived": 0}
    except OSError as error:
        raise Fatal(f"the archive cannot be written (ARCHIVE_DIR): {error}") from None
    if problems:
        raise Fatal(f"{count(len(problems), 'problem')} with the archive: {problems[0]}")
    return {"archived": written, "too_long": left_out}


def ensure_archiving() -> None:
    """Create the schedule. Safe to call at every start and from many processes at once."""
    schedules.ensure("Archive of closed jobs' logs", EVERY_NIGHT, ARCHIVE_KEY)
