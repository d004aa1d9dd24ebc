"""A job's log for its applicants: every event, without names, and its digest.

People have opaque ids. The log does not say how other people left, what was asked and answered
about that, or who acted. But each row holds the hash of the full event, so a later change of an
omitted part changes the digest too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from pipeline.domain.contests import OF_CONTESTS
from pipeline.domain.draw import opaque_id_in_draw
from pipeline.domain.states import EventType
from pipeline.line.event_log import logged_time
from pipeline.line.removed_logs import refuse_removed_log
from pipeline.models import Event

# The digest of a log without rows.
FIRST_DIGEST = bytes(32)
AT_ONCE = 2_000

# The part of an event's data that is about the line. Everything else is left out.
SHOWN = frozenset(
    "ticket tie decay_count deadline eligible_at not_before verify_by places missed active pending"
    " passes_used pass_next passed_at"
    " waiting unverified next_ticket status capacity policy planned_seats_id draw_at seed algorithm"
    " drawn".split()
)
# One word for the events that end an application by a decision of either side.
LEFT = "LEFT"
_DECISIONS = (EventType.WITHDRAWN, EventType.REMOVED, EventType.CLOSED_OUT)
# One word for questions and answers about an end, which do not concern the order.
NOTED = "NOTED"

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
            refuse_removed_log(job_id)
            return
        after = found[-1][0]


def extended_opaque_digest(digest: bytes, row: dict[str, Any]) -> bytes:
    """Return the digest of a log after one more row."""
    return sha256(digest + bytes.fromhex(row["leaf"])).digest()


def _opaque_row(job_id: UUID, event: _LoggedEvent) -> dict[str, Any]:
    shown = LEFT if event.event in _DECISIONS else event.event
    row: dict[str, Any] = {
        "seq": event.seq,
        "event": NOTED if event.event in OF_CONTESTS else shown,
        "application": event.application_id and opaque_id_in_draw(job_id, event.application_id),
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
