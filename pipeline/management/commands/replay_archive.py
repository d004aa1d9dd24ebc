"""`manage.py replay_archive`: print a job's line at a past moment, from its archived log alone."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from pipeline.audit.archive import BadArchive, replay_archived_log
from pipeline.domain.errors import FutureMoment, NoSuchMoment


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Verify an archived log and print the line at its end, after an event or at a time, as "
        "JSON. Needs no database. If the file is not sound, name the first bad event and exit "
        "with 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        moment = parser.add_mutually_exclusive_group()
        moment.add_argument("--seq", type=int, help="the line after this event")
        moment.add_argument(
            "--at",
            type=datetime.fromisoformat,
            metavar="TIME",
            help="the line at this time, such as 2026-11-24T09:00:00Z",
        )

    def handle(self, *, file: Path, seq: int | None, at: datetime | None, **_: Any) -> None:
        if at and at.tzinfo is None:
            raise CommandError("Add the time zone to the time, such as Z for UTC.")
        try:
            line = replay_archived_log(file, seq=seq, as_of=at)
        except BadArchive as error:
            raise CommandError(str(error)) from None
        except NoSuchMoment:
            raise CommandError("That is before the job's first event.") from None
        except FutureMoment:
            raise CommandError("The archived log has no such event.") from None
        facts = dataclasses.asdict(line)
        facts.pop("next_after")  # of pages only
        self.stdout.write(json.dumps(facts, cls=DjangoJSONEncoder, indent=2))
