"""Letting time pass. The database's clock decides everything, so the rows go into the past."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from pipeline.line.event_log import GENESIS, chained_hash, logged_time, parse_logged_time
from pipeline.models import Event

JOB_TIMES = ["last_event_at", "next_due_at", "created_at", "opened_at", "closed_at"]
JOB_TIMES += ["draw_at", "drawn_at", "opens_at", "closes_at", "reserved_until"]
APPLICATION_TIMES = [
    "eligible_at",
    "not_before",
    "accept_until",
    "passed_at",
    "acknowledge_by",
    "verify_by",
    "applied_at",
    "promoted_at",
    "acknowledged_at",
    "ended_at",
    "status_since",
]
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def let_time_pass(job_id: UUID, seconds: float) -> None:
    """Let this many seconds pass for one job: move all its times into the past.

    The log moves too and is chained again, so that it still verifies; hashes that a test noted
    earlier are no longer valid. This settles nothing. A draw by lot in the log then no longer fits
    its seed: to verify a line some time after its draw, move the clock of a sandbox.
    """
    past = timedelta(seconds=seconds)
    with transaction.atomic(), connection.cursor() as cursor:
        # Only here: the append-only trigger is off, for this transaction alone.
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("SELECT 1 FROM jobs_job WHERE id = %s FOR UPDATE", [job_id])
        _shift(cursor, "jobs_job", JOB_TIMES, "id", job_id, past)
        _shift(cursor, "jobs_jobposting", ["updated_at"], "job_id", job_id, past)
        _shift(cursor, "pipeline_application", APPLICATION_TIMES, "job_id", job_id, past)
        _shift(cursor, "pipeline_plannedseats", ["first_at", "next_at"], "job_id", job_id, past)
        times = ["asked_at", "answer_by", "answered_at"]
        _shift(cursor, "pipeline_contest", times, "job_id", job_id, past)
        _shift(cursor, "pipeline_lineexception", ["at"], "job_id", job_id, past)
        head = _shift_log(cursor, job_id, past)
        cursor.execute("UPDATE jobs_job SET chain_head = %s WHERE id = %s", [head, job_id])


def database_now() -> datetime:
    """Return the database's time, the only one that counts."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]


def _shift(
    cursor: Any, table: str, columns: list[str], key: str, job_id: UUID, past: timedelta
) -> None:
    changes = ", ".join(f"{column} = {column} - %(past)s" for column in columns)
    cursor.execute(
        f"UPDATE {table} SET {changes} WHERE {key} = %(job)s", {"past": past, "job": job_id}
    )


def _shift_log(cursor: Any, job_id: UUID, past: timedelta) -> bytes:
    head, rows = GENESIS, []
    for event in Event.objects.filter(job_id=job_id).order_by("seq"):
        event.at -= past
        event.effective_at -= past
        event.data = {name: _earlier(value, past) for name, value in event.data.items()}
        event.prev_hash, event.hash = head, chained_hash(head, event)
        head = event.hash
        rows.append(_columns_of(event))
    cursor.execute(_WRITE, [json.dumps(rows)])
    return head


def _earlier(value: Any, past: timedelta) -> Any:
    if isinstance(value, str) and STAMP.fullmatch(value):
        moment = parse_logged_time(value)
        assert moment is not None
        return logged_time(moment - past)
    return value


def _columns_of(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "at": event.at.isoformat(),
        "effective_at": event.effective_at.isoformat(),
        "data": event.data,
        "prev_hash": f"\\x{bytes(event.prev_hash).hex()}",
        "hash": f"\\x{bytes(event.hash).hex()}",
    }


_WRITE = """
UPDATE pipeline_event e SET at = n.at, effective_at = n.effective_at, data = n.data,
                            prev_hash = n.prev_hash, hash = n.hash
FROM json_populate_recordset(NULL::pipeline_event, %s) n WHERE e.id = n.id
"""
