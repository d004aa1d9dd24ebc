"""Verification of a log: nothing changed, missing, inserted or reordered, and the rows agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection, transaction

from jobs.models import Job
from pipeline.audit.heavy_reads import LONG_LOG, take_turn_for_heavy_read
from pipeline.audit.log_fold import BadRow, LogFold
from pipeline.audit.reconciliation import reconcile
from pipeline.database.replica import reads_replica
from pipeline.domain.errors import JobNotFound, VerifierBusy
from pipeline.line.removed_logs import refuse_removed_log
from pipeline.models import Event
from tasks.advisory_locks import VERIFY_TURN

MOST_DIFFERENCES = 100
# Limit of logs verified at once with `in_turn`, across all processes.
TURNS = 2


@dataclass(slots=True)
class Verdict:
    """Result of verifying a job's log. `differences` are sentences, earliest first.

    `known` tells whether the noted hash is that of the noted seq; None without a note.
    """

    chain: str
    first_bad_seq: int | None
    head_seq: int
    head_hash: str
    differences: list[str] = field(default_factory=list)
    known: bool | None = None

    @property
    def replay_matches(self) -> bool:
        """Tell whether the live rows equal the sum of the log."""
        return not self.differences

    @property
    def is_sound(self) -> bool:
        """Tell whether the chain is intact and the rows agree."""
        return self.chain == "ok" and self.replay_matches


@reads_replica
def verify_job(
    job_id: UUID, *, noted: tuple[int, str] | None = None, in_turn: bool = False
) -> Verdict:
    """Check a job's whole chain, then compare its live rows with the sum of the log.

    `noted`: a seq and the hash (hex) that a reader noted earlier. Log and rows are read as of one
    instant, without blocking anything. With `in_turn`, at most TURNS verifications run at once
    across all processes; more raise VerifierBusy. Only one of a company's long logs is verified at
    a time; more raise LogReadersBusy. Raises JobNotFound, LogArchived.
    """
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # it locks nothing
        job = Job.objects.filter(id=job_id).first()
        if job is None:
            raise JobNotFound
        if not Event.objects.filter(job_id=job_id).exists():
            refuse_removed_log(job_id)
        if in_turn:
            _take_turn_to_verify()
            if job.seq > LONG_LOG:
                take_turn_for_heavy_read(job.company_id)
        verdict = Verdict("ok", None, job.seq, bytes(job.chain_head).hex())
        fold = LogFold(job_id)
        try:
            _verify_events(fold, job)
            verdict.differences = reconcile(fold, job)[:MOST_DIFFERENCES]
        except BadRow as bad:
            verdict.chain, verdict.first_bad_seq = "broken", bad.seq
            verdict.differences = [f"seq {bad.seq}: {bad}"]
        if noted:
            seq, digest = noted
            rows = Event.objects.filter(job_id=job_id, seq=seq).values_list("hash", flat=True)
            row = rows.first()
            verdict.known = row is not None and bytes(row).hex() == digest.lower()
        return verdict


def _take_turn_to_verify() -> None:
    with connection.cursor() as cursor:
        for turn in range(TURNS):
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [VERIFY_TURN, turn])
            if cursor.fetchone()[0]:
                return
    raise VerifierBusy


def _verify_events(fold: LogFold, job: Job) -> None:
    """Fold the whole log and compare its end with the job's seq and chain head. Raises BadRow."""
    for event in Event.objects.filter(job_id=job.id).order_by("seq").iterator(chunk_size=2_000):
        fold.fold_event(event)
    if not fold.seq:
        raise BadRow(1, "the log is empty; it must start with JOB_CREATED")
    if fold.seq != job.seq:
        first_missing = min(fold.seq, job.seq) + 1
        raise BadRow(first_missing, f"the log ends at {fold.seq}, the job's row at {job.seq}")
    if fold.head != bytes(job.chain_head):
        raise BadRow(job.seq, "the job's row holds another chain head")
    fold.refuse_unfinished()
