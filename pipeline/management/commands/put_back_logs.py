"""`manage.py put_back_logs`: bring logs that were removed back from the archive."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from pipeline.audit.archive import ArchiveBusy, BadArchive
from pipeline.audit.removal import LogNotRemovableError, put_back_log
from pipeline.wording.english import count


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Put the events of jobs back that remove_archived_logs has removed, each as it was, after "
        "verifying the file. Uses MIGRATION_DATABASE_URL, if it is set. Goes on if a log cannot be "
        "put back, and exits with 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("job_ids", nargs="+", type=UUID, metavar="JOB_ID")
        parser.add_argument(
            "--folder",
            type=Path,
            default=settings.ARCHIVE_DIR,
            help="folder of the archive (ARCHIVE_DIR: %(default)s)",
        )

    def handle(self, *, job_ids: list[UUID], folder: Path | None, **_: Any) -> None:
        if folder is None:
            raise CommandError("Set ARCHIVE_DIR, or name a folder with --folder.")
        refused = 0
        for job_id in job_ids:
            try:
                events = put_back_log(folder, job_id)
            except ArchiveBusy:
                raise CommandError(
                    "Another run is using the archive. Wait until it has finished."
                ) from None
            except (LogNotRemovableError, BadArchive) as error:
                refused += 1
                self.stdout.write(f"{job_id} was not put back: {error}")
                continue
            self.stdout.write(self.style.SUCCESS(f"{job_id}: {count(events, 'event')} put back."))
        if refused:
            raise CommandError(f"{count(refused, 'log')} could not be put back.")
