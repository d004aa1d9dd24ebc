"""Receipts: an application's present place, bound to the whole log so far, and signed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import cache

from jobs.models import Job
from pipeline.audit.heavy_reads import LONG_LOG, take_turn_for_heavy_read
from pipeline.database.instants import one_instant
from pipeline.domain.errors import ReceiptNotReady
from pipeline.line.event_log import logged_time
from pipeline.line.removed_logs import refuse_removed_log
from pipeline.models import Event
from pipeline.receipts.keys import sign_receipt_with_key
from pipeline.receipts.opaque_log import FIRST_DIGEST, extended_opaque_digest, opaque_rows
from pipeline.selectors.applications import SeenApplication, read_application

VERSION = 1
# The most events that one request reads. The next request continues from there.
MOST_EVENTS = 50_000


def issue_receipt(application_id: UUID) -> dict[str, Any]:
    """Return a signed receipt of an application, as of one instant.

    Only the events since the job's last receipt are read. Raises ReceiptNotReady if there are too
    many for one request, LogReadersBusy, ApplicationNotFound, LogArchived.
    """
    job_id = read_application(application_id).application.job_id
    key = f"log_digest:{job_id}"
    known: tuple[int, str, str] | None = cache.get(key)
    with one_instant():
        seen = read_application(application_id)
        job = Job.objects.get(id=job_id)
        reached, digest = _digest_of_log_in_receipt(job, known)
        if not reached:
            refuse_removed_log(job_id)
        last = Event.objects.filter(job_id=job_id, seq=reached).values_list("hash", flat=True)
        head = bytes(last.get()).hex()
    if known is None or known[0] != reached or known[1] != digest.hex():
        cache.set(key, (reached, digest.hex(), head), timeout=None)
    if reached < job.seq:
        raise ReceiptNotReady(done=reached, events=job.seq)
    return sign_receipt_with_key(receipt_facts(seen, job, digest))


def receipt_facts(seen: SeenApplication, job: Job, digest: bytes) -> dict[str, Any]:
    """Return the facts of a receipt: only whole numbers and texts, so that it can be signed.

    `job` and `digest` are as of the event after which the application was read.
    """
    row = seen.application
    waits = row.ticket is not None and not job.awaits_draw  # before a draw, nobody has a place
    return {
        "kind": "receipt",
        "version": VERSION,
        "issuer": settings.SITE_URL,
        "job": str(job.id),
        "application": str(row.id),
        "status": str(row.status),
        "outcome": row.outcome and str(row.outcome),
        "order_key": {"ticket": row.ticket, "tie": row.tie} if waits else None,
        "position": seen.position,
        "people_waiting": seen.people_waiting,
        "misses": row.decay_count,
        "deadline": row.acknowledge_by and logged_time(row.acknowledge_by),
        "seq": job.seq,
        "chain_head": bytes(job.chain_head).hex(),
        "log_digest": digest.hex(),
        "policy_version": job.policy_version,
        "issued_at": logged_time(seen.now),
        "test": job.is_test,
    }


def _digest_of_log_in_receipt(job: Job, known: tuple[int, str, str] | None) -> tuple[int, bytes]:
    """Extend the digest of the last receipt; return how far it reached, and the digest.

    Starts again if the log no longer holds the event at which that digest ended.
    """
    reached, digest = 0, FIRST_DIGEST
    if known is not None and known[0] <= job.seq:
        seq, so_far, head = known
        if Event.objects.filter(job_id=job.id, seq=seq, hash=bytes.fromhex(head)).exists():
            reached, digest = seq, bytes.fromhex(so_far)
    if job.seq - reached > LONG_LOG:
        take_turn_for_heavy_read(job.company_id)
    upto = min(job.seq, reached + MOST_EVENTS)
    for row in opaque_rows(job.id, after=reached, upto=upto):
        reached, digest = row["seq"], extended_opaque_digest(digest, row)
    return reached, digest
