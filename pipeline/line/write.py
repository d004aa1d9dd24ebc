"""Writing what a change did: applications, log and hot row, in one statement."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from pipeline.line import signals, sql
from pipeline.line.locked_job import LockedJob
from pipeline.line.round_trips import send

LOOK_AHEAD = timedelta(seconds=5)
"""How far ahead of a due time the decay workers look by themselves (their longest sleep)."""


def write(job: LockedJob) -> None:
    """Write everything that this change did so far; the job can go on being changed after it."""
    _write(job, commit=False)


def finish(job: LockedJob) -> None:
    """Write everything that this change did and commit, in one round trip: the last act of a verb.

    Until then the lock is held, and everybody else on this job waits.
    """
    _write(job, commit=True)


def _write(job: LockedJob, *, commit: bool) -> None:
    parts, rows = _parts(job)
    statements = [f"WITH {', '.join(parts)} {sql.WRITE_JOB}" if parts else sql.WRITE_JOB]
    if _must_wake_workers(job):
        statements.append(sql.NOTIFY_DUE)
    send(*statements, parameters=rows | _hot(job), commit=commit)
    signals.tell_once_committed(job)
    job.written()


def _must_wake_workers(job: LockedJob) -> bool:
    if job.next_due_at is None or job.next_due_at == job.announced_due_at:
        return False
    return job.next_due_at - job.now < LOOK_AHEAD


def _parts(job: LockedJob) -> tuple[list[str], dict[str, str]]:
    wanted = (
        ("created", sql.CREATE, job.created.values(), sql.APPLICATION),
        ("changed", sql.CHANGE, job.changed.values(), sql.APPLICATION),
        ("entries", sql.APPEND, job.entries, sql.ENTRY),
    )
    parts, rows = [], {}
    for name, statement, things, columns in wanted:
        if things:
            parts.append(f"{name} AS ({statement})")
            rows[name] = _as_json(things, columns)
    return parts, rows


def _as_json(things: Iterable[Any], columns: list[str]) -> str:
    """The rows as the database unpacks them; a column that is left out is NULL."""
    records = [
        {name: value for name in columns if (value := getattr(thing, name)) is not None}
        for thing in things
    ]
    return json.dumps(records, default=_Plain(), separators=(",", ":"), check_circular=False)


class _Plain:
    """Values as JSON can hold them. Many rows share the very same ones: each is put in words once.

    By identity, which is safe as long as the rows that hold them live.
    """

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def __call__(self, value: object) -> str:
        text = self._known.get(id(value))
        if text is None:
            text = self._known[id(value)] = _plain(value)
        return text


def _plain(value: object) -> str:
    match value:
        case UUID():
            return str(value)
        case datetime():
            return value.isoformat()
        case bytes() | memoryview():
            return f"\\x{bytes(value).hex()}"
    raise TypeError(f"{type(value)} does not belong in the line's rows")


def _hot(job: LockedJob) -> dict[str, Any]:
    own = {name: getattr(job, name) for name in sql.HOT if hasattr(job, name)}
    return own | job.policy.values() | {"status": job.status.value}
