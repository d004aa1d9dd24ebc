"""`manage.py remove_restored_attachments`: remove files again that a restore brought back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from pipeline.attachments import storage, uploads
from pipeline.models import Attachment
from pipeline.wording.english import count

BATCH = 1_000


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Remove the applicants' files in a list (ATTACHMENT_REMOVALS_FILE) that are back after a "
        "restore. Files that are not there are skipped, so it can be repeated."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the list that the task workers wrote")

    def handle(self, *, file: Path, **_: Any) -> None:
        try:
            lines = file.read_text(encoding="ascii").splitlines()
            ids = [json.loads(line)["id"] for line in lines if line]
        except (OSError, ValueError, KeyError) as error:
            raise CommandError(f"{file} cannot be read: {error}") from None
        removed = 0
        for start in range(0, len(ids), BATCH):
            back = Attachment.objects.filter(id__in=ids[start : start + BATCH])
            removed += back.count()
            uploads.forget(back)
        while storage.remove_due():
            pass
        self.stdout.write(self.style.SUCCESS(f"{count(removed, 'file')} removed again."))
