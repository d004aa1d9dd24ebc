"""Log rows before they are written: their canonical form and the chain of hashes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

# The previous hash of each log's first row.
GENESIS = bytes(32)


@dataclass(slots=True, kw_only=True)
class LogEntry:
    """One log row. `sealed` chains it to the row before."""

    job_id: UUID
    seq: int
    application_id: UUID | None
    event: str
    from_status: str | None
    to_status: str | None
    outcome: str | None
    actor_kind: str
    actor_id: UUID | None
    cause_seq: int | None
    policy_version: int
    at: datetime
    effective_at: datetime
    data: dict[str, Any]
    prev_hash: bytes
    hash: bytes = b""

    def sealed(self) -> LogEntry:
        """Return this row with its hash."""
        self.hash = chained_hash(self.prev_hash, self)
        return self


def logged_time(moment: datetime) -> str:
    """Format a time as the log's data holds it: in UTC, always with six digits of microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def parse_logged_time(text: str | None) -> datetime | None:
    """Parse a time that `logged_time` formatted."""
    return None if text is None else datetime.fromisoformat(text)


def chained_hash(prev_hash: bytes, row: Any) -> bytes:
    """Return the SHA-256 of the previous hash and the canonical form of this LogEntry or Event."""
    return sha256(prev_hash + canonical_row(row)).digest()


def canonical_row(row: Any) -> bytes:
    """Encode what a row's hash covers: every field except the row's id and the two hashes.

    Sorted keys, no spaces, UTF-8, whole numbers, times in UTC with microseconds, no floats.
    """
    at = logged_time(row.at)
    facts = {
        "actor_id": _logged_id(row.actor_id),
        "actor_kind": row.actor_kind,
        "application": _logged_id(row.application_id),
        "at": at,
        "cause_seq": row.cause_seq,
        "data": row.data,
        "effective_at": at if row.effective_at is row.at else logged_time(row.effective_at),
        "event": row.event,
        "from_status": row.from_status,
        "job": str(row.job_id),
        "outcome": row.outcome,
        "policy_version": row.policy_version,
        "seq": row.seq,
        "to_status": row.to_status,
    }
    return _to_json(facts).encode()


def exported_row(row: Any) -> dict[str, Any]:
    """Return a row as exported: the fields that its hash covers, as hashed, and the two hashes."""
    hashes = {"prev_hash": bytes(row.prev_hash).hex(), "hash": bytes(row.hash).hex()}
    exported: dict[str, Any] = json.loads(canonical_row(row)) | hashes
    return exported


def parse_exported_row(row: dict[str, Any]) -> LogEntry:
    """Return the row that `exported_row` exported. Raises KeyError, TypeError or ValueError."""
    values: dict[str, Any] = {name: row[name] for name in _EXPORTED_AS_THEY_ARE}
    values |= {name: datetime.fromisoformat(row[name]).astimezone(UTC) for name in _TIMES}
    values |= {name: bytes.fromhex(row[name]) for name in ("prev_hash", "hash")}
    ids = {"job_id": row["job"], "application_id": row["application"], "actor_id": row["actor_id"]}
    values |= {name: None if value is None else UUID(value) for name, value in ids.items()}
    return LogEntry(**values)


_TIMES = ("at", "effective_at")
_EXPORTED_AS_THEY_ARE = (
    "seq event from_status to_status outcome actor_kind cause_seq policy_version data"
).split()
_to_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def _logged_id(value: UUID | None) -> str | None:
    return None if value is None else str(value)
