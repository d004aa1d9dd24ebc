"""Receipts: the log without names, its digest, and the keys that sign.

People have opaque ids. The log does not say how other people left, what was asked and answered
about that, or who acted. But each row holds the hash of the full event, so a later change of an
omitted part changes the digest too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.core.cache import cache as shared_cache

from jobs.models import Job
from pipeline.audit.verify import LONG_LOG, claim_heavy_read
from pipeline.config.keys import receipt_key_id
from pipeline.database.instants import snapshot
from pipeline.domain import draw
from pipeline.domain.contests import OF_CONTESTS
from pipeline.domain.errors import ReceiptNotReady
from pipeline.domain.place import PLACE
from pipeline.domain.states import OF_ANSWERS, EventType
from pipeline.line import removed_logs
from pipeline.line.event_log import logged_time
from pipeline.models import Event, ReceiptKey
from pipeline.selectors.applications import SeenApplication, read_application

# The digest of a log without rows.
FIRST_DIGEST = bytes(32)
AT_ONCE = 2_000

# The part of an event's data that is about the line. Everything else is left out.
SHOWN = frozenset(
    "places missed active pending waiting unverified next_ticket status capacity policy"
    " planned_seats_id draw_at seed algorithm drawn exception people_passed from_ticket"
    " from_tie reserved_seats reserved_for reserved_until reserved_taken".split()
).union(each.notes.name or name for name, each in PLACE.items() if not each.notes.is_private)
# One word for the events that end an application by a decision of either side.
LEFT = "LEFT"
_DECISIONS = (EventType.WITHDRAWN, EventType.REMOVED, EventType.CLOSED_OUT)
# One word for requests to look again and their answers, and one for answers to questions: neither
# concerns the order.
NOTED, ANSWERED = "NOTED", "ANSWERED"

_WORDS: dict[str, str] = {
    **dict.fromkeys(_DECISIONS, LEFT),
    **dict.fromkeys(OF_CONTESTS, NOTED),
    **dict.fromkeys(OF_ANSWERS, ANSWERED),
    EventType.GROUP_NOTED: ANSWERED,  # who is of a group is nobody's business
}

_COLUMNS = "seq event application_id from_status to_status cause_seq policy_version at data hash"


class _LoggedEvent(NamedTuple):
    seq: int
    event: str
    application_id: UUID | None
    from_status: str | None
    to_status: str | None
    cause_seq: int | None
    policy_version: int
    at: datetime
    data: dict[str, Any]
    hash: bytes


def opaque_rows(job_id: UUID, *, after: int, upto: int) -> Iterator[dict[str, Any]]:
    """Yield the rows after a seq, up to another one, with one query per AT_ONCE rows.

    Raises LogArchived.
    """
    while after < upto:
        part = Event.objects.filter(job_id=job_id, seq__gt=after, seq__lte=upto).order_by("seq")
        found = list(part.values_list(*_COLUMNS.split())[:AT_ONCE])
        for columns in found:
            yield _opaque_row(job_id, _LoggedEvent(*columns))
        if not found:  # the log is shorter than its job says: the verification names that
            removed_logs.refuse(job_id)
            return
        after = found[-1][0]


def extended_opaque_digest(digest: bytes, row: dict[str, Any]) -> bytes:
    """Return the digest of a log after one more row."""
    return sha256(digest + bytes.fromhex(row["leaf"])).digest()


def _opaque_row(job_id: UUID, event: _LoggedEvent) -> dict[str, Any]:
    shown = _WORDS.get(event.event, event.event)
    row: dict[str, Any] = {
        "seq": event.seq,
        "event": shown,
        "application": event.application_id and draw.opaque_id(job_id, event.application_id),
        "from_status": event.from_status,
        "to_status": event.to_status,
        "cause_seq": event.cause_seq,
        "policy_version": event.policy_version,
        "at": logged_time(event.at),
        "data": {name: value for name, value in event.data.items() if name in SHOWN},
        "hash": bytes(event.hash).hex(),
    }
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return row | {"leaf": sha256(text.encode()).hexdigest()}


# Keys that sign receipts: one that signs, and the public halves that verifiers accept.


KEY_BYTES = 32
RECORD_SECONDS = 3_600.0


class PublicKey(NamedTuple):
    """Public half of a key that signs receipts, or that has signed some."""

    id: str
    raw: bytes
    is_current: bool


def sign_receipt(facts: dict[str, Any]) -> dict[str, Any]:
    """Return a receipt's facts with the id of the key and the signature of everything else."""
    key = _key(settings.RECEIPT_KEY, settings.SECRET_KEY)
    named = facts | {"key": receipt_key_id(_raw_key(key.public_key()))}
    signature = key.sign(canonical_bytes(named))
    return named | {"signature": base64.b64encode(signature).decode()}


def canonical_bytes(facts: dict[str, Any]) -> bytes:
    """Encode what a receipt's signature covers: sorted keys, no spaces, UTF-8, no floats."""
    return json.dumps(
        facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def public_receipt_keys() -> list[PublicKey]:
    """Return the public keys, the current one first; earlier ones verify earlier receipts.

    Those derived from secret keys count as earlier ones once RECEIPT_KEY is set.
    """
    return _derive_public_keys([settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS])


def passing_keys() -> list[PublicKey]:
    """Return the keys that are published only while SECRET_KEY_FALLBACKS has their secret key."""
    lasting = _derive_public_keys([settings.SECRET_KEY])
    return [key for key in public_receipt_keys() if key not in lasting]


def _derive_public_keys(secret_keys: list[str]) -> list[PublicKey]:
    current = _key(settings.RECEIPT_KEY, settings.SECRET_KEY)
    former = [_key(b"", each) for each in secret_keys]
    raw = [_raw_key(key.public_key()) for key in (current, *former)]
    raw += settings.RECEIPT_FORMER_KEYS
    return [PublicKey(receipt_key_id(each), each, each == raw[0]) for each in dict.fromkeys(raw)]


def record_key() -> float:
    """Record the current key, so that `doctor` notices if it is forgotten later.

    Returns the seconds until the next time.
    """
    key = public_receipt_keys()[0]
    ReceiptKey.objects.bulk_create(
        [ReceiptKey(id=key.id, public_key=key.raw)], ignore_conflicts=True
    )
    return RECORD_SECONDS


@cache
def _key(seed: bytes, secret_key: str) -> Ed25519PrivateKey:
    """Return the key of RECEIPT_KEY, or else one derived from a secret key."""
    if not seed:
        derive = HKDF(SHA256(), length=KEY_BYTES, salt=None, info=b"next-in-line receipts")
        seed = derive.derive(secret_key.encode())
    return Ed25519PrivateKey.from_private_bytes(seed)


def _raw_key(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


# Receipts: an application's present place, bound to the whole log so far, and signed.


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
    known: tuple[int, str, str] | None = shared_cache.get(key)
    with snapshot():
        seen = read_application(application_id)
        job = Job.objects.get(id=job_id)
        reached, digest = _log_digest(job, known)
        if not reached:
            removed_logs.refuse(job_id)
        last = Event.objects.filter(job_id=job_id, seq=reached).values_list("hash", flat=True)
        head = bytes(last.get()).hex()
    if known is None or known[0] != reached or known[1] != digest.hex():
        shared_cache.set(key, (reached, digest.hex(), head), timeout=None)
    if reached < job.seq:
        raise ReceiptNotReady(done=reached, events=job.seq)
    return sign_receipt(collect_facts(seen, job, digest))


def collect_facts(seen: SeenApplication, job: Job, digest: bytes) -> dict[str, Any]:
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


def _log_digest(job: Job, known: tuple[int, str, str] | None) -> tuple[int, bytes]:
    """Extend the digest of the last receipt; return how far it reached, and the digest.

    Starts again if the log no longer holds the event at which that digest ended.
    """
    reached, digest = 0, FIRST_DIGEST
    if known is not None and known[0] <= job.seq:
        seq, so_far, head = known
        if Event.objects.filter(job_id=job.id, seq=seq, hash=bytes.fromhex(head)).exists():
            reached, digest = seq, bytes.fromhex(so_far)
    if job.seq - reached > LONG_LOG:
        claim_heavy_read(job.company_id)
    upto = min(job.seq, reached + MOST_EVENTS)
    for row in opaque_rows(job.id, after=reached, upto=upto):
        reached, digest = row["seq"], extended_opaque_digest(digest, row)
    return reached, digest
