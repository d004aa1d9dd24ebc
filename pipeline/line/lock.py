"""Taking a job's lock: the one way in. The row is locked before anything else is read or written.

`FOR NO KEY UPDATE` because `FOR UPDATE` deadlocks with the foreign keys' `FOR KEY SHARE`. A lock
that is not obtained within the session's `lock_timeout` raises django.db.OperationalError.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from applicants.models import ERASED
from jobs.models import JobStatus
from jobs.policies import POLICY_FIELDS, Policy
from pipeline.domain.errors import ApplicantNotFound, ApplicationNotFound, JobNotFound
from pipeline.line import sql
from pipeline.line.locked_job import LockedJob
from pipeline.line.round_trips import Row, fetch
from pipeline.models import Application


@dataclass(frozen=True, slots=True)
class History:
    """What a person has behind them at a job when they apply."""

    live: bool
    decided: bool
    misses: int
    eligible_at: datetime | None


def lock_job(job_id: UUID) -> LockedJob:
    """Lock a job. Raises JobNotFound."""
    (rows,) = fetch(sql.LOCK_JOB, parameters={"job": job_id})
    return _locked(rows)


def lock_job_of(application_id: UUID) -> LockedJob:
    """Lock the job of an application, and read that application. Raises ApplicationNotFound."""
    rows, found = fetch(
        sql.LOCK_JOB_OF, sql.READ_APPLICATION, parameters={"application": application_id}
    )
    if not found:
        raise ApplicationNotFound
    job = _locked(rows)
    job.meet(as_application(found[0]))
    return job


def lock_job_for(job_id: UUID, applicant_id: UUID) -> tuple[LockedJob, History]:
    """Lock a job, and read what a person has behind them there.

    Until the change ends the person cannot be erased. Raises JobNotFound; ApplicantNotFound, for
    who was erased too.
    """
    who = {"job": job_id, "applicant": applicant_id}
    rows, told = fetch(sql.LOCK_JOB, sql.READ_HISTORY, parameters=who)
    return _locked(rows), _history(told[0])


def read_history(job: LockedJob, applicant_id: UUID) -> History:
    """What a person has behind them at a job, once more: for when settling may have changed it."""
    (told,) = fetch(sql.READ_HISTORY, parameters={"job": job.id, "applicant": applicant_id})
    return _history(told[0])


def read_histories(job: LockedJob, applicant_ids: Collection[UUID]) -> dict[UUID, History]:
    """What many people have behind them at a job that was settled; who was erased is left out.

    Until the change ends none of them can be erased.
    """
    people = {"job": job.id, "applicants": list(applicant_ids)}
    (rows,) = fetch(sql.READ_HISTORIES, parameters=people)
    return {row[0]: _history(row[1:]) for row in rows if not row[-1].startswith(ERASED)}


def lock_due_job(*, skip: Collection[UUID] = ()) -> LockedJob | None:
    """Lock the job that is due for longest and that nobody else has locked, if there is one."""
    (rows,) = fetch(sql.LOCK_DUE_JOB, parameters={"except": list(skip)})
    return _locked(rows) if rows else None


def as_application(row: Row) -> Application:
    """An application from a row of `sql.APPLICATION`."""
    return Application.from_db("default", sql.APPLICATION, row)


def _locked(rows: list[Row]) -> LockedJob:
    if not rows:
        raise JobNotFound
    row = rows[0]
    hot = dict(zip(sql.HOT, row, strict=False))
    policy = _policy(*[hot.pop(name) for name in POLICY_FIELDS])
    hot["status"] = JobStatus(hot["status"])
    now = max(row[-1], hot["last_event_at"])
    return LockedJob(**hot, policy=policy, now=now, announced_due_at=hot["next_due_at"])


@lru_cache(maxsize=1_024)
def _policy(*values: Any) -> Policy:
    """Policies are few and frozen: each is checked once, not at every lock."""
    return Policy(**dict(zip(POLICY_FIELDS, values, strict=True)))


def _history(row: Row) -> History:
    live, decided, misses, eligible_at, address = row
    if address is None or address.startswith(ERASED):
        raise ApplicantNotFound
    return History(bool(live), bool(decided), misses, eligible_at)
