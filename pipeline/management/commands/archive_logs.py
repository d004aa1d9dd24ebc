"""`manage.py archive_logs`: write the logs of closed jobs to files outside the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from pipeline.audit.archive import ArchiveBusy, archive_logs
from pipeline.wording.english import count

MOST_DAYS = 36_500


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Write the log of each job that closed some time ago to a compressed file, verify the file,"
        " and leave out the logs that are already there. The events stay in the database. If a log "
        "cannot be archived, or a file was lost, name it, go on with the others and exit with 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--folder",
            type=Path,
            default=settings.ARCHIVE_DIR,
            help="folder of the archive (ARCHIVE_DIR: %(default)s)",
        )
        parser.add_argument(
            "--after-days",
            type=int,
            default=settings.ARCHIVE_AFTER_DAYS,
            metavar="DAYS",
            help="how long ago a job must have closed (%(default)s)",
        )

    def handle(self, *, folder: Path | None, after_days: int, **_: Any) -> None:
        if not 0 <= after_days <= MOST_DAYS:
            raise CommandError(f"--after-days must be from 0 to {MOST_DAYS:,}.")
        if folder is None:
            raise CommandError("Set ARCHIVE_DIR, or name a folder with --folder.")
        try:
            written, _left_out, problems = archive_logs(folder, after_days=after_days)
        except ArchiveBusy:
            raise CommandError(
                "Another run is writing the archive. Wait until it has finished."
            ) from None
        except OSError as error:
            raise CommandError(f"The archive cannot be written: {error}.") from None
        for problem in problems:
            self.stdout.write(problem)
        if problems:
            raise CommandError(f"{count(len(problems), 'problem')} with the archive: {problems[0]}")
        self.stdout.write(self.style.SUCCESS(f"{count(written, 'log')} archived in {folder}."))
