"""`manage.py remove_archived_logs`: take the logs of jobs that ended long ago off the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from pipeline.audit.archive import ArchiveBusy, BadArchive
from pipeline.audit.removal import FEWEST_DAYS, USUAL_DAYS, remove_archived_logs
from pipeline.wording.english import count

MOST_DAYS = 36_500


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Remove the events of jobs that ended long ago from the database, if the archive has them: "
        "the log and its file are verified before, and the file must be as the manifest says. Each "
        "log is removed whole, in a transaction of its own. Afterwards its timeline, replay, "
        "figures and receipts say that it is in the archive; put_back_logs undoes that. Uses "
        "MIGRATION_DATABASE_URL, if it is set. Goes on if a log cannot be removed, and exits "
        "with 1."
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
            default=USUAL_DAYS,
            metavar="DAYS",
            help=f"days since a job's last event, at least {FEWEST_DAYS} (%(default)s)",
        )
        parser.add_argument(
            "--most", type=int, metavar="LOGS", help="how many logs at most; usually all"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="check everything, and remove nothing"
        )

    def handle(
        self,
        *,
        folder: Path | None,
        after_days: int,
        most: int | None,
        dry_run: bool,
        **_: Any,
    ) -> None:
        self._refuse_wrong_options(after_days, most)
        if folder is None:
            raise CommandError("Set ARCHIVE_DIR, or name a folder with --folder.")
        try:
            done = remove_archived_logs(folder, after_days=after_days, most=most, dry_run=dry_run)
        except ArchiveBusy:
            raise CommandError(
                "Another run is using the archive. Wait until it has finished."
            ) from None
        except (BadArchive, OSError) as error:
            raise CommandError(f"Nothing was removed: {error}") from None
        for sentence in done.refused:
            self.stdout.write(sentence)
        would = "would be " if dry_run else ""
        found = f"{count(done.logs, 'log')} {would}removed, with {count(done.events, 'event')}."
        self.stdout.write(self.style.SUCCESS(found))
        if done.refused:
            raise CommandError(f"{count(len(done.refused), 'log')} could not be removed.")

    def _refuse_wrong_options(self, after_days: int, most: int | None) -> None:
        if not FEWEST_DAYS <= after_days <= MOST_DAYS:
            raise CommandError(
                f"--after-days must be from {FEWEST_DAYS} to {MOST_DAYS:,}: figures of a company"
                " go back half a year."
            )
        if most is not None and most < 1:
            raise CommandError("--most must be at least 1.")
