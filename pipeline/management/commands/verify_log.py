"""`manage.py verify_log`: verify the logs of jobs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.models import Job
from pipeline.audit import anchor_comparison
from pipeline.audit.anchors import BadAnchors
from pipeline.audit.archive import count_missing_archives, find_archive_problems
from pipeline.audit.verify import verify_job
from pipeline.database import replica
from pipeline.domain.errors import JobNotFound, LogArchived
from pipeline.models import RemovedLog
from pipeline.wording.english import count

NIGHTS = 2  # within which a log is archived that is due


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Check the log of every job, or of the given jobs: its hash chain, gaps and moves, and "
        "whether a replay gives the live rows and counters. With --anchors, also compare it with "
        "the signed heads kept outside the database; with --archive, also verify the archived logs "
        "and compare them. If something is wrong, name the first bad row and exit with 1. Changes "
        "nothing and blocks no other process."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("job_ids", nargs="*", type=UUID, metavar="JOB_ID")
        parser.add_argument("--anchors", type=Path, metavar="FILE", help="file with the anchors")
        parser.add_argument(
            "--key",
            type=Path,
            default=settings.ANCHOR_KEY_FILE,
            metavar="FILE",
            help="key of the anchors, or only its public half (%(default)s)",
        )
        parser.add_argument("--archive", type=Path, metavar="FOLDER", help="the archived logs")

    def handle(
        self,
        *,
        job_ids: list[UUID],
        anchors: Path | None,
        key: Path,
        archive: Path | None,
        **_: Any,
    ) -> None:
        with replica.primary_only():  # a sound replica says nothing about what the primary holds
            failures = [self._verify_logs(job_ids, archive)]
            if anchors:
                failures.append(self._compare_log_with_anchors(anchors, key, job_ids, archive))
            if archive:
                failures.append(self._verify_archived_logs(archive, job_ids))
        if any(failures):
            raise CommandError(" ".join(each for each in failures if each))

    def _compare_log_with_anchors(
        self, anchors: Path, key: Path, job_ids: list[UUID], archive: Path | None
    ) -> str:
        """Compare the logs with the anchors; return the failure, or "" if there is none."""
        try:
            compared, problems = anchor_comparison.compare(
                anchors, key, job_ids=job_ids, archive=archive
            )
        except BadAnchors as error:
            return str(error)
        for problem in problems:
            self.stdout.write(problem)
        if problems:
            return f"The anchors do not agree: {problems[0]}"
        self.stdout.write(self.style.SUCCESS(f"The logs agree with all {compared} anchors."))
        return ""

    def _verify_archived_logs(self, folder: Path, job_ids: list[UUID]) -> str:
        """Verify the archived logs; return the failure, or "" if there is none."""
        if not folder.is_dir():
            return f"There is no folder {folder}."
        files, problems = find_archive_problems(folder, job_ids=job_ids)
        for problem in problems:
            self.stdout.write(problem)
        if problems:
            return f"{len(problems)} of {files} archived logs do not agree: {problems[0]}"
        days = settings.ARCHIVE_AFTER_DAYS + NIGHTS
        if not job_ids and (missing := count_missing_archives(folder, after_days=days)):
            self.stdout.write(self.style.WARNING(f"{count(missing, 'closed job')} not in it yet."))
        self.stdout.write(
            self.style.SUCCESS(
                f"{count(files, 'archived log')} verified: sound, as in the database."
            )
        )
        return ""

    def _verify_logs(self, job_ids: list[UUID], archive: Path | None) -> str:
        """Verify the logs; return the failure, or "" if there is none."""
        ids: Iterable[UUID] = job_ids or Job.objects.order_by("id").values_list("id", flat=True)
        checked, bad, removed = 0, 0, 0
        for job_id in ids:
            try:
                verdict = verify_job(job_id)
            except JobNotFound:
                raise CommandError(f"There is no job {job_id}.") from None
            except LogArchived:
                removed += 1
                bad += self._is_other_than_removed(job_id)
                continue
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
        if removed and not archive:
            where = f"{count(removed, 'log')} in the archive alone. Verify with --archive FOLDER."
            self.stdout.write(self.style.WARNING(where))
        if bad:
            return f"{bad} of {checked + removed} logs are not sound."
        self.stdout.write(self.style.SUCCESS(f"All is well: {count(checked, 'log')} verified."))
        return ""

    def _is_other_than_removed(self, job_id: UUID) -> bool:
        """Compare the row of a job with the record of its removed log, and say what is found."""
        job, record = Job.objects.get(id=job_id), RemovedLog.objects.get(job_id=job_id)
        same = (job.seq, bytes(job.chain_head)) == (record.events, bytes(record.head))
        on = f"removed on {record.removed_at:%-d %B %Y}"
        if same:
            head = f"{record.events} events, head {bytes(record.head).hex()}"
            self.stdout.write(f"{job_id}: in the archive, {on}, {head}")
        else:
            self.stdout.write(f"{job_id}: the job's row is not as the log that was {on}")
        return not same
