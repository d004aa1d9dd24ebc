"""`manage.py verify_log`: verify the logs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.models import Job
from pipeline.audit.verify import verify_job
from pipeline.domain.errors import JobNotFound


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the others read every address
    help = (
        "Check every job's log (or those named): the chain of hashes, gaps, legal moves, and "
        "replay against the live rows and counters. Exits with 1 and names the first bad row. "
        "Changes nothing and blocks no other process."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("job_ids", nargs="*", type=UUID, metavar="JOB_ID")

    def handle(self, *, job_ids: list[UUID], **_: Any) -> None:
        ids: Iterable[UUID] = job_ids or Job.objects.order_by("id").values_list("id", flat=True)
        checked, bad = 0, 0
        for job_id in ids:
            try:
                verdict = verify_job(job_id)
            except JobNotFound:
                raise CommandError(f"There is no job {job_id}.") from None
            checked += 1
            if verdict.is_sound:
                head = f"{verdict.head_seq} events, head {verdict.head_hash}"
                self.stdout.write(f"{job_id}: ok, {head}")
                continue
            bad += 1
            where = f", first bad row: seq {verdict.first_bad_seq}" if verdict.first_bad_seq else ""
            self.stdout.write(f"{job_id}: chain {verdict.chain}{where}")
            for difference in verdict.differences:
                self.stdout.write(f"  {difference}")
        if bad:
            raise CommandError(f"{bad} of {checked} logs are not sound.")
        self.stdout.write(self.style.SUCCESS(f"All is well: {checked} logs verified."))
